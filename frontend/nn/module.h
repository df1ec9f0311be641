// Modules: layers and models with named parameters.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "frontend/core/ops.h"

namespace sinter::nn {

/// What a parameter adds to the training loss: l1 · sum |w| + l2 · sum w².
struct Penalty {
  float l1 = 0, l2 = 0;
};

/// While one lives, layers of this thread that differ in training (dropout, batch normalization) train. A Trainer has one around its training step;
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

/// A layer or a model. Derive, register parameters and children in the constructor, and write forward() as ordinary tensor code:
///
///   struct Residual : nn::Module {
///     nn::Dense inner{64, 64, Activation::relu};
///     Residual() : Module("residual") { add(inner); }
///     Tensor forward(const Tensor& x) override { return x + inner(x); }
///   };
///
/// A module shares its parameters with its copies. Parameter names are the path to them: `residual.dense_1.weight`.
class Module {
 public:
  /// `kind` is what the module is called within others, numbered: "dense" becomes `dense_1`. On its own its path is its kind, or `path`.
  explicit Module(std::string kind) : kind_(kind), name_(std::move(kind)) {}
  Module(std::string kind, std::string path) : kind_(std::move(kind)), name_(std::move(path)) {}
  virtual ~Module() = default;

  /// The output for one batch. Called eagerly or in a trace alike.
  virtual Tensor forward(const Tensor& x) = 0;
  /// forward(), with this module's name on every node that it makes.
  Tensor operator()(const Tensor& x);
  /// The outputs for one batch of several inputs; of most modules one for one. See Model.
  virtual std::vector<Tensor> forward_all(std::span<const Tensor> in);
  /// forward_all(), with this module's name on every node.
  std::vector<Tensor> call_all(std::span<const Tensor> in);

  const std::string& name() const { return name_; }
  const std::string& kind() const { return kind_; }
  /// Parameters of this module and its children, in order of registration; a parameter that is reached twice (tied weights) once.
  std::vector<Parameter> parameters() const;
  /// The trainable ones.
  std::vector<Parameter> trainable_parameters() const;
  /// Throws UserError for an unknown name, listing those there are.
  Parameter parameter(std::string_view name) const;
  /// A module that holds parameters itself: its kind, path, and parameters by their own names.
  struct Layer {
    std::string kind, path;
    std::vector<std::pair<std::string, Parameter>> parameters;
  };
  /// Those of this module and its children, in order of registration.
  std::vector<Layer> layers() const;
  /// Makes the present values of all parameters, statistics included, those that clones of steps read, together: sinter::publish(parameters()).
  void publish() const;
  /// Freezes all parameters of this module and its children, or those that were trainable when made are trained again.
  void set_trainable(bool trainable);
  /// Whether it is not frozen. Frozen layers with statistics (batch normalization) run as in inference.
  bool trainable() const { return *trainable_; }
  /// The sum of all penalties, to be added to the training loss; an undefined tensor if there are none.
  Tensor penalty() const;
  /// A table of layers, output shapes and numbers of parameters, for an input of this type with N as its first dimension: `f32[N,784]`.
  std::string summary(const Type& input) { return summary_all({&input, 1}); }
  /// The same for several inputs.
  std::string summary_all(std::span<const Type> inputs);

 protected:
  /// Throws UserError for a negative penalty.
  Parameter add(std::string name, const Tensor& initial, Penalty penalty);
  Parameter add(std::string name, const Tensor& initial) { return add(std::move(name), initial, Penalty{}); }
  /// A value that is saved but not trained: statistics, counters.
  Parameter add_state(std::string name, const Tensor& initial);
  /// A child is named after its kind and its number among its kind, `dense_1`. It must live as long as this module: a member, say.
  void add(Module& child);

 private:
  struct Own {
    Parameter parameter;
    std::string name;
    bool trains;
    Penalty penalty;
  };
  void rename(const std::string& path);
  /// This module and all below it, in order of registration.
  std::vector<const Module*> all() const;

  std::string kind_, name_;
  std::shared_ptr<bool> trainable_ = std::make_shared<bool>(true);  ///< copies are frozen together
  std::vector<Own> own_;
  std::vector<Module*> children_;
};

}  // namespace sinter::nn
