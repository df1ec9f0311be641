// Activations that have a primitive of their own. Others (silu, gelu, softplus) are compositions in frontend/.
#pragma once

#include "ir/op.h"

namespace sinter::ir {

/// 1 / (1 + exp(-x)).
struct Sigmoid : Elementwise<1> {
  static constexpr std::string_view name = "sigmoid";
  static constexpr double ulps = 3;
  template <class S>
  S eval(const S& x) const {
    return S(1.0f) / (S(1.0f) + exp(-x));
  }
  Values vjp(const Vjp& v) const { return {v.dy * (v.y * (1.0 - v.y))}; }
  static auto samples() { return elementwise_samples<Sigmoid>({{-6, 6}}); }
};

struct Tanh : Elementwise<1> {
  static constexpr std::string_view name = "tanh";
  static constexpr double ulps = 3;
  template <class S>
  S eval(const S& x) const {
    return tanh(x);
  }
  Values vjp(const Vjp& v) const { return {v.dy * (1.0 - square(v.y))}; }
  static auto samples() { return elementwise_samples<Tanh>({{-3, 3}}); }
};

/// x below 0 is 0; NaN stays NaN, and its gradient passes.
struct Relu : Elementwise<1> {
  static constexpr std::string_view name = "relu";
  template <class S>
  S eval(const S& x) const {
    return select(x < S(0.0f), S(0.0f), x);
  }
  Values vjp(const Vjp& v) const {
    const Value zero = constant(v.graph, 0);
    return {select(less_equal(v.y, zero), zero, v.dy)};
  }
  static auto samples() { return elementwise_samples<Relu>({{}}); }
};

}  // namespace sinter::ir
