#include "frontend/core/ops/activation.h"

#include "frontend/core/operands.h"
#include "frontend/core/ops/arithmetic.h"
#include "frontend/core/ops/reduction.h"

namespace sinter {

namespace {

// The kernels of the ops keep a row in registers; rows of T elements are composed.
bool is_along_length(const Tensor& x) { return x.rank() && x.shape().back().is_length(); }
/// x less the greatest of its row, so that no exp overflows. What is computed of it does not depend on the number that is taken off: no gradient.
Arg below_zero(const Arg& x) { return {x - Arg(max(x, {-1}, true).detach(), x.where()), x.where()}; }

}  // namespace

Tensor sigmoid(const Arg& x) { return unary(ir::Sigmoid{}, x); }
Tensor tanh(const Arg& x) { return unary(ir::Tanh{}, x); }
Tensor relu(const Arg& x) { return unary(ir::Relu{}, x); }

Tensor softmax(const Arg& x) {
  if (!is_along_length(x.as(DType::f32))) return unary(ir::Softmax{}, x);
  const Arg e(exp(below_zero(x)), x.where());
  return e / Arg(sum(e, {-1}, true), x.where());
}

Tensor log_softmax(const Arg& x) {
  if (!is_along_length(x.as(DType::f32))) return unary(ir::LogSoftmax{}, x);
  const Arg y = below_zero(x);
  return y - Arg(log({sum({exp(y), x.where()}, {-1}, true), x.where()}), x.where());
}

}  // namespace sinter
