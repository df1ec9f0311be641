// The elementary functions of one f32, what they should be, and how far they may be off.
#pragma once

#include <sinter/graph.h>

#include <cmath>
#include <limits>
#include <vector>

#include "frontend/core/ops.h"

namespace sinter::bench {

struct Function {
  const char* name;
  Tensor (*apply)(const Tensor& x);
  double (*exact)(double x);
  double bound;  ///< units in the last place
};

inline const std::vector<Function>& functions() {
  static const std::vector<Function> list{
      {"exp", [](const Tensor& x) { return exp(x); }, [](double x) { return std::exp(x); }, ir::Exp::ulps},
      {"exp2", [](const Tensor& x) { return exp2(x); }, [](double x) { return std::exp2(x); }, ir::Exp2::ulps},
      {"expm1", [](const Tensor& x) { return expm1(x); }, [](double x) { return std::expm1(x); }, ir::Expm1::ulps},
      {"log1p", [](const Tensor& x) { return log1p(x); }, [](double x) { return std::log1p(x); }, ir::Log1p::ulps},
      {"rsqrt", [](const Tensor& x) { return rsqrt(x); }, [](double x) { return 1 / std::sqrt(x); }, ir::Rsqrt::ulps},
      {"floor", [](const Tensor& x) { return floor(x); }, [](double x) { return std::floor(x); }, ir::Floor::ulps},
      {"ceil", [](const Tensor& x) { return ceil(x); }, [](double x) { return std::ceil(x); }, ir::Ceil::ulps},
      {"round", [](const Tensor& x) { return round(x); }, [](double x) { return std::nearbyint(x); }, ir::Round::ulps},
      {"log", [](const Tensor& x) { return log(x); }, [](double x) { return std::log(x); }, ir::Log::ulps},
      {"sqrt", [](const Tensor& x) { return sqrt(x); }, [](double x) { return std::sqrt(x); }, ir::Sqrt::ulps},
      {"tanh", [](const Tensor& x) { return tanh(x); }, [](double x) { return std::tanh(x); }, ir::Tanh::ulps},
      {"sigmoid", [](const Tensor& x) { return sigmoid(x); }, [](double x) { return 1 / (1 + std::exp(-x)); }, ir::Sigmoid::ulps},
      {"erf", [](const Tensor& x) { return erf(x); }, [](double x) { return std::erf(x); }, ir::Erf::ulps},
      {"sin", [](const Tensor& x) { return sin(x); }, [](double x) { return std::sin(x); }, ir::Sin::ulps},
      {"cos", [](const Tensor& x) { return cos(x); }, [](double x) { return std::cos(x); }, ir::Cos::ulps},
      {"pow(x,0.4)", [](const Tensor& x) { return pow(x, double{0.4f}); }, [](double x) { return std::pow(x, double{0.4f}); }, ir::Pow::ulps},
      {"pow(x,-2.5)", [](const Tensor& x) { return pow(x, -2.5); }, [](double x) { return std::pow(x, -2.5); }, ir::Pow::ulps},
      {"pow(x,3)", [](const Tensor& x) { return pow(x, 3); }, [](double x) { return std::pow(x, 3); }, ir::Pow::ulps},
      {"pow(x,-8)", [](const Tensor& x) { return pow(x, -8); }, [](double x) { return std::pow(x, -8); }, ir::Pow::ulps},
      {"pow(0.999,x)", [](const Tensor& x) { return pow(double{0.999f}, x); }, [](double x) { return std::pow(double{0.999f}, x); }, ir::Pow::ulps},
      {"pow(-7,x)", [](const Tensor& x) { return pow(-7, x); }, [](double x) { return std::pow(-7, x); }, ir::Pow::ulps},
  };
  return list;
}

/// What an f32 counts as in a step: subnormal numbers are 0.
inline float flushed(float x) { return std::abs(x) < std::numeric_limits<float>::min() ? std::copysign(0.0f, x) : x; }

/// How far `got` is from the exact result, in units in the last place of that; infinite for a wrong special value. Results below the least normal
/// number may be 0.
inline double ulps_off(float got, double exact) {
  constexpr float least = std::numeric_limits<float>::min();
  got = flushed(got);  // log1p returns a subnormal argument as it is
  const float rounded = static_cast<float>(exact);
  if (rounded == got || (std::isnan(exact) && std::isnan(got))) return 0;
  if (std::isnan(got) || std::isnan(exact)) return INFINITY;
  if (std::abs(exact) < least && (got == 0 || std::abs(got) == least)) return 0;
  const double ulp = std::nextafter(std::abs(rounded), INFINITY) - std::abs(rounded);
  const bool overflow = std::isinf(rounded) || std::isinf(got);
  if (overflow) {  // one of the two may round to infinity beside the greatest number
    const double greatest = std::numeric_limits<float>::max(), last = greatest - std::nextafter(std::numeric_limits<float>::max(), 0.0f);
    if (std::signbit(got) != std::signbit(rounded) || std::isinf(exact)) return INFINITY;
    return std::abs((std::isinf(got) ? greatest + last : std::abs(static_cast<double>(got))) - std::abs(exact)) / last;
  }
  return std::abs(got - exact) / ulp;
}

}  // namespace sinter::bench
