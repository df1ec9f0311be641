// A vector of numbers in LLVM IR, on which the meaning of pointwise ops (`eval`) is instantiated.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <array>
#include <vector>

#include "ir/type.h"

namespace sinter::codegen {

using Builder = llvm::IRBuilder<>;

/// The builder that arithmetic on Vec appends to, on this thread.
Builder*& current_builder();

/// A bool vector.
struct VecMask {
  llvm::Value* value = nullptr;
};

/// `lanes` numbers of one element type, or a literal that takes the type of the other operand.
struct Vec {
  using mask_type = VecMask;

  Vec() = default;
  Vec(llvm::Value* v, DType type) : value(v), dtype(type) {}
  explicit Vec(double literal) : number(literal) {}

  llvm::Value* value = nullptr;  ///< null: a literal
  DType dtype = DType::f32;
  double number = 0;
};

Vec operator+(const Vec& a, const Vec& b);
Vec operator-(const Vec& a, const Vec& b);
Vec operator*(const Vec& a, const Vec& b);
Vec operator/(const Vec& a, const Vec& b);
Vec operator-(const Vec& x);
VecMask operator<(const Vec& a, const Vec& b);
VecMask operator<=(const Vec& a, const Vec& b);
VecMask operator>(const Vec& a, const Vec& b);
VecMask operator==(const Vec& a, const Vec& b);
VecMask operator!=(const Vec& a, const Vec& b);
Vec select(const VecMask& condition, const Vec& a, const Vec& b);
Vec sqrt(const Vec& x);

// ---- what ir/vector_math.h needs in addition; f64 occurs only there and counts as f32 here ----
/// a · b + c, rounded once.
Vec fma(const Vec& a, const Vec& b, const Vec& c);
Vec as_int(const Vec& x);
Vec as_float(const Vec& x);
Vec operator&(const Vec& a, const Vec& b);
Vec operator^(const Vec& a, const Vec& b);
/// The upper half of the 64-bit product of two u32.
Vec multiply_high(const Vec& a, const Vec& b);
Vec shift_left(const Vec& x, unsigned by);
Vec shift_right(const Vec& x, unsigned by);
Vec widen(const Vec& x);
Vec narrow(const Vec& x);
/// table[index], of a table that becomes a constant of the module.
Vec lookup(const std::array<double, 256>& table, const Vec& index);

// Elementary functions: codegen/math.cpp.
Vec exp(const Vec& x);
Vec log(const Vec& x);
Vec tanh(const Vec& x);
Vec exp2(const Vec& x);
Vec expm1(const Vec& x);
Vec log1p(const Vec& x);
Vec floor(const Vec& x);
Vec rint(const Vec& x);
Vec erf(const Vec& x);
Vec sin(const Vec& x);
Vec cos(const Vec& x);
Vec pow(const Vec& x, const Vec& y);

/// The literal or value as an LLVM value of the other's type.
llvm::Value* materialize(const Vec& x, const Vec& like);

/// The scalar in each of `width` lanes.
Vec splat(const Vec& scalar, unsigned width);
/// Scalars as the lanes of a vector, and one of these lanes.
Vec vector_of(const std::vector<Vec>& scalars);
Vec lane(const Vec& x, unsigned number);
/// A vector of i1 that is true in so many first lanes.
llvm::Value* first_lanes(unsigned valid, unsigned width);
/// x where it has only so many lanes, else with `fill` in the lanes after those.
Vec only_valid(const Vec& x, unsigned valid, double fill);
/// Transposes a square of vectors: each round swaps blocks across the diagonal, half as large as in the previous one.
std::vector<llvm::Value*> transposed(std::vector<llvm::Value*> rows);
/// Those u32 of one register (16: AVX-512, 8: AVX2, 4: others) whose lanes are set, in order; what follows them is not defined.
llvm::Value* compressed(llvm::Value* numbers, llvm::Value* mask);
/// first, first + 1, …
llvm::Value* lane_numbers(llvm::Value* first, unsigned width);

/// Converts between element types as ir/ops/comparison.h defines it for cast.
Vec convert(const Vec& x, DType to);

}  // namespace sinter::codegen
