#include "codegen/emit/context.h"

#include <llvm/IR/Intrinsics.h>

#include <algorithm>
#include <bit>

namespace sinter::codegen {

using llvm::Value;

llvm::Function* declare_shared(EmitContext& context, const std::string& name, llvm::FunctionType* type, std::size_t size,
                               const std::function<void(EmitContext&)>& define) {
  context.shared.try_emplace(name, SharedFunction{size, define});
  if (llvm::Function* made = context.module.getFunction(name)) return made;
  auto* function = llvm::Function::Create(type, llvm::Function::ExternalLinkage, name, context.module);
  function->setVisibility(llvm::GlobalValue::HiddenVisibility);
  function->addFnAttr(llvm::Attribute::NoInline);  // constants of an epilogue around it would take registers
  return function;
}

Value* emit_extent(Builder& b, Dim dim, Value* n, Value* t) {
  Value* result = b.getInt64(static_cast<std::uint64_t>(dim.factor()));
  if (dim.is_batch()) result = b.CreateMul(n, result);
  return dim.is_length() ? b.CreateMul(t, result) : result;
}

Value* emit_chunk_units(Builder& b, Dim all, Value* n, Value* t, const ChunkLimits& limits) {
  const auto number = [&](std::int64_t value) { return b.getInt64(static_cast<std::uint64_t>(value)); };
  Value* shift = number(std::countr_zero(static_cast<std::uint64_t>(parts_of(1, limits))));
  if (limits.most_parts > 8 && !limits.work.is_fixed()) {
    Value* worth = number(limits.work.fixed());
    for (const Dim symbols : {Dim::batch(), Dim::length(), Dim::batch() * Dim::length()})
      if (const std::int64_t factor = limits.work[symbols]) worth = b.CreateAdd(worth, emit_extent(b, symbols.with_factor(factor), n, t));
    worth = b.CreateUDiv(worth, number(1024));
    worth =
        b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, worth, number(8)), number(limits.most_parts));
    shift = b.CreateSub(number(63), b.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, worth, b.getTrue()));
  }
  Value* units = emit_extent(b, all, n, t);
  Value* part = b.CreateLShr(b.CreateAdd(units, b.CreateSub(b.CreateShl(number(1), shift), number(1))), shift);
  Value* rounded = b.CreateAnd(b.CreateAdd(part, number(limits.granule - 1)), number(-limits.granule));
  Value* least = b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, rounded, number(limits.least));
  return b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, least, number(std::max<std::int64_t>(1, limits.most)));
}

}  // namespace sinter::codegen
