// Arithmetic and elementary functions, element by element.
#pragma once

#include "frontend/core/arg.h"

namespace sinter {

Tensor operator+(const Arg& a, const Arg& b);
Tensor operator-(const Arg& a, const Arg& b);
Tensor operator*(const Arg& a, const Arg& b);
Tensor operator/(const Arg& a, const Arg& b);
Tensor operator-(const Arg& x);
/// Makes `a` another value, a + b; earlier copies of it stay unchanged. A parameter is changed by assign() only.
Tensor& operator+=(Tensor& a, const Arg& b);
Tensor& operator-=(Tensor& a, const Arg& b);
Tensor& operator*=(Tensor& a, const Arg& b);
Tensor& operator/=(Tensor& a, const Arg& b);
Tensor exp(const Arg& x);
Tensor log(const Arg& x);
Tensor sqrt(const Arg& x);
Tensor square(const Arg& x);
Tensor abs(const Arg& x);
/// -1, 0 or 1.
Tensor sign(const Arg& x);
Tensor floor(const Arg& x);
Tensor ceil(const Arg& x);
/// Ties to even.
Tensor round(const Arg& x);
/// NaN where either is.
Tensor minimum(const Arg& a, const Arg& b);
Tensor maximum(const Arg& a, const Arg& b);
Tensor exp2(const Arg& x);
/// exp(x) - 1, exact near 0.
Tensor expm1(const Arg& x);
/// log(1 + x), exact near 0.
Tensor log1p(const Arg& x);
/// 1 / sqrt(x).
Tensor rsqrt(const Arg& x);
/// x^y; NaN for x below 0 unless y is whole.
Tensor pow(const Arg& x, const Arg& y);
Tensor sin(const Arg& x);
Tensor cos(const Arg& x);
/// The error function.
Tensor erf(const Arg& x);
Tensor clip(const Arg& x, float low, float high);

}  // namespace sinter
