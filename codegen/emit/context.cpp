#include "codegen/emit/context.h"

#include <llvm/IR/Intrinsics.h>

#include <algorithm>

namespace sinter::codegen {

using llvm::Value;

llvm::Function* declare_shared(EmitContext& context, const std::string& name, llvm::FunctionType* type, std::size_t size,
                               const std::function<void(EmitContext&)>& define) {
  context.shared.try_emplace(name, SharedFunction{size, define});
  if (llvm::Function* made = context.module.getFunction(name)) return made;
  auto* function = llvm::Function::Create(type, llvm::Function::ExternalLinkage, name, context.module);
  if (!context.named) function->setVisibility(llvm::GlobalValue::HiddenVisibility);
  function->addFnAttr(llvm::Attribute::NoInline);  // constants of an epilogue around it would take registers
  return function;
}

Value* emit_chunk_units(Builder& b, Value* units, const ChunkLimits& limits) {
  const auto number = [&](std::int64_t n) { return b.getInt64(static_cast<std::uint64_t>(n)); };
  Value* eighth = b.CreateUDiv(b.CreateAdd(units, number(7)), number(8));
  Value* rounded = b.CreateAnd(b.CreateAdd(eighth, number(limits.granule - 1)), number(-limits.granule));
  Value* least = b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, rounded, number(limits.least));
  return b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, least, number(std::max<std::int64_t>(1, limits.most)));
}

}  // namespace sinter::codegen
