// Leaves: values that come from outside a graph.
#pragma once

#include "ir/op.h"

namespace sinter::ir {

/// The graph's input number `index`: what a call passes.
struct Input {
  static constexpr std::string_view name = "input";
  std::int64_t index = 0;
  static constexpr auto fields = std::tuple{field("index", &Input::index)};
  using leaf = void;
  using no_gradient = void;
};

/// The value, on entry, of the graph's state number `index`: a parameter, an optimizer slot, a counter.
struct State {
  static constexpr std::string_view name = "state";
  std::int64_t index = 0;
  static constexpr auto fields = std::tuple{field("index", &State::index)};
  using leaf = void;
  using no_gradient = void;
};

/// A scalar that never changes. What changes between steps is state or input, never a constant.
struct Constant {
  static constexpr std::string_view name = "constant";
  double value = 0;  ///< exact in its type
  DType dtype = DType::f32;
  static constexpr auto fields = std::tuple{field("value", &Constant::value), field("dtype", &Constant::dtype)};
  Type infer(std::span<const Type> in) const {
    require_inputs(in, 0);
    return {dtype, {}};
  }
  Access access(std::span<const Type>, const Shape& result) const { return Access::over(result); }
  void reference(Reference& r) const { r.out.data[0] = value; }
  using no_gradient = void;
  static std::vector<Sample<Constant>> samples() { return {{{2.5}, {}}, {{-7, DType::i32}, {}}}; }
};

/// The run-time number of elements along a dimension, k or k·N, as an f32 scalar: what a mean divides by.
struct Extent {
  static constexpr std::string_view name = "extent";
  Dim dim = 1;
  static constexpr auto fields = std::tuple{field("dim", &Extent::dim)};
  Type infer(std::span<const Type> in) const {
    require_inputs(in, 0);
    return {DType::f32, {}};
  }
  Access access(std::span<const Type>, const Shape& result) const { return Access::over(result); }
  void reference(Reference& r) const { r.out.data[0] = static_cast<double>(dim.extent(r.sizes)); }
  using no_gradient = void;
  static std::vector<Sample<Extent>> samples() { return {{{Dim::batch(3)}, {}}, {{Dim(7)}, {}}}; }
};

}  // namespace sinter::ir
