#include "frontend/core/ops/activation.h"

#include "frontend/core/operands.h"

namespace sinter {

Tensor sigmoid(const Arg& x) { return unary(ir::Sigmoid{}, x); }
Tensor tanh(const Arg& x) { return unary(ir::Tanh{}, x); }
Tensor relu(const Arg& x) { return unary(ir::Relu{}, x); }
Tensor softmax(const Arg& x) { return unary(ir::Softmax{}, x); }
Tensor log_softmax(const Arg& x) { return unary(ir::LogSoftmax{}, x); }

}  // namespace sinter
