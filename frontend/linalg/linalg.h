// Linear algebra on single matrices: systems of equations, inverses and decompositions. Computed in double precision by Eigen, rounded to f32 at the
// end. Eager only: inside a trace they throw UserError. Gradients flow through every result, and have gradients themselves.
//
// Operands are f32 matrices of finite numbers, at least 1 x 1: anything else is a UserError that names it, and so is a result beyond f32.
#pragma once

#include <optional>

#include "frontend/core/ops.h"
#include "frontend/core/tensor.h"

namespace sinter::linalg {

/// x with a x = b, for a [n, n] and b [n] or [n, k]; x has the shape of b. Throws UserError for a singular matrix: one whose condition number, rows
/// and columns scaled to a greatest element near 1, is beyond double precision.
Tensor solve(const Arg& a, const Arg& b);
/// The inverse of a [n, n]. Throws UserError for a singular matrix, as solve does.
Tensor inv(const Arg& a);
/// The determinant of a [n, n], a scalar; 0 for a singular matrix, for which its gradient throws UserError.
Tensor det(const Arg& a);

/// The x of least norm among those with the least ||a x - b||, for a [m, n] and b [m] or [m, k]; x is [n] or [n, k]. Singular values up to `rcond`
/// times the greatest count as 0; the default rcond is max(m, n) 2^-23, the effect of rounding a to f32.
Tensor lstsq(const Arg& a, const Arg& b, std::optional<double> rcond = {});
/// The pseudo-inverse (Moore, Penrose) of a [m, n], [n, m]; rcond as in lstsq.
Tensor pinv(const Arg& a, std::optional<double> rcond = {});

struct QR {
  Tensor q, r;
};
/// a = q r for a [m, n]: q [m, k] with orthonormal columns, r [k, n] upper triangular, k = min(m, n). Signs are those of Householder reflections
/// (as in LAPACK and NumPy). The gradient throws UserError where the first k columns of a are linearly dependent.
QR qr(const Arg& a);

struct SVD {
  Tensor u, s, vh;
};
/// a = u diag(s) vh for a [m, n]: u [m, k] and vh [k, n] with orthonormal columns and rows, s [k] descending, k = min(m, n). The signs of a pair of
/// vectors are free. Vectors of equal singular values have no gradient against each other: it counts as 0.
SVD svd(const Arg& a);

struct Eigh {
  Tensor values, vectors;
};
/// a = vectors diag(values) vectorsᵀ for a symmetric a [n, n]: values [n] ascending, orthonormal columns of vectors [n, n], whose signs are free.
/// Reads (a + aᵀ) / 2; throws UserError where a and aᵀ differ by more than 1e-4 of the greatest element. The gradient
/// through vectors of equal values throws UserError.
Eigh eigh(const Arg& a);
/// The lower triangular l with a = l lᵀ, for a symmetric (as in eigh) positive definite a [n, n]. Throws UserError if it is not positive definite.
Tensor cholesky(const Arg& a);

}  // namespace sinter::linalg
