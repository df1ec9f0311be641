// Vector-Jacobian products of the functions of linalg.h, written in ops and these functions, so that they have gradients themselves. Each takes
// the operands, the results and the results' gradients, and returns the operands' gradients. Errors in them name the function whose gradient it
// is.
#pragma once

#include <optional>
#include <vector>

#include "frontend/core/custom_gradient.h"
#include "frontend/linalg/operand.h"

namespace sinter::linalg {

GradientRule solve_gradient(const Call& call);
GradientRule inv_gradient();
GradientRule det_gradient(const Call& call);
GradientRule lstsq_gradient(const Call& call, std::optional<double> rcond);
GradientRule pinv_gradient();
GradientRule qr_gradient(const Call& call);
GradientRule svd_gradient(const Call& call);
GradientRule eigh_gradient(const Call& call);
GradientRule cholesky_gradient(const Call& call);

/// with_gradient for functions of one result.
inline Tensor with_gradient(const std::vector<Tensor>& operands, Tensor result, GradientRule rule) {
  return sinter::with_gradient(operands, std::vector{std::move(result)}, std::move(rule)).front();
}
using sinter::with_gradient;

}  // namespace sinter::linalg
