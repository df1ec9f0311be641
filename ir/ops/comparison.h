// Pointwise comparison and choice. A comparison with NaN is false, except not_equal.
#pragma once

#include "ir/op.h"

namespace sinter::ir {

struct Less : Elementwise<2, Compares> {
  static constexpr std::string_view name = "less";
  template <class S>
  mask_t<S> eval(const S& a, const S& b) const {
    return a < b;
  }
  using no_gradient = void;
  static auto samples() { return elementwise_samples<Less>({{}, {}}); }
};

struct LessEqual : Elementwise<2, Compares> {
  static constexpr std::string_view name = "less_equal";
  template <class S>
  mask_t<S> eval(const S& a, const S& b) const {
    return a <= b;
  }
  using no_gradient = void;
  static auto samples() { return elementwise_samples<LessEqual>({{}, {}}); }
};

struct Equal : Elementwise<2, Compares> {
  static constexpr std::string_view name = "equal";
  template <class S>
  mask_t<S> eval(const S& a, const S& b) const {
    return a == b;
  }
  using no_gradient = void;
  static auto samples() { return elementwise_samples<Equal>({{0, 3}, {0, 3}}, {}, DType::i32); }
};

struct NotEqual : Elementwise<2, Compares> {
  static constexpr std::string_view name = "not_equal";
  template <class S>
  mask_t<S> eval(const S& a, const S& b) const {
    return a != b;
  }
  using no_gradient = void;
  static auto samples() { return elementwise_samples<NotEqual>({{0, 3}, {0, 3}}, {}, DType::i32); }
};

/// a where the condition (bool) holds, else b. Both sides are evaluated.
struct Select : Elementwise<3> {
  static constexpr std::string_view name = "select";
  Type infer(std::span<const Type> in) const;
  template <class S>
  S eval(const mask_t<S>& condition, const S& a, const S& b) const {
    return select(condition, a, b);
  }
  Values vjp(const Vjp& v) const {
    const Value zero = constant(v.graph, 0);
    return {{}, select(v.x[0], v.dy, zero), select(v.x[0], zero, v.dy)};
  }
  static std::vector<Sample<Select>> samples();
};

/// Conversion of element type: floats truncate toward zero (out of range: the nearest value of the type, NaN: 0), integers wrap, bool is 0 or 1, to
/// bool is `x != 0`.
struct Cast : Elementwise<1> {
  static constexpr std::string_view name = "cast";
  DType dtype = DType::f32;
  static constexpr auto fields = std::tuple{field("dtype", &Cast::dtype)};
  Type infer(std::span<const Type> in) const;
  void reference(Reference& r) const;
  using no_gradient = void;
  static std::vector<Sample<Cast>> samples();
};

}  // namespace sinter::ir
