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
  static constexpr double ulps = 2;
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
  static constexpr double ulps = 2;
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

/// x^y as IEEE 754 defines it: NaN for x below 0 unless y is whole. The gradient to y is 0 where x is 0.
struct Pow : Elementwise<2> {
  static constexpr std::string_view name = "pow";
  static constexpr double ulps = 2;
  template <class S>
  S eval(const S& x, const S& y) const {
    return pow(x, y);
  }
  Values vjp(const Vjp& v) const {
    const Value zero = constant(v.graph, 0), x = v.x[0], y = v.x[1];
    const Value dx = select(equal(y, zero), zero, v.dy * y * pow(x, y - 1.0));
    const Value dy = select(equal(x, zero), zero, v.dy * v.y * log(x));
    return {dx, dy};
  }
  static auto samples() { return elementwise_samples<Pow>({{0.2, 5}, {-3, 3}}); }
};

/// Radians, of any size.
struct Sin : Elementwise<1> {
  static constexpr std::string_view name = "sin";
  static constexpr double ulps = 2;
  template <class S>
  S eval(const S& x) const {
    return sin(x);
  }
  Values vjp(const Vjp& v) const { return {v.dy * cos(v.x[0])}; }
  static auto samples() { return elementwise_samples<Sin>({{-9, 9}}); }
};

struct Cos : Elementwise<1> {
  static constexpr std::string_view name = "cos";
  static constexpr double ulps = 2;
  template <class S>
  S eval(const S& x) const {
    return cos(x);
  }
  Values vjp(const Vjp& v) const { return {-(v.dy * sin(v.x[0]))}; }
  static auto samples() { return elementwise_samples<Cos>({{-9, 9}}); }
};

/// The error function: 2/sqrt(π) times the integral of exp(-t²) from 0 to x.
struct Erf : Elementwise<1> {
  static constexpr std::string_view name = "erf";
  static constexpr double ulps = 2;
  template <class S>
  S eval(const S& x) const {
    return erf(x);
  }
  Values vjp(const Vjp& v) const { return {v.dy * (exp(-square(v.x[0])) * 1.1283791670955126)}; }
  static auto samples() { return elementwise_samples<Erf>({{-3, 3}}); }
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
