// The systems of equations of linalg.h, for its functions and for their gradients. Operands are checked here.
#pragma once

#include <optional>

#include "frontend/linalg/operand.h"

namespace sinter::linalg {

Tensor solve(const Call& call, const Tensor& a, const Tensor& b);
Tensor inv(const Call& call, const Tensor& a);
Tensor pinv(const Call& call, const Tensor& a, std::optional<double> rcond);

}  // namespace sinter::linalg
