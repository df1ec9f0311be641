#include "frontend/linalg/solve.h"

#include <algorithm>
#include <limits>

#include "frontend/linalg/eigen.h"
#include "frontend/linalg/gradients.h"
#include "frontend/linalg/linalg.h"

namespace sinter::linalg {

namespace {

/// diag(rows) a diag(columns) in factors. Scaled to a greatest element near 1 in each row and column, so that units do not affect singularity.
struct Factored {
  Vector rows, columns;
  Eigen::PartialPivLU<Matrix> lu;
};

/// Throws UserError for a singular matrix; `instead` ends the error.
Factored factor(const Call& call, const Tensor& a, const char* instead) {
  require_square(call, a, instead);
  Matrix scaled = elements(a);
  const auto inverse = [](double greatest) { return greatest == 0 ? 1 : 1 / greatest; };
  const Vector rows = scaled.cwiseAbs().rowwise().maxCoeff().unaryExpr(inverse);
  scaled = rows.asDiagonal() * scaled;
  const Vector columns = scaled.cwiseAbs().colwise().maxCoeff().transpose().unaryExpr(inverse);
  scaled = scaled * columns.asDiagonal();
  Factored result{rows, columns, scaled.partialPivLu()};
  const double least_pivot = result.lu.matrixLU().diagonal().cwiseAbs().minCoeff();
  const double condition = least_pivot > 0 ? result.lu.rcond() : 0;
  const double least = static_cast<double>(scaled.rows()) * std::numeric_limits<double>::epsilon();
  if (!(condition > least))
    call.fail(str("needs an invertible matrix, got ", a.type(), " that is singular (reciprocal condition number ", condition, ")", instead));
  return result;
}

Matrix solution(const Factored& a, const Matrix& b) { return a.columns.asDiagonal() * a.lu.solve(a.rows.asDiagonal() * b); }

/// a = u diag(s) vᵀ without the singular values that count as 0.
struct Decomposed {
  Matrix u, v;
  Vector s;
};

Decomposed decompose(const Call& call, const Tensor& a, std::optional<double> rcond) {
  require_matrix(call, a);
  if (rcond && !(*rcond >= 0 && *rcond < 1)) call.fail(str("needs 0 <= rcond < 1, got ", *rcond));
  const auto larger = static_cast<double>(std::max(a.dim(0).factor(), a.dim(1).factor()));
  const Eigen::BDCSVD<Matrix> svd(elements(a), Eigen::ComputeThinU | Eigen::ComputeThinV);
  const Vector& s = svd.singularValues();
  const double least = s[0] * rcond.value_or(larger * std::numeric_limits<float>::epsilon());
  const Eigen::Index rank = (s.array() > least).count();
  return {svd.matrixU().leftCols(rank), svd.matrixV().leftCols(rank), s.head(rank)};
}

Matrix solution(const Decomposed& a, const Matrix& b) { return a.v * a.s.cwiseInverse().asDiagonal() * (a.u.transpose() * b); }

}  // namespace

Tensor solve(const Call& call, const Tensor& a, const Tensor& b) {
  const Factored factored = factor(call, a, "; lstsq gives the solution of least squares and least norm");
  require_right_side(call, a, b);
  return with_gradient({a, b}, rounded(call, solution(factored, elements(b)), b.shape()), solve_gradient(call));
}

Tensor inv(const Call& call, const Tensor& a) {
  const Factored factored = factor(call, a, "; pinv gives the pseudo-inverse");
  const Eigen::Index n = factored.rows.size();
  return with_gradient({a}, rounded(call, solution(factored, Matrix::Identity(n, n))), inv_gradient());
}

Tensor pinv(const Call& call, const Tensor& a, std::optional<double> rcond) {
  const Decomposed decomposed = decompose(call, a, rcond);
  const Eigen::Index rows = decomposed.u.rows();
  return with_gradient({a}, rounded(call, solution(decomposed, Matrix::Identity(rows, rows))), pinv_gradient());
}

Tensor solve(const Arg& a, const Arg& b) { return solve({"linalg::solve", a.where()}, a.as(DType::f32), b.as(DType::f32)); }
Tensor inv(const Arg& a) { return inv({"linalg::inv", a.where()}, a.as(DType::f32)); }
Tensor pinv(const Arg& a, std::optional<double> rcond) { return pinv({"linalg::pinv", a.where()}, a.as(DType::f32), rcond); }

Tensor det(const Arg& arg) {
  const Call call{"linalg::det", arg.where()};
  const Tensor a = arg.as(DType::f32);
  require_square(call, a);
  const Matrix value = Matrix::Constant(1, 1, elements(a).partialPivLu().determinant());
  return with_gradient({a}, rounded(call, value, {}), det_gradient(call));
}

Tensor lstsq(const Arg& left, const Arg& right, std::optional<double> rcond) {
  const Call call{"linalg::lstsq", left.where()};
  const Tensor a = left.as(DType::f32), b = right.as(DType::f32);
  const Decomposed decomposed = decompose(call, a, rcond);
  require_right_side(call, a, b);
  return with_gradient({a, b}, rounded(call, solution(decomposed, elements(b)), b.shape().with(0, a.dim(1))), lstsq_gradient(call, rcond));
}

}  // namespace sinter::linalg
