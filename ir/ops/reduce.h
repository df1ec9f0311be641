// Reductions of f32, i32 and u32 over the adjacent axes [first, last), which leave the shape. Reductions over other axes are composed of
// several. Integers wrap.
#pragma once

#include "ir/op.h"

namespace sinter::ir {

/// Every reduction sees its input as [outer, reduced, inner].
struct ReduceExtents {
  Dim outer, reduced, inner;
};
ReduceExtents reduce_extents(const Shape& shape, std::int64_t first, std::int64_t last);
Shape infer_reduce(const Shape& shape, std::int64_t first, std::int64_t last);

struct Sum {
  static constexpr std::string_view name = "sum";
  static constexpr std::size_t combined = 0;
  std::int64_t first = 0, last = 0;
  static constexpr auto fields = std::tuple{field("first", &Sum::first), field("last", &Sum::last)};
  Type infer(std::span<const Type> in) const;
  Access access(std::span<const Type> in, const Shape& result) const;
  void reference(Reference& r) const;
  Values vjp(const Vjp& v) const;
  static std::vector<Sample<Sum>> samples();
};

/// The greatest element; NaN if there is one. The gradient is shared equally among equal greatest elements.
struct Max {
  static constexpr std::string_view name = "max";
  static constexpr std::size_t combined = 0;
  std::int64_t first = 0, last = 0;
  static constexpr auto fields = std::tuple{field("first", &Max::first), field("last", &Max::last)};
  Type infer(std::span<const Type> in) const;
  Access access(std::span<const Type> in, const Shape& result) const;
  void reference(Reference& r) const;
  Values vjp(const Vjp& v) const;
  static std::vector<Sample<Max>> samples();
};

/// The product of the elements. The gradient is exact where elements are 0 too.
struct Prod {
  static constexpr std::string_view name = "prod";
  static constexpr std::size_t combined = 0;
  std::int64_t first = 0, last = 0;
  static constexpr auto fields = std::tuple{field("first", &Prod::first), field("last", &Prod::last)};
  Type infer(std::span<const Type> in) const;
  Access access(std::span<const Type> in, const Shape& result) const;
  void reference(Reference& r) const;
  Values vjp(const Vjp& v) const;
  static std::vector<Sample<Prod>> samples();
};

/// The ops that have the fields first and last.
template <class O>
concept IsReduction = std::is_same_v<O, Sum> || std::is_same_v<O, Max> || std::is_same_v<O, Prod>;

/// Index (i32) along the last axis of the first NaN, else of the first greatest element.
struct Argmax {
  static constexpr std::string_view name = "argmax";
  static constexpr auto fields = std::tuple{};
  Type infer(std::span<const Type> in) const;
  Access access(std::span<const Type> in, const Shape& result) const;
  void reference(Reference& r) const;
  using no_gradient = void;
  static std::vector<Sample<Argmax>> samples();
};

}  // namespace sinter::ir
