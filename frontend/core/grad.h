// Gradients, the same eagerly and in a trace.
#pragma once

#include <initializer_list>
#include <source_location>
#include <span>
#include <vector>

#include "frontend/core/parameter.h"
#include "frontend/core/tensor.h"

namespace sinter {

struct GradOptions {
  bool allow_unused = false;  ///< what the loss does not reach gets zeros instead of an error
};

/// d loss / d parameter for each parameter, in its shape. A frozen parameter is a constant: its gradient is 0. Gradients have gradients themselves:
/// detach() one that is kept from step to step, or all that it was computed from is kept too. Throws UserError for a loss that is no f32 scalar, for
/// one that was not computed from trainable parameters or watched tensors, and, unless allow_unused, for a parameter that the loss does not reach.
std::vector<Tensor> grad(const Tensor& loss, std::span<const Parameter> parameters, GradOptions options = {},
                         std::source_location where = std::source_location::current());
/// The same with respect to tensors: inputs of a compiled function, intermediate results, or tensors from watch(). Throws UserError for one
/// that is none of these.
std::vector<Tensor> grad(const Tensor& loss, std::span<const Tensor> tensors, GradOptions options = {},
                         std::source_location where = std::source_location::current());
inline std::vector<Tensor> grad(const Tensor& loss, std::initializer_list<Parameter> parameters, GradOptions options = {},
                                std::source_location where = std::source_location::current()) {
  return grad(loss, std::span(parameters.begin(), parameters.size()), options, where);
}
inline std::vector<Tensor> grad(const Tensor& loss, std::initializer_list<Tensor> tensors, GradOptions options = {},
                                std::source_location where = std::source_location::current()) {
  return grad(loss, std::span(tensors.begin(), tensors.size()), options, where);
}

/// Lets gradients be taken with respect to a tensor: `const Tensor x = watch(data); grad(f(x), {x})`. Inputs of compiled functions are watched
/// already; inside a trace nothing changes. Throws UserError for another element type than f32.
Tensor watch(const Tensor& x, std::source_location where = std::source_location::current());

}  // namespace sinter
