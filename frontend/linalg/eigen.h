// Eigen for this folder alone. Its templates are compiled here in a namespace of their own: a program that uses Eigen too may be built for another
// vector target, and the linker must never exchange its functions with ours.
#pragma once

#define Eigen sinter_eigen
#define EIGEN_STACK_ALLOCATION_LIMIT 16384  // bytes: threads may have small stacks
#define EIGEN_DONT_PARALLELIZE              // so that results have the same bytes on any number of threads
#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <Eigen/LU>
#include <Eigen/QR>
#include <Eigen/SVD>

#include "frontend/core/finite.h"
#include "frontend/linalg/operand.h"

namespace sinter::linalg {

using Matrix = Eigen::MatrixXd;
using Vector = Eigen::VectorXd;

/// The elements in double precision. A vector becomes one column.
inline Matrix elements(const Tensor& tensor) {
  using Rows = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const Layout at = tensor.view().layout();
  const Eigen::Map<const Rows, Eigen::Unaligned, Eigen::OuterStride<>> rows(tensor.view().as<float>(), at.rows, at.cols,
                                                                            Eigen::OuterStride<>(at.stride));
  if (tensor.rank() == 1) return rows.transpose().cast<double>();
  return rows.cast<double>();
}

/// A result rounded to f32, under a shape of as many elements. Throws UserError for one that is beyond f32.
inline Tensor rounded(const Call& call, const Matrix& elements, const Shape& shape) {
  const Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> rows = elements.cast<float>();
  const Tensor result(std::span<const float>(rows.data(), static_cast<std::size_t>(rows.size())), shape);
  if (const auto found = first_non_finite(result))
    call.fail(str("gives ", elements(found->place / elements.cols(), found->place % elements.cols()), shape.rank() ? " at " : "",
                  shape.rank() ? place_text(shape, found->place) : "", ", which is beyond f32; scale the operands"));
  return result;
}
inline Tensor rounded(const Call& call, const Matrix& elements) { return rounded(call, elements, Shape{elements.rows(), elements.cols()}); }

}  // namespace sinter::linalg
