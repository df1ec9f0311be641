// Comparison, choice and conversion, element by element.
#pragma once

#include "frontend/core/arg.h"

namespace sinter {

// ---- comparisons of operands of one element type, any: results are bool ----
Tensor operator<(const Arg& a, const Arg& b);
Tensor operator<=(const Arg& a, const Arg& b);
Tensor operator>(const Arg& a, const Arg& b);
Tensor operator>=(const Arg& a, const Arg& b);
/// Between two parameters == and != compare identity and give a C++ bool; equal() and not_equal() compare their elements.
Tensor operator==(const Arg& a, const Arg& b);
Tensor operator!=(const Arg& a, const Arg& b);
Tensor equal(const Arg& a, const Arg& b);
Tensor not_equal(const Arg& a, const Arg& b);

// ---- of bool tensors ----
Tensor logical_and(const Arg& a, const Arg& b);
Tensor logical_or(const Arg& a, const Arg& b);
Tensor logical_not(const Arg& x);

/// a where the condition holds, else b.
Tensor where(const Arg& condition, const Arg& a, const Arg& b);
Tensor cast(const Arg& x, DType dtype);

}  // namespace sinter
