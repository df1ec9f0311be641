#include "frontend/nn/activation_layer.h"

#include <cmath>

namespace sinter::nn {

namespace {
void require_finite(const char* layer, const char* what, float value) {
  if (!std::isfinite(value)) throw UserError(layer, str(what, " must be finite, got ", value));
}
}  // namespace

LeakyReLU::LeakyReLU(float slope) : Module("leaky_relu"), slope_(slope) { require_finite("LeakyReLU", "the slope", slope); }
ELU::ELU(float alpha) : Module("elu"), alpha_(alpha) { require_finite("ELU", "alpha", alpha); }

PReLU::PReLU(std::int64_t features, float slope) : Module("prelu"), slope_(slope) {
  if (features < 1) throw UserError("PReLU", str("needs at least 1 feature, got ", features));
  require_finite("PReLU", "the slope", slope);
  weight = add("weight", Tensor::filled({DType::f32, {features}}, slope));
}

Tensor PReLU::forward(const Tensor& x) {
  const Dim features = weight.shape()[0];
  if (features != Dim(1) && (x.rank() < 1 || x.dim(-1) != features))
    throw UserError(label(), str("input must be [batch, ..., ", features, "], got ", x.type(), "; the layer was built for ", features, " features"));
  return where(x > 0, x, x * weight);
}

}  // namespace sinter::nn
