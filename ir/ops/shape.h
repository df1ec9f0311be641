// Ops that move elements without changing them.
#pragma once

#include "ir/op.h"

namespace sinter::ir {

/// The same elements in row-major order under another shape with as many elements for every N.
struct Reshape {
  static constexpr std::string_view name = "reshape";
  using movement = void;
  Shape shape;
  static constexpr auto fields = std::tuple{field("shape", &Reshape::shape)};
  Type infer(std::span<const Type> in) const;
  Access access(std::span<const Type> in, const Shape& result) const;
  void reference(Reference& r) const { r.out.data = r.in[0]->data; }
  Values vjp(const Vjp& v) const { return {reshape(v.dy, v.x[0].shape())}; }
  static std::vector<Sample<Reshape>> samples();
};

/// Repeats dimensions of 1 and adds leading dimensions until the shape is reached.
struct Broadcast {
  static constexpr std::string_view name = "broadcast";
  Shape shape;
  static constexpr auto fields = std::tuple{field("shape", &Broadcast::shape)};
  Type infer(std::span<const Type> in) const;
  Access access(std::span<const Type> in, const Shape& result) const;
  void reference(Reference& r) const;
  Values vjp(const Vjp& v) const { return {sum_to(v.dy, v.x[0].shape())}; }
  static std::vector<Sample<Broadcast>> samples();
};

/// Exchanges the last two dimensions.
struct Transpose {
  static constexpr std::string_view name = "transpose";
  using movement = void;
  static constexpr auto fields = std::tuple{};
  Type infer(std::span<const Type> in) const;
  Access access(std::span<const Type> in, const Shape& result) const;
  void reference(Reference& r) const;
  Values vjp(const Vjp& v) const { return {transpose(v.dy)}; }
  static std::vector<Sample<Transpose>> samples();
};

/// The dimensions in another order.
struct Permute {
  static constexpr std::string_view name = "permute";
  using movement = void;
  Shape axes;  ///< dimension i of the result is dimension axes[i] of the operand
  static constexpr auto fields = std::tuple{field("axes", &Permute::axes)};
  Type infer(std::span<const Type> in) const;
  Access access(std::span<const Type> in, const Shape& result) const;
  void reference(Reference& r) const;
  Values vjp(const Vjp& v) const;
  static std::vector<Sample<Permute>> samples();

  std::size_t from(std::size_t axis) const { return static_cast<std::size_t>(axes[axis].factor()); }
  /// What puts the dimensions back.
  Permute inverse() const;
};

}  // namespace sinter::ir
