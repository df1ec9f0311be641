// Singular values and right singular vectors of a tall matrix that comes by its rows.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace sinter::linalg {

/// Keeps the triangular factor of the rows so far (a QR decomposition in blocks), whose singular values and right singular vectors are those of all
/// rows: a million rows take the memory of a few, and small singular values keep the accuracy that a matrix of covariances would lose.
class RowSpace {
 public:
  explicit RowSpace(std::int64_t width) : width_(width) {}

  /// Some rows of finite numbers, row-major.
  void add(std::span<const double> rows);

  struct Decomposition {
    std::vector<double> values;   ///< descending; as many as the lesser of rows and width
    std::vector<double> vectors;  ///< one row of `width` numbers for each, of length 1; their signs are free
  };
  /// Of all rows that were added, at least one.
  Decomposition decompose() const;

 private:
  std::int64_t width_;
  std::vector<double> kept_;  ///< at most `width` rows
};

}  // namespace sinter::linalg
