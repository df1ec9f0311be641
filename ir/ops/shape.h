// Ops that move elements without changing them.
#pragma once

#include "ir/op.h"

namespace sinter::ir {

/// The same elements in row-major order under another shape with as many elements for every N.
struct Reshape {
  static constexpr std::string_view name = "reshape";
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
  static constexpr auto fields = std::tuple{};
  Type infer(std::span<const Type> in) const;
  Access access(std::span<const Type> in, const Shape& result) const;
  void reference(Reference& r) const;
  Values vjp(const Vjp& v) const { return {transpose(v.dy)}; }
  static std::vector<Sample<Transpose>> samples();
};

}  // namespace sinter::ir
