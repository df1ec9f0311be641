// Pointwise arithmetic. Integers wrap.
#pragma once

#include "ir/op.h"

namespace sinter::ir {

struct Add : Elementwise<2, Numbers> {
  static constexpr std::string_view name = "add";
  template <class S>
  S eval(const S& a, const S& b) const {
    return a + b;
  }
  Values vjp(const Vjp& v) const { return {v.dy, v.dy}; }
  static auto samples() { return elementwise_samples<Add>({{}, {}}); }
};

struct Sub : Elementwise<2, Numbers> {
  static constexpr std::string_view name = "sub";
  template <class S>
  S eval(const S& a, const S& b) const {
    return a - b;
  }
  Values vjp(const Vjp& v) const { return {v.dy, -v.dy}; }
  static auto samples() { return elementwise_samples<Sub>({{}, {}}); }
};

struct Mul : Elementwise<2, Numbers> {
  static constexpr std::string_view name = "mul";
  template <class S>
  S eval(const S& a, const S& b) const {
    return a * b;
  }
  Values vjp(const Vjp& v) const { return {v.dy * v.x[1], v.dy * v.x[0]}; }
  static auto samples() { return elementwise_samples<Mul>({{}, {}}); }
};

struct Div : Elementwise<2> {
  static constexpr std::string_view name = "div";
  template <class S>
  S eval(const S& a, const S& b) const {
    return a / b;
  }
  Values vjp(const Vjp& v) const {
    const Value da = v.dy / v.x[1];
    return {da, -(da * v.y)};
  }
  static auto samples() { return elementwise_samples<Div>({{}, {0.5, 2}}); }
};

struct Neg : Elementwise<1, Numbers> {
  static constexpr std::string_view name = "neg";
  template <class S>
  S eval(const S& x) const {
    return -x;
  }
  Values vjp(const Vjp& v) const { return {-v.dy}; }
  static auto samples() { return elementwise_samples<Neg>({{}}); }
};

struct Square : Elementwise<1> {
  static constexpr std::string_view name = "square";
  template <class S>
  S eval(const S& x) const {
    return x * x;
  }
  Values vjp(const Vjp& v) const { return {v.dy * (v.x[0] * 2.0)}; }
  static auto samples() { return elementwise_samples<Square>({{}}); }
};

/// |x|. The gradient is 0 at 0.
struct Abs : Elementwise<1, Numbers> {
  static constexpr std::string_view name = "abs";
  template <class S>
  S eval(const S& x) const {
    return select(x <= S(0), S(0) - x, x);
  }
  Values vjp(const Vjp& v) const { return {v.dy * sign(v.x[0])}; }
  static auto samples() { return elementwise_samples<Abs>({{}}); }
};

/// -1, 0 or 1; NaN stays NaN.
struct Sign : Elementwise<1> {
  static constexpr std::string_view name = "sign";
  template <class S>
  S eval(const S& x) const {
    return select(x > S(0.0f), S(1.0f), select(x < S(0.0f), S(-1.0f), x));
  }
  using no_gradient = void;
  static auto samples() { return elementwise_samples<Sign>({{}}); }
};

/// The greatest whole number that is not above x.
struct Floor : Elementwise<1> {
  static constexpr std::string_view name = "floor";
  template <class S>
  S eval(const S& x) const {
    return floor(x);
  }
  using no_gradient = void;
  static auto samples() { return elementwise_samples<Floor>({{-9, 9}}); }
};

/// The least whole number that is not below x.
struct Ceil : Elementwise<1> {
  static constexpr std::string_view name = "ceil";
  template <class S>
  S eval(const S& x) const {
    return -floor(-x);
  }
  using no_gradient = void;
  static auto samples() { return elementwise_samples<Ceil>({{-9, 9}}); }
};

/// The nearest whole number; ties to even.
struct Round : Elementwise<1> {
  static constexpr std::string_view name = "round";
  template <class S>
  S eval(const S& x) const {
    return rint(x);
  }
  using no_gradient = void;
  static auto samples() { return elementwise_samples<Round>({{-9, 9}}); }
};

/// NaN where either is. Where both are equal, each gets half of the gradient.
struct Minimum : Elementwise<2, Numbers> {
  static constexpr std::string_view name = "minimum";
  template <class S>
  S eval(const S& a, const S& b) const {
    return select(a != a, a, select(b > a, a, b));
  }
  Values vjp(const Vjp& v) const { return shared(v, less(v.x[0], v.x[1])); }
  /// `first`: where the gradient goes to the first operand only.
  static Values shared(const Vjp& v, Value first) {
    const Value zero = constant(v.graph, 0), half = select(equal(v.x[0], v.x[1]), v.dy * 0.5, zero);
    const Value da = select(first, v.dy, half);
    return {da, v.dy - da};
  }
  static auto samples() { return elementwise_samples<Minimum>({{}, {}}); }
};

struct Maximum : Elementwise<2, Numbers> {
  static constexpr std::string_view name = "maximum";
  template <class S>
  S eval(const S& a, const S& b) const {
    return select(a != a, a, select(b < a, a, b));
  }
  Values vjp(const Vjp& v) const { return Minimum::shared(v, less(v.x[1], v.x[0])); }
  static auto samples() { return elementwise_samples<Maximum>({{}, {}}); }
};

/// x limited to [low, high]; NaN stays NaN. The gradient is 0 outside and passes at the bounds.
struct Clip : Elementwise<1> {
  static constexpr std::string_view name = "clip";
  float low = 0, high = 1;
  static constexpr auto fields = std::tuple{field("low", &Clip::low), field("high", &Clip::high)};
  template <class S>
  S eval(const S& x) const {
    const S bounded = select(x > S(high), S(high), x);
    return select(bounded < S(low), S(low), bounded);
  }
  Values vjp(const Vjp& v) const {
    const Value zero = constant(v.graph, 0), lowest = constant(v.graph, low), highest = constant(v.graph, high);
    return {select(less(v.x[0], lowest), zero, select(less(highest, v.x[0]), zero, v.dy))};
  }
  static auto samples() { return elementwise_samples<Clip>({{}}, Clip{{}, -0.75f, 1.25f}); }
};

/// x, through which no gradient flows: detached values and values read after an assignment. Removed once gradients are taken.
struct StopGradient : Elementwise<1> {
  static constexpr std::string_view name = "stop_gradient";
  template <class S>
  S eval(const S& x) const {
    return x;
  }
  using no_gradient = void;
  static auto samples() { return elementwise_samples<StopGradient>({{}}); }
};

}  // namespace sinter::ir
