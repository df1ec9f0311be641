// What the code of products says often.
#pragma once

#include <llvm/IR/Intrinsics.h>

#include "codegen/emit/emitter.h"

namespace sinter::codegen {

class ProductWords {
 protected:
  explicit ProductWords(Emitter& emitter) : e_(emitter), b_(emitter.builder()) {}

  llvm::Value* number(std::int64_t n) const { return e_.number(n); }
  llvm::Value* least(llvm::Value* a, llvm::Value* b) { return b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, a, b); }
  /// A row of a matrix of several: `first` is that matrix's first row, null if there is one.
  llvm::Value* after(llvm::Value* first, llvm::Value* row) { return first ? b_.CreateAdd(first, row) : row; }
  llvm::Value* floats_at(llvm::Value* base, llvm::Value* row, std::int64_t stride, llvm::Value* offset) {
    return b_.CreateInBoundsGEP(b_.getFloatTy(), base, {b_.CreateAdd(b_.CreateMul(row, number(stride)), offset)});
  }
  /// Memory of the kernel itself.
  llvm::AllocaInst* memory(std::int64_t floats, const char* name) {
    return e_.variable(llvm::ArrayType::get(b_.getFloatTy(), static_cast<std::uint64_t>(floats)), name, 64);
  }

  Emitter& e_;
  Builder& b_;
};

}  // namespace sinter::codegen
