// Ops along an axis other than reductions: running sums, and picking elements of rows by index. Indices count from 0; others are the caller's
// error, which every path reports.
#pragma once

#include "ir/op.h"

namespace sinter::ir {

/// Running sums along an axis, each from the first element (reverse: from the last) to its own position, in that order.
struct Cumsum {
  static constexpr std::string_view name = "cumsum";
  std::int64_t axis = 0;
  bool reverse = false;
  static constexpr auto fields = std::tuple{field("axis", &Cumsum::axis), field("reverse", &Cumsum::reverse)};
  Type infer(std::span<const Type> in) const;
  Access access(std::span<const Type> in, const Shape& result) const;
  void reference(Reference& r) const;
  Values vjp(const Vjp& v) const;
  static std::vector<Sample<Cumsum>> samples();
};

/// Whether a total of whole numbers fits its type: x (i32 or u32, which wraps) if the same total in f32 is less than 2^31 from it, else the caller's
/// error, which every path reports.
struct ExactTotal {
  static constexpr std::string_view name = "exact_total";
  static constexpr auto fields = std::tuple{};
  Type infer(std::span<const Type> in) const;  ///< the total, and in f32 of the same shape
  Access access(std::span<const Type> in, const Shape& result) const;
  void reference(Reference& r) const;
  using no_gradient = void;
  static std::vector<Sample<ExactTotal>> samples();
};
/// The error, without what computed the total.
std::string total_message(DType dtype);

/// x [..., C] and an index [..., K] (i32, u32 or u8): element j of a row is the row's element index[j].
struct TakeAlong {
  static constexpr std::string_view name = "take_along";
  using movement = void;
  static constexpr auto fields = std::tuple{};
  Type infer(std::span<const Type> in) const;
  Access access(std::span<const Type> in, const Shape& result) const;
  void reference(Reference& r) const;
  Values vjp(const Vjp& v) const;
  static std::vector<Sample<TakeAlong>> samples();
};

/// Rows of `cols` zeros to which each element of the updates' row [..., K] is added at its index [..., K], in order.
struct ScatterAddAlong {
  static constexpr std::string_view name = "scatter_add_along";
  std::int64_t cols = 1;
  static constexpr auto fields = std::tuple{field("cols", &ScatterAddAlong::cols)};
  Type infer(std::span<const Type> in) const;  ///< index, updates
  Access access(std::span<const Type> in, const Shape& result) const;
  void reference(Reference& r) const;
  Values vjp(const Vjp& v) const;
  static std::vector<Sample<ScatterAddAlong>> samples();
};

/// The indices (i32) of the k greatest elements of each row, the greatest first; NaN counts as greater than all, equal elements keep their order.
struct TopK {
  static constexpr std::string_view name = "top_k";
  std::int64_t k = 1;
  static constexpr auto fields = std::tuple{field("k", &TopK::k)};
  Type infer(std::span<const Type> in) const;
  Access access(std::span<const Type> in, const Shape& result) const;
  void reference(Reference& r) const;
  using no_gradient = void;
  static std::vector<Sample<TopK>> samples();
};

}  // namespace sinter::ir
