#pragma once

#include "frontend/core/tensor.h"
#include "ir/ops.h"

namespace sinter {

/// What a reshape makes of its operand, in the operand's memory, if the elements lie there as they would in memory of the result's own. Undefined if
/// they do not, and for other ops.
Tensor reshaped_in_place(const ir::Op& op, const Tensor& operand, const Type& result);

}  // namespace sinter
