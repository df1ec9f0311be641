// A vector of numbers in LLVM IR, on which the meaning of pointwise ops (`eval`) is instantiated.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include "ir/type.h"

namespace sinter::codegen {

using Builder = llvm::IRBuilder<>;

/// The builder that arithmetic on Vec appends to, on this thread.
Builder*& current_builder();

/// A bool vector.
struct VecMask {
  llvm::Value* value = nullptr;
};

/// `lanes` numbers of one element type, or a literal that takes the type of what it meets.
struct Vec {
  using mask_type = VecMask;

  Vec() = default;
  Vec(llvm::Value* v, DType type) : value(v), dtype(type) {}
  explicit Vec(float literal) : number(literal) {}

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

// codegen/math.cpp: polynomials, the same on every target.
Vec exp(const Vec& x);
Vec log(const Vec& x);
Vec tanh(const Vec& x);

/// a · b + c, rounded once.
Vec fma(const Vec& a, const Vec& b, const Vec& c);

/// The literal or value as an LLVM value of the other's type.
llvm::Value* materialize(const Vec& x, const Vec& like);

/// Converts between element types as ir/ops/comparison.h defines it for cast.
Vec convert(const Vec& x, DType to);

}  // namespace sinter::codegen
