#include "ir/layout.h"

namespace sinter {

std::int64_t padded_columns(std::int64_t cols) {
  if (cols <= 1) return cols;
  return cols <= 8 ? 8 : cols <= 16 ? 16 : (cols + 7) / 8 * 8;
}

SymbolicLayout symbolic_layout(const Shape& shape) {
  if (shape.rank() == 0) return {1, 1, 1};
  if (shape.rank() == 1 && !shape[0].is_fixed()) return {shape[0], 1, 1};
  const Dim cols = shape.back();
  // The rows of a table ([R,k]) are counted at run time; 1 is used here.
  const bool table = shape[0].is_rows();
  const Dim rows = table ? Dim(1) : shape.product(0, shape.rank() - 1);
  return {rows, cols, cols.is_fixed() ? Dim(padded_columns(cols.factor())) : cols};
}

bool rests_unpadded(const Shape& shape) {
  if (shape.rank() < 2 || !shape.back().is_fixed()) return false;
  const std::int64_t cols = shape.back().factor();
  return static_cast<double>(padded_columns(cols) - cols) > 0.15 * static_cast<double>(cols);
}

Layout layout(const Shape& shape, Sizes sizes) { return symbolic_layout(shape).at(sizes); }

}  // namespace sinter
