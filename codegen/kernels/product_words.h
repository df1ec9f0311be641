// What the code of products says often.
#pragma once

#include <llvm/IR/Intrinsics.h>

#include <functional>

#include "codegen/emit/emitter.h"

namespace sinter::codegen {

class ProductWords {
 protected:
  explicit ProductWords(Emitter& emitter) : e_(emitter), b_(emitter.builder()) {}

  llvm::Value* number(std::int64_t n) const { return e_.number(n); }
  llvm::Value* least(llvm::Value* a, llvm::Value* b) { return b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, a, b); }
  llvm::Value* most(llvm::Value* a, llvm::Value* b) { return b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, a, b); }
  /// A row of a matrix of several: `first` is that matrix's first row, null if there is one.
  llvm::Value* after(llvm::Value* first, llvm::Value* row) { return first ? b_.CreateAdd(first, row) : row; }
  llvm::Value* floats_at(llvm::Value* base, llvm::Value* row, std::int64_t stride, llvm::Value* offset) {
    return b_.CreateInBoundsGEP(b_.getFloatTy(), base, {b_.CreateAdd(b_.CreateMul(row, number(stride)), offset)});
  }
  void fetch(llvm::Value* where) {
    b_.CreateIntrinsic(llvm::Intrinsic::prefetch, {b_.getPtrTy()}, {where, b_.getInt32(0), b_.getInt32(2), b_.getInt32(1)});
  }
  /// The tiles of `rows` rows in [begin, end) share the rows [first, first + count) of an operand that is wanted next, those before `stop`: calls
  /// `each` with those of the tile that begins at `row`.
  void share(llvm::Value* row, unsigned rows, Range tiled, llvm::Value* first, std::int64_t count, llvm::Value* stop,
             const std::function<void(llvm::Value*)>& each) {
    llvm::Value* tiles = b_.CreateUDiv(b_.CreateAdd(b_.CreateSub(tiled.last, tiled.first), number(rows - 1)), number(rows));
    llvm::Value* part = b_.CreateUDiv(b_.CreateAdd(number(count - 1), tiles), tiles);
    llvm::Value* from = b_.CreateAdd(first, b_.CreateMul(b_.CreateUDiv(b_.CreateSub(row, tiled.first), number(rows)), part));
    e_.loop(from, least(b_.CreateAdd(from, part), least(b_.CreateAdd(first, number(count)), stop)), 1, each);
  }
  /// Memory of the kernel itself.
  llvm::AllocaInst* memory(std::int64_t floats, const char* name) {
    return e_.variable(llvm::ArrayType::get(b_.getFloatTy(), static_cast<std::uint64_t>(floats)), name, 64);
  }

  Emitter& e_;
  Builder& b_;
};

}  // namespace sinter::codegen
