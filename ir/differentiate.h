// Reverse-mode differentiation, graph in, graph out. The only code that derives gradients, for eager and compiled execution.
#pragma once

#include <span>

#include "ir/graph.h"

namespace sinter::ir {

/// Appends the gradient of a scalar f32 loss to its graph and returns d loss / d w for each of `wrt`, in its shape. Where the loss does not
/// depend on a value, the entry is an empty Value. Gradients of all differentiable inputs of all nodes in between are added; passes remove those that
/// are never read. Throws UserError if the loss is not a scalar f32.
Values differentiate(Value loss, std::span<const Value> wrt);
/// The same for several outputs of any shape: the sum of seed · d output / d w. Each output is f32 and has a seed of its type.
Values differentiate(std::span<const Value> outputs, std::span<const Value> seeds, std::span<const Value> wrt);

}  // namespace sinter::ir
