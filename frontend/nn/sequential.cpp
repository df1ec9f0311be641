#include "frontend/nn/sequential.h"

namespace sinter::nn {

Sequential::Sequential(const std::vector<std::shared_ptr<Module>>& layers) : Module("sequential", "") {
  if (layers.empty()) throw UserError("Sequential", "needs at least one layer");
  for (const auto& layer : layers) append(layer);
}

void Sequential::append(std::shared_ptr<Module> layer) {
  if (!layer) throw UserError("Sequential", str("layer ", layers_.size() + 1, " is null"));
  layers_.push_back(std::move(layer));
  add(*layers_.back());
}

Tensor Sequential::forward(const Tensor& x) {
  Tensor y = x;
  for (const auto& layer : layers_) y = (*layer)(y);
  return y;
}

}  // namespace sinter::nn
