#pragma once

#include <memory>
#include <type_traits>
#include <vector>

#include "frontend/nn/module.h"

namespace sinter::nn {

/// Layers one after the other: `nn::Sequential model{nn::Dense(784, 70, Activation::relu), nn::Dense(70, 10)};`
class Sequential : public Module {
 public:
  template <class... Layers>
    requires(sizeof...(Layers) > 0 && (std::is_base_of_v<Module, std::decay_t<Layers>> && ...) &&
             !(std::is_same_v<std::decay_t<Layers>, Sequential> && ...))
  explicit Sequential(Layers&&... layers) : Module("sequential", "") {
    (append(std::make_shared<std::decay_t<Layers>>(std::forward<Layers>(layers))), ...);
  }
  /// From layers made at run time. Throws UserError for an empty list or a null layer.
  explicit Sequential(const std::vector<std::shared_ptr<Module>>& layers);

  Tensor forward(const Tensor& x) override;

 private:
  void append(std::shared_ptr<Module> layer);
  std::vector<std::shared_ptr<Module>> layers_;
};

}  // namespace sinter::nn
