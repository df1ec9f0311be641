// Modules: layers and models with named parameters.
#pragma once

#include <concepts>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

#include "frontend/core/ops.h"
#include "frontend/core/setting.h"

namespace sinter::nn {

/// What a parameter adds to the training loss: l1 · sum |w| + l2 · sum w².
struct Penalty {
  float l1 = 0, l2 = 0;
};

/// While one lives, layers called on this thread are in training mode (dropout, batch normalization). A Trainer has one around its training step;
/// in a step of your own, declare one before the model runs.
class TrainingScope {
 public:
  TrainingScope();
  ~TrainingScope();
  TrainingScope(const TrainingScope&) = delete;
  TrainingScope& operator=(const TrainingScope&) = delete;

 private:
  bool outer_;
};
bool is_training();

/// A module that holds parameters itself: its kind, its Module::label(), and parameters by their own names.
struct LayerParameters {
  std::string kind, path;
  std::vector<std::pair<std::string, Parameter>> parameters;
};
struct ModuleState;  // frontend/nn/module_state.h

struct SummaryOptions {
  /// Under each layer what it was made with, and what the defaults of Keras and PyTorch would be in its place, where they differ.
  bool details = false;
};

/// A layer or a model. Derive, register parameters and children in the constructor, and write forward() as ordinary tensor code:
///
///   struct Residual : nn::Module {
///     nn::Dense inner{64, 64, Activation::relu};
///     Residual() : Module("residual") { add(inner); }
///     Tensor forward(const Tensor& x) override { return x + inner(x); }
///   };
///
/// A module is a handle: copies share parameters, children and whether they are frozen, so modules can be returned, moved, and kept in vectors and
/// other modules. Other members of your class are copied as usual. Parameters are named by their path below the module that is not part of another,
/// the root: `dense_1.weight` here, and `residual_1.dense_1.weight` in a Sequential that begins with a Residual.
class Module {
 public:
  /// `kind` names the module within others, with a number: "dense" becomes `dense_1`. Throws UserError for a kind that is no name, or has a '.' or
  /// '/'.
  explicit Module(std::string kind);
  Module(const Module&) = default;
  Module& operator=(const Module&) = default;
  Module(Module&&) = delete;  // classes derived from it are copied where they would be moved: the source stays usable
  Module& operator=(Module&&) = delete;
  virtual ~Module() = default;

  /// The output for one batch. Called eagerly and in a trace.
  virtual Tensor forward(const Tensor& x) = 0;
  /// forward(), with this module's name on every node that it makes.
  Tensor operator()(const Tensor& x);
  /// The outputs for one batch of several inputs; most modules have one of each. See Model.
  virtual std::vector<Tensor> forward_all(std::span<const Tensor> in);
  /// Whether each step of sequences [N, T, ...] is treated for itself, so that the mask of the input is that of the output (frontend/nn/mask.h).
  virtual bool passes_mask() const { return false; }
  /// What it was made with, for summaries: `{{"rate", rate_}}`.
  virtual std::vector<Setting> settings() const { return {}; }
  /// forward_all(), with this module's name on every node.
  std::vector<Tensor> call_all(std::span<const Tensor> in);

  /// The path to it; empty for a root without a name.
  const std::string& name() const;
  /// For messages: its name or, of a root without one, its kind.
  const std::string& label() const;
  /// Names it, all below it, and their parameters: those of a Sequential named `encoder` are encoder.dense_1.weight. Optimizers name their slots
  /// after them. A parent that it is added to names it again. Throws UserError for a name that is empty, no UTF-8, too long or has control
  /// characters.
  void set_name(const std::string& name);
  const std::string& kind() const;
  /// Parameters of this module and its children, in order of registration; one that is reached twice (tied weights) is listed once.
  std::vector<Parameter> parameters() const;
  /// The trainable ones.
  std::vector<Parameter> trainable_parameters() const;
  /// Throws UserError for an unknown name, listing the known ones.
  Parameter parameter(std::string_view name) const;
  /// The layers of this module and its children, in order of registration.
  std::vector<LayerParameters> layers() const;
  /// Makes the present values of all parameters, statistics included, visible to clones of steps, together: sinter::publish(parameters()).
  void publish() const;
  /// Freezes all parameters of this module and its children, or unfreezes those that were trainable when created.
  void set_trainable(bool trainable);
  /// The same for the parameters whose names match (`*` is any text): "encoder_1.*", "*.bias". A layer counts as frozen when all that it
  /// trains is. Throws UserError if none matches.
  void set_trainable(const std::string& pattern, bool trainable);
  void set_trainable(const char* pattern, bool trainable) { set_trainable(std::string(pattern), trainable); }
  /// Whether it is not frozen. Frozen layers with statistics (batch normalization) run in inference mode.
  bool trainable() const;
  /// The sum of all penalties, to be added to the training loss; 0 if there are none.
  Tensor penalty() const;
  bool has_penalty() const;
  /// A table of layers, output shapes and numbers of parameters, for an input of this type with N as its first dimension: `f32[N,784]`.
  std::string summary(const Type& input, SummaryOptions options = {}) { return summary_all({&input, 1}, options); }
  /// The same for several inputs.
  std::string summary_all(std::span<const Type> inputs, SummaryOptions options = {});

 protected:
  /// Throws UserError for a negative penalty, for a name that this module already uses, and for one with a '.' or '/'.
  Parameter add(std::string name, const Tensor& initial, Penalty penalty);
  Parameter add(std::string name, const Tensor& initial) { return add(std::move(name), initial, Penalty{}); }
  /// A value that is saved but not trained: statistics, counters.
  Parameter add_state(std::string name, const Tensor& initial);
  /// A child is named by its kind and its number among that kind, `dense_1`; one that is added again keeps its name. Throws UserError for a module
  /// that holds this one.
  void add(const Module& child);
  /// For a layer that does nothing, or something else, outside of a TrainingScope: a step that trains without one then warns that it did so.
  void note_not_training() const;

 private:
  friend class CallListener;
  /// The output for x, with its mask if it passes that on.
  Tensor with_mask_of(const Tensor& x, const Tensor& y) const;
  Parameter add(std::string name, const Tensor& initial, bool trains, Penalty penalty);
  std::shared_ptr<ModuleState> state_;
};

/// A copy of the module on the heap, which shares its parameters. Throws UserError if its class derives from M: the copy would lose its forward().
template <class M>
  requires(std::derived_from<std::decay_t<M>, Module>)
std::shared_ptr<Module> share(M&& module) {
  static_assert(std::is_constructible_v<std::decay_t<M>, M&&>, "this module cannot be copied: pass a std::shared_ptr of it");
  if (typeid(module) != typeid(std::decay_t<M>))
    throw UserError(module.label(), "is known here only as a base class, and a copy would lose its forward(); pass a std::shared_ptr of it");
  return std::make_shared<std::decay_t<M>>(std::forward<M>(module));
}

}  // namespace sinter::nn
