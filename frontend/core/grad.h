// Gradients, eagerly and in a trace alike.
#pragma once

#include <source_location>
#include <span>
#include <vector>

#include "frontend/core/parameter.h"
#include "frontend/core/tensor.h"

namespace sinter {

struct GradOptions {
  bool allow_unused = false;  ///< a parameter that the loss does not reach gets zeros instead of an error
};

/// d loss / d parameter for each parameter, in its shape. The results carry no record. Throws UserError for a loss that is no f32 scalar, for one
/// that was not computed from trainable parameters, and, unless allow_unused, for a parameter that the loss does not reach.
std::vector<Tensor> grad(const Tensor& loss, std::span<const Parameter> parameters, GradOptions options = {},
                         std::source_location where = std::source_location::current());

}  // namespace sinter
