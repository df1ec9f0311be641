// Gradients of eager functions that are not made of ops.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "frontend/core/tensor.h"

namespace sinter {

/// Gradients with respect to the inputs, from those of the results (zeros where the loss does not reach a result). If written in functions that have
/// gradients, it has gradients of its own. An undefined tensor stands for no gradient.
using GradientRule =
    std::function<std::vector<Tensor>(std::span<const Tensor> inputs, std::span<const Tensor> results, std::span<const Tensor> gradients)>;

/// The same results with a record, if any input has one: grad() then uses the rule. Not inside a trace.
std::vector<Tensor> with_gradient(std::span<const Tensor> inputs, std::vector<Tensor> results, GradientRule rule);

}  // namespace sinter
