#pragma once

#include "frontend/nn/activation.h"
#include "frontend/nn/module.h"

namespace sinter::nn {

/// activation(x W + b) as one product of all rows: x [..., inputs], W [inputs, units], b [units] or undefined.
Tensor affine(const Tensor& x, const Parameter& weight, const Parameter& bias, Activation activation = Activation::none);

}  // namespace sinter::nn
