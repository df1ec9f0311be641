#include "frontend/linalg/row_space.h"

#include <algorithm>

#include "frontend/linalg/eigen.h"

namespace sinter::linalg {

namespace {

using Rows = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

}  // namespace

void RowSpace::add(std::span<const double> rows) {
  kept_.insert(kept_.end(), rows.begin(), rows.end());
  const auto count = static_cast<std::int64_t>(kept_.size()) / width_;
  if (count <= width_) return;
  const Eigen::HouseholderQR<Matrix> found(Eigen::Map<const Rows>(kept_.data(), count, width_));
  const Rows triangle = found.matrixQR().topRows(width_).triangularView<Eigen::Upper>();
  kept_.assign(triangle.data(), triangle.data() + triangle.size());
}

RowSpace::Decomposition RowSpace::decompose() const {
  const auto count = static_cast<std::int64_t>(kept_.size()) / width_;
  const Eigen::BDCSVD<Matrix> found(Eigen::Map<const Rows>(kept_.data(), count, width_), Eigen::ComputeThinU | Eigen::ComputeThinV);
  const Rows vectors = found.matrixV().transpose();
  const Vector& values = found.singularValues();
  return {{values.data(), values.data() + values.size()}, {vectors.data(), vectors.data() + vectors.size()}};
}

}  // namespace sinter::linalg
