// Pointwise elementary functions; ir/vector_math.h has their algorithms.
#pragma once

#include "ir/op.h"

namespace sinter::ir {

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

/// 2^x.
struct Exp2 : Elementwise<1> {
  static constexpr std::string_view name = "exp2";
  static constexpr double ulps = 2;
  template <class S>
  S eval(const S& x) const {
    return exp2(x);
  }
  Values vjp(const Vjp& v) const { return {v.dy * (v.y * 0.6931471805599453)}; }
  static auto samples() { return elementwise_samples<Exp2>({{-5, 5}}); }
};

/// exp(x) - 1, exact near 0.
struct Expm1 : Elementwise<1> {
  static constexpr std::string_view name = "expm1";
  static constexpr double ulps = 2;
  template <class S>
  S eval(const S& x) const {
    return expm1(x);
  }
  Values vjp(const Vjp& v) const { return {v.dy * (v.y + 1.0)}; }
  static auto samples() { return elementwise_samples<Expm1>({{-3, 3}}); }
};

/// log(1 + x), exact near 0.
struct Log1p : Elementwise<1> {
  static constexpr std::string_view name = "log1p";
  static constexpr double ulps = 2;
  template <class S>
  S eval(const S& x) const {
    return log1p(x);
  }
  Values vjp(const Vjp& v) const { return {v.dy / (v.x[0] + 1.0)}; }
  static auto samples() { return elementwise_samples<Log1p>({{-0.7, 5}}); }
};

/// 1 / sqrt(x).
struct Rsqrt : Elementwise<1> {
  static constexpr std::string_view name = "rsqrt";
  static constexpr double ulps = 2;
  template <class S>
  S eval(const S& x) const {
    return S(1.0f) / sqrt(x);
  }
  Values vjp(const Vjp& v) const { return {v.dy * (v.y * square(v.y)) * -0.5}; }
  static auto samples() { return elementwise_samples<Rsqrt>({{0.1, 9}}); }
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

}  // namespace sinter::ir
