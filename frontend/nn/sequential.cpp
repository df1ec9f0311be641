#include "frontend/nn/sequential.h"

namespace sinter::nn {

Sequential::Sequential(const std::vector<std::shared_ptr<Module>>& layers) : Sequential() {
  if (layers.empty()) throw UserError("Sequential", "needs at least one layer");
  for (const auto& layer : layers) append(layer);
}

Tensor Sequential::forward(const Tensor& x) {
  if (list().empty()) throw UserError("Sequential", "has no layers; add() some first");
  Tensor y = x;
  for (const auto& layer : list()) y = (*layer)(y);
  return y;
}

}  // namespace sinter::nn
