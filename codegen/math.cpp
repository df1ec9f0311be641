// exp, log and tanh as polynomials. Coefficients: Cephes (Moshier), single precision; fused multiply-add throughout.
#include <llvm/IR/Intrinsics.h>

#include "codegen/vec.h"

namespace sinter::codegen {

namespace {

Builder& b() { return *current_builder(); }

llvm::Type* int_type(const Vec& x) {
  llvm::Type* element = llvm::Type::getInt32Ty(b().getContext());
  if (const auto* vector = llvm::dyn_cast<llvm::VectorType>(x.value->getType())) return llvm::VectorType::get(element, vector->getElementCount());
  return element;
}

Vec bits(const Vec& x) { return {b().CreateBitCast(x.value, int_type(x)), DType::i32}; }
Vec from_bits(const Vec& x, const Vec& like) { return {b().CreateBitCast(x.value, like.value->getType()), DType::f32}; }
Vec whole(const Vec& x) { return {b().CreateFPToSI(x.value, int_type(x)), DType::i32}; }
Vec real(const Vec& x, const Vec& like) { return {b().CreateSIToFP(x.value, like.value->getType()), DType::f32}; }
Vec round_even(const Vec& x) { return {b().CreateUnaryIntrinsic(llvm::Intrinsic::roundeven, x.value), DType::f32}; }
Vec shift_left(const Vec& x, unsigned by) { return {b().CreateShl(x.value, llvm::ConstantInt::get(x.value->getType(), by)), DType::i32}; }
Vec shift_right(const Vec& x, unsigned by) { return {b().CreateAShr(x.value, llvm::ConstantInt::get(x.value->getType(), by)), DType::i32}; }
Vec absolute(const Vec& x) { return {b().CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x.value), DType::f32}; }

/// 2^n for whole n in [-126, 127].
Vec power_of_two(const Vec& n, const Vec& like) { return from_bits(shift_left(n + Vec(127.0f), 23), like); }

}  // namespace

Vec exp(const Vec& x) {
  // x = n ln 2 + r, |r| <= ln 2 / 2; exp(x) = 2^n exp(r). n is split in two, so that neither power overflows.
  const Vec clamped = select(x > Vec(89.0f), Vec(89.0f), select(x < Vec(-104.0f), Vec(-104.0f), x));
  const Vec n = round_even(clamped * Vec(1.44269504088896341f));
  Vec r = fma(n, Vec(-0.693359375f), clamped);
  r = fma(n, Vec(2.12194440e-4f), r);
  Vec p = fma(Vec(1.9875691500e-4f), r, Vec(1.3981999507e-3f));
  p = fma(p, r, Vec(8.3334519073e-3f));
  p = fma(p, r, Vec(4.1665795894e-2f));
  p = fma(p, r, Vec(1.6666665459e-1f));
  p = fma(p, r, Vec(5.0000001201e-1f));
  p = fma(p, r * r, r) + Vec(1.0f);
  const Vec whole_n = whole(select(n != n, Vec(0.0f), n));
  const Vec half = shift_right(whole_n, 1);
  const Vec result = p * power_of_two(half, x) * power_of_two(whole_n - half, x);
  return select(x != x, x, result);
}

Vec log(const Vec& x) {
  // x = m 2^e, m in [sqrt(1/2), sqrt(2)); log(x) = log(m) + e ln 2. Subnormal numbers count as 0, as everywhere in a step.
  const Vec normal = select(x < Vec(1.17549435e-38f), Vec(1.17549435e-38f), x);
  const Vec raw = bits(normal);
  llvm::Type* ints = raw.value->getType();
  const Vec offset{b().CreateSub(raw.value, llvm::ConstantInt::get(ints, 0x3f3504f3)), DType::i32};
  const Vec e = real(shift_right(offset, 23), x);
  const Vec mantissa{b().CreateAdd(b().CreateAnd(offset.value, llvm::ConstantInt::get(ints, 0x007fffff)), llvm::ConstantInt::get(ints, 0x3f3504f3)),
                     DType::i32};
  const Vec m = from_bits(mantissa, x) - Vec(1.0f);
  const Vec z = m * m;
  Vec p = fma(Vec(7.0376836292e-2f), m, Vec(-1.1514610310e-1f));
  p = fma(p, m, Vec(1.1676998740e-1f));
  p = fma(p, m, Vec(-1.2420140846e-1f));
  p = fma(p, m, Vec(1.4249322787e-1f));
  p = fma(p, m, Vec(-1.6668057665e-1f));
  p = fma(p, m, Vec(2.0000714765e-1f));
  p = fma(p, m, Vec(-2.4999993993e-1f));
  p = fma(p, m, Vec(3.3333331174e-1f));
  Vec y = p * m * z;
  y = fma(e, Vec(-2.12194440e-4f), y);
  y = fma(z, Vec(-0.5f), y);
  Vec result = fma(e, Vec(0.693359375f), m + y);
  llvm::Constant* infinity = llvm::ConstantFP::getInfinity(x.value->getType());
  result = select(x == Vec(infinity, DType::f32), x, result);
  result = select(x < Vec(1.17549435e-38f),
                  select(x < Vec(0.0f), Vec(llvm::ConstantFP::getNaN(x.value->getType()), DType::f32),
                         Vec(llvm::ConstantFP::getInfinity(x.value->getType(), true), DType::f32)),
                  result);
  return select(x != x, x, result);
}

Vec tanh(const Vec& x) {
  // Small |x|: odd polynomial; else 1 - 2 / (exp(2|x|) + 1) with the sign of x.
  const Vec a = absolute(x), z = x * x;
  Vec p = fma(Vec(-5.70498872745e-3f), z, Vec(2.06390887954e-2f));
  p = fma(p, z, Vec(-5.37397155531e-2f));
  p = fma(p, z, Vec(1.33314422036e-1f));
  p = fma(p, z, Vec(-3.33332819422e-1f));
  const Vec small = fma(p * z, x, x);
  const Vec large = Vec(1.0f) - Vec(2.0f) / (exp(a + a) + Vec(1.0f));
  const Vec with_sign{b().CreateBinaryIntrinsic(llvm::Intrinsic::copysign, large.value, x.value), DType::f32};
  return select(a < Vec(0.625f), small, with_sign);
}

}  // namespace sinter::codegen
