#include "frontend/nn/affine.h"

namespace sinter::nn {

Tensor affine(const Tensor& x, const Parameter& weight, const Parameter& bias, Activation activation) {
  const std::size_t last = x.rank() - 1;
  const Tensor z = matmul(reshape(x, {x.shape().product(0, last), x.dim(-1)}), weight);
  const Tensor y = activate(activation, bias.defined() ? z + bias : z);
  const Shape shape = x.shape().with(last, y.dim(-1));
  return reshape(y, {shape.begin(), shape.end()});
}

}  // namespace sinter::nn
