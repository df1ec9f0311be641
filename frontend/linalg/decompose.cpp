#include <algorithm>

#include "frontend/linalg/eigen.h"
#include "frontend/linalg/gradients.h"
#include "frontend/linalg/linalg.h"
#include "frontend/linalg/operand.h"

namespace sinter::linalg {

namespace {

/// (a + aᵀ) / 2 of a matrix that is symmetric up to rounding. Throws UserError for others.
Matrix symmetric(const Call& call, const Tensor& a) {
  require_symmetric(call, a);
  const Matrix m = elements(a);
  return (m + m.transpose()) / 2;
}

Tensor rounded_vector(const Call& call, const Vector& v) { return rounded(call, v, {v.size()}); }

}  // namespace

QR qr(const Arg& arg) {
  const Call call{"linalg::qr", arg.where()};
  const Tensor a = arg.as(DType::f32);
  require_matrix(call, a);
  const Eigen::HouseholderQR<Matrix> found(elements(a));
  const Eigen::Index k = std::min(found.rows(), found.cols());
  const Matrix q = found.householderQ() * Matrix::Identity(found.rows(), k);
  const Matrix r = found.matrixQR().topRows(k).triangularView<Eigen::Upper>();
  const auto results = with_gradient(std::span(&a, 1), {rounded(call, q), rounded(call, r)}, qr_gradient(call));
  return {results[0], results[1]};
}

SVD svd(const Arg& arg) {
  const Call call{"linalg::svd", arg.where()};
  const Tensor a = arg.as(DType::f32);
  require_matrix(call, a);
  const Eigen::BDCSVD<Matrix> found(elements(a), Eigen::ComputeThinU | Eigen::ComputeThinV);
  const auto results = with_gradient(
      std::span(&a, 1), {rounded(call, found.matrixU()), rounded_vector(call, found.singularValues()), rounded(call, found.matrixV().transpose())},
      svd_gradient(call));
  return {results[0], results[1], results[2]};
}

Eigh eigh(const Arg& arg) {
  const Call call{"linalg::eigh", arg.where()};
  const Tensor a = arg.as(DType::f32);
  const Eigen::SelfAdjointEigenSolver<Matrix> found(symmetric(call, a));
  if (found.info() != Eigen::Success) throw InternalError("linalg::eigh", str("no convergence for ", a.type()));
  const auto results =
      with_gradient(std::span(&a, 1), {rounded_vector(call, found.eigenvalues()), rounded(call, found.eigenvectors())}, eigh_gradient(call));
  return {results[0], results[1]};
}

Tensor cholesky(const Arg& arg) {
  const Call call{"linalg::cholesky", arg.where()};
  const Tensor a = arg.as(DType::f32);
  const Matrix m = symmetric(call, a);
  const Eigen::LLT<Matrix> found(m);
  if (found.info() != Eigen::Success) {
    const double least = m.selfadjointView<Eigen::Lower>().eigenvalues().minCoeff();
    call.fail(str("needs a positive definite matrix, got ", a.type(), " whose least eigenvalue is ", least, "; add a multiple of the identity"));
  }
  return with_gradient({a}, rounded(call, found.matrixL()), cholesky_gradient(call));
}

}  // namespace sinter::linalg
