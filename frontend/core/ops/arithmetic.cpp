#include "frontend/core/ops/arithmetic.h"

#include "frontend/core/operands.h"

namespace sinter {

Tensor operator+(const Arg& a, const Arg& b) { return binary(ir::Add{}, a, b); }
Tensor operator-(const Arg& a, const Arg& b) { return binary(ir::Sub{}, a, b); }
Tensor operator*(const Arg& a, const Arg& b) { return binary(ir::Mul{}, a, b); }
Tensor operator/(const Arg& a, const Arg& b) { return binary(ir::Div{}, a, b); }
Tensor operator-(const Arg& x) { return unary(ir::Neg{}, x); }
Tensor& operator+=(Tensor& a, const Arg& b) { return a = Arg(a, b.where()) + b; }
Tensor& operator-=(Tensor& a, const Arg& b) { return a = Arg(a, b.where()) - b; }
Tensor& operator*=(Tensor& a, const Arg& b) { return a = Arg(a, b.where()) * b; }
Tensor& operator/=(Tensor& a, const Arg& b) { return a = Arg(a, b.where()) / b; }
Tensor exp(const Arg& x) { return unary(ir::Exp{}, x); }
Tensor log(const Arg& x) { return unary(ir::Log{}, x); }
Tensor sqrt(const Arg& x) { return unary(ir::Sqrt{}, x); }
Tensor square(const Arg& x) { return unary(ir::Square{}, x); }
Tensor abs(const Arg& x) { return unary(ir::Abs{}, x); }
Tensor sign(const Arg& x) { return unary(ir::Sign{}, x); }
Tensor floor(const Arg& x) { return unary(ir::Floor{}, x); }
Tensor ceil(const Arg& x) { return unary(ir::Ceil{}, x); }
Tensor round(const Arg& x) { return unary(ir::Round{}, x); }
Tensor minimum(const Arg& a, const Arg& b) { return binary(ir::Minimum{}, a, b); }
Tensor maximum(const Arg& a, const Arg& b) { return binary(ir::Maximum{}, a, b); }
Tensor exp2(const Arg& x) { return unary(ir::Exp2{}, x); }
Tensor expm1(const Arg& x) { return unary(ir::Expm1{}, x); }
Tensor log1p(const Arg& x) { return unary(ir::Log1p{}, x); }
Tensor rsqrt(const Arg& x) { return unary(ir::Rsqrt{}, x); }
Tensor pow(const Arg& x, const Arg& y) { return binary(ir::Pow{}, x, y); }
Tensor sin(const Arg& x) { return unary(ir::Sin{}, x); }
Tensor cos(const Arg& x) { return unary(ir::Cos{}, x); }
Tensor erf(const Arg& x) { return unary(ir::Erf{}, x); }

Tensor clip(const Arg& x, float low, float high) {
  if (!(low <= high)) fail(x.where(), str("clip needs low <= high, got ", low, " and ", high));
  return unary(ir::Clip{{}, low, high}, x);
}

}  // namespace sinter
