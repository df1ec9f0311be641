#pragma once

#include <memory>
#include <type_traits>
#include <vector>

#include "frontend/nn/container.h"

namespace sinter::nn {

/// Layers one after the other: `nn::Sequential model{nn::Dense(784, 70, Activation::relu), nn::Dense(70, 10)};`, or one by one:
/// `nn::Sequential model; for (…) model += nn::Dense(…);`
class Sequential : public Container {
 public:
  Sequential() : Container("sequential") {}
  /// Layers in order; a single one must not be a Sequential, which would be copied.
  template <IsLayer First, IsLayer... More>
    requires(sizeof...(More) > 0 || !std::is_base_of_v<Sequential, std::decay_t<First>>)
  explicit Sequential(First&& first, More&&... more) : Sequential() {
    append(std::forward<First>(first));
    (append(std::forward<More>(more)), ...);
  }
  /// From layers made at run time. Throws UserError for an empty list or a null layer.
  explicit Sequential(const std::vector<std::shared_ptr<Module>>& layers);

  /// Appends a layer.
  template <IsLayer Layer>
  Sequential& add(Layer&& layer) {
    append(std::forward<Layer>(layer));
    return *this;
  }
  template <IsLayer Layer>
  Sequential& operator+=(Layer&& layer) {
    return add(std::forward<Layer>(layer));
  }

  /// Throws UserError if there is no layer yet.
  Tensor forward(const Tensor& x) override;
};

}  // namespace sinter::nn
