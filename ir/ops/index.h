// Ops that read or write by index. An index outside [0, rows) is the caller's error: every path reports it and none reads or writes outside.
#pragma once

#include "ir/op.h"

namespace sinter::ir {

/// Rows of a table [rows, ...] by index (i32, u32 or u8, any shape): result [index dims..., row dims...]. The rows may be a table's R.
struct GatherRows {
  static constexpr std::string_view name = "gather_rows";
  using movement = void;
  static constexpr auto fields = std::tuple{};
  Type infer(std::span<const Type> in) const;
  Access access(std::span<const Type> in, const Shape& result) const;
  void reference(Reference& r) const;
  Values vjp(const Vjp& v) const;
  static std::vector<Sample<GatherRows>> samples();
};

/// A zero table [rows, row dims...] to which each row of the updates is added at its index, in the order of the updates: the gradient of gather_rows.
struct ScatterAddRows {
  static constexpr std::string_view name = "scatter_add_rows";
  static constexpr std::size_t combined = 1;
  std::int64_t rows = 0;
  static constexpr auto fields = std::tuple{field("rows", &ScatterAddRows::rows)};
  Type infer(std::span<const Type> in) const;  ///< index, updates
  Access access(std::span<const Type> in, const Shape& result) const;
  void reference(Reference& r) const;
  Values vjp(const Vjp& v) const;
  static std::vector<Sample<ScatterAddRows>> samples();
};

/// f32 rows of zeros with a one at the index: [index dims..., depth].
struct OneHot {
  static constexpr std::string_view name = "one_hot";
  std::int64_t depth = 0;
  static constexpr auto fields = std::tuple{field("depth", &OneHot::depth)};
  Type infer(std::span<const Type> in) const;
  Access access(std::span<const Type> in, const Shape& result) const;
  void reference(Reference& r) const;
  using no_gradient = void;
  static std::vector<Sample<OneHot>> samples();
};

}  // namespace sinter::ir
