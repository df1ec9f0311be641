// Activations that are ops; frontend/nn/activation.h has more.
#pragma once

#include "frontend/core/arg.h"

namespace sinter {

Tensor sigmoid(const Arg& x);
Tensor tanh(const Arg& x);
Tensor relu(const Arg& x);
/// Over the last axis.
Tensor softmax(const Arg& x);
Tensor log_softmax(const Arg& x);

}  // namespace sinter
