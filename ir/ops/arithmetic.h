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

struct Exp : Elementwise<1> {
  static constexpr std::string_view name = "exp";
  template <class S>
  S eval(const S& x) const {
    return exp(x);
  }
  Values vjp(const Vjp& v) const { return {v.dy * v.y}; }
  static auto samples() { return elementwise_samples<Exp>({{-5, 5}}); }
};

/// Natural logarithm; NaN below 0, -infinity at 0.
struct Log : Elementwise<1> {
  static constexpr std::string_view name = "log";
  template <class S>
  S eval(const S& x) const {
    return log(x);
  }
  Values vjp(const Vjp& v) const { return {v.dy / v.x[0]}; }
  static auto samples() { return elementwise_samples<Log>({{0.1, 9}}); }
};

struct Sqrt : Elementwise<1> {
  static constexpr std::string_view name = "sqrt";
  template <class S>
  S eval(const S& x) const {
    return sqrt(x);
  }
  Values vjp(const Vjp& v) const { return {v.dy * 0.5 / v.y}; }
  static auto samples() { return elementwise_samples<Sqrt>({{0.1, 9}}); }
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

/// x limited to [low, high]; NaN stays NaN. The gradient is 0 outside and passes at the bounds.
struct Clip : Elementwise<1> {
  static constexpr std::string_view name = "clip";
  float low = 0, high = 1;
  static constexpr auto fields = std::tuple{field("low", &Clip::low), field("high", &Clip::high)};
  template <class S>
  S eval(const S& x) const {
    return select(x < S(low), S(low), select(x > S(high), S(high), x));
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
