// The outputs of layers within a model.
#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "frontend/nn/container.h"
#include "frontend/nn/model.h"

namespace sinter::nn {

/// A layer within a model by its name there, `conv2d_2` or `add_1.dense_1`, and which of its calls.
struct LayerOutput {
  std::string layer;
  std::int64_t call = 0;  ///< from 1; 0: the only one

  LayerOutput(std::string its_layer, std::int64_t which_call = 0) : layer(std::move(its_layer)), call(which_call) {}  // NOLINT: a name is enough
  LayerOutput(const char* its_layer) : LayerOutput(std::string(its_layer)) {}                                         // NOLINT
};

/// A model whose outputs are those of layers within another, with all that comes before them; it takes the other's inputs:
///
///   nn::UpTo features(model, "conv2d_2");
///   const Tensor maps = features(images);
///
/// It is another handle to the same model: parameters(), names and freezing are the model's. Each call runs the model until the last of these layers
/// has returned; what comes after it does not run, neither eagerly nor compiled. To train parameters of the model with it, freeze those of the layers
/// that come after.
class UpTo : public Model {
 public:
  /// Throws UserError for an empty list and for a layer that the model does not have. A layer of several outputs gives its first.
  template <IsLayer M>
  UpTo(M&& model, std::vector<LayerOutput> outputs) : UpTo(as_pointer(std::forward<M>(model)), std::move(outputs), 0) {}
  template <IsLayer M>
  UpTo(M&& model, LayerOutput output) : UpTo(std::forward<M>(model), std::vector<LayerOutput>{std::move(output)}) {}

  /// In the order of the list. Throws UserError for a layer that the model did not call (so often), one that it calls several times if `call` does
  /// not say which, and one within a loop over time.
  std::vector<Tensor> forward_all(std::span<const Tensor> in) override;

 private:
  struct Wanted;
  class Reader;
  UpTo(std::shared_ptr<Module> model, std::vector<LayerOutput> outputs, int);
  template <class M>
  static std::shared_ptr<Module> as_pointer(M&& model) {
    if constexpr (std::derived_from<std::decay_t<M>, Module>) return share(std::forward<M>(model));
    else return std::forward<M>(model);
  }
  /// Runs the model in a temporary trace. Throws as forward_all() does.
  void count_calls(std::span<const Tensor> in) const;

  std::shared_ptr<Module> model_;
  std::shared_ptr<Wanted> wanted_;
};

}  // namespace sinter::nn
