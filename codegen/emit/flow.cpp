#include "codegen/emit/flow.h"

namespace sinter::codegen {

using llvm::Value;

namespace {

llvm::BasicBlock* block(Builder& b, const char* name) { return llvm::BasicBlock::Create(b.getContext(), name, b.GetInsertBlock()->getParent()); }

}  // namespace

void emit_loop(Builder& b, Value* begin, Value* end, std::int64_t step, const std::function<void(Value*)>& body) {
  llvm::BasicBlock *before = b.GetInsertBlock(), *head = block(b, "loop"), *inside = block(b, "body"), *after = block(b, "done");
  b.CreateBr(head);
  b.SetInsertPoint(head);
  llvm::PHINode* i = b.CreatePHI(begin->getType(), 2);
  i->addIncoming(begin, before);
  b.CreateCondBr(b.CreateICmpSLT(i, end), inside, after);
  b.SetInsertPoint(inside);
  body(i);
  i->addIncoming(b.CreateAdd(i, b.getInt64(static_cast<std::uint64_t>(step)), "", true, true), b.GetInsertBlock());
  b.CreateBr(head);
  b.SetInsertPoint(after);
}

void emit_when(Builder& b, Value* condition, const std::function<void()>& body) {
  llvm::BasicBlock *inside = block(b, "then"), *after = block(b, "after");
  b.CreateCondBr(condition, inside, after);
  b.SetInsertPoint(inside);
  body();
  b.CreateBr(after);
  b.SetInsertPoint(after);
}

}  // namespace sinter::codegen
