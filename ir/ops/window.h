// Ops that place their operands along one axis of the result: slice, pad, shift, concat. Along an axis with N, offsets and sizes are multiples of N.
#pragma once

#include "ir/op.h"

namespace sinter::ir {

/// The common form: element a of operand k along the axis is element a + offsets[k] of the result, if that is in range. What no operand covers
/// is `fill`.
struct Window {
  std::size_t axis = 0;
  std::vector<Dim> offsets;
  double fill = 0;
};
void evaluate_window(const Window& window, Reference& r);
Access access_of_window(const Window& window, std::span<const Type> in, const Shape& result);

/// `size` elements from `start` along an axis.
struct Slice {
  static constexpr std::string_view name = "slice";
  using movement = void;
  std::int64_t axis = 0;
  Dim start = 0, size = 1;
  static constexpr auto fields = std::tuple{field("axis", &Slice::axis), field("start", &Slice::start), field("size", &Slice::size)};
  Window window(std::span<const Type> in) const;
  Type infer(std::span<const Type> in) const;
  Access access(std::span<const Type> in, const Shape& result) const;
  void reference(Reference& r) const;
  Values vjp(const Vjp& v) const;
  static std::vector<Sample<Slice>> samples();
};

/// The operand with so many elements of `value` before and after it along an axis.
struct Pad {
  static constexpr std::string_view name = "pad";
  using movement = void;
  std::int64_t axis = 0;
  Dim before = 0, after = 0;
  float value = 0;
  static constexpr auto fields =
      std::tuple{field("axis", &Pad::axis), field("before", &Pad::before), field("after", &Pad::after), field("value", &Pad::value)};
  Window window(std::span<const Type> in) const;
  Type infer(std::span<const Type> in) const;
  Access access(std::span<const Type> in, const Shape& result) const;
  void reference(Reference& r) const;
  Values vjp(const Vjp& v) const;
  static std::vector<Sample<Pad>> samples();
};

/// The operand moved by so many places along an axis, towards its end if that is positive; `value` where nothing comes from. Not along an axis with
/// N.
struct Shift {
  static constexpr std::string_view name = "shift";
  using movement = void;
  std::int64_t axis = 0, by = 0;
  float value = 0;
  static constexpr auto fields = std::tuple{field("axis", &Shift::axis), field("by", &Shift::by), field("value", &Shift::value)};
  Window window(std::span<const Type> in) const;
  Type infer(std::span<const Type> in) const;
  Access access(std::span<const Type> in, const Shape& result) const;
  void reference(Reference& r) const;
  Values vjp(const Vjp& v) const;
  static std::vector<Sample<Shift>> samples();
};

/// One or more operands concatenated along an axis.
struct Concat {
  static constexpr std::string_view name = "concat";
  using movement = void;
  std::int64_t axis = 0;
  static constexpr auto fields = std::tuple{field("axis", &Concat::axis)};
  Window window(std::span<const Type> in) const;
  Type infer(std::span<const Type> in) const;
  Access access(std::span<const Type> in, const Shape& result) const;
  void reference(Reference& r) const;
  Values vjp(const Vjp& v) const;
  static std::vector<Sample<Concat>> samples();
};

template <class O>
concept IsWindow = requires(const O& op, std::span<const Type> in) {
  { op.window(in) } -> std::same_as<Window>;
};

}  // namespace sinter::ir
