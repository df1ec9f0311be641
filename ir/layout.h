// The memory layout of tensors: rows of columns with a row stride, the same everywhere.
#pragma once

#include <cstdint>

#include "ir/type.h"

namespace sinter {

/// Every buffer is `rows` rows of `cols` elements, `stride` elements apart. The last dimension is the columns, all before it the rows;
/// a vector over the batch ([kN]) is one column of kN rows. Elements between cols and stride are pad lanes and always 0.
///
/// Strides: one column → 1; 2–8 columns → 8; 9–16 → 16; more → rounded up to 8; N or T as columns ([k,N], [N,T]) → not padded.
///
/// Padding is for kernels: data at rest whose shape would need much of it is kept without (`rests_unpadded`).
struct Layout {
  std::int64_t rows = 1, cols = 1, stride = 1;

  std::int64_t elements() const { return rows * cols; }
  std::int64_t padded_elements() const { return rows * stride; }
  bool is_dense() const { return stride == cols || rows <= 1; }
  Layout unpadded() const { return {rows, cols, cols}; }
  bool operator==(const Layout&) const = default;
};

/// The same with symbolic dimensions.
struct SymbolicLayout {
  Dim rows, cols, stride;
  Layout at(Sizes sizes) const { return {rows.extent(sizes), cols.extent(sizes), stride.extent(sizes)}; }
  SymbolicLayout unpadded() const { return {rows, cols, cols}; }
  bool operator==(const SymbolicLayout&) const = default;
};

constexpr std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
/// The size of parts of `count`, of which the last may be smaller: as few as can be of at most `most`, and as even.
constexpr std::int64_t even_part(std::int64_t count, std::int64_t most) { return divide_up(count, divide_up(count, most)); }
std::int64_t padded_columns(std::int64_t cols);
SymbolicLayout symbolic_layout(const Shape& shape);
Layout layout(const Shape& shape, Sizes sizes);
/// Whether data of this shape is kept without padding while no kernel runs: if it has rows that would grow by more than 15 %. Depends on the rows'
/// length alone, so that it is the same for every batch and for all of a data set.
bool rests_unpadded(const Shape& shape);

}  // namespace sinter
