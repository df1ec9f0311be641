// The innermost loop of a product: a tile of rows × vectors in registers, one function for all products that share its form.
#include <llvm/IR/Intrinsics.h>

#include "codegen/emit/kernel_emitter.h"
#include "codegen/kernels/product_tile.h"

namespace sinter::codegen {

using llvm::Value;

llvm::Function* tile_function(EmitContext& context, const Tile& tile) {
  std::string name = str("tile_", tile.rows, "x");
  for (const unsigned width : tile.widths) name += str(width, "_");
  name += str("c", tile.ldc, tile.accumulate ? "_more" : "");
  if (tile.walk == Tile::Walk::columns) name += str("_a", tile.lda);
  if (tile.walk == Tile::Walk::list) name += "_list";
  if (llvm::Function* made = context.module.getFunction(name)) return made;

  llvm::LLVMContext& llvm = context.module.getContext();
  Builder build(llvm);
  llvm::Type *type = build.getFloatTy(), *pointer = build.getPtrTy();
  std::vector<llvm::Type*> types{pointer, pointer, build.getInt64Ty(), build.getInt64Ty(), build.getInt64Ty()};
  types.insert(types.end(), tile.walk == Tile::Walk::rows ? tile.rows : 1, pointer);
  if (tile.walk == Tile::Walk::list) types.push_back(build.getInt64Ty());
  auto* function =
      llvm::Function::Create(llvm::FunctionType::get(build.getVoidTy(), types, false), llvm::Function::LinkOnceODRLinkage, name, context.module);
  if (!context.named) function->setVisibility(llvm::GlobalValue::HiddenVisibility);
  function->addFnAttr(llvm::Attribute::NoInline);  // constants of an epilogue around it would take registers
  function->addParamAttr(0, llvm::Attribute::NoAlias);
  auto *before = llvm::BasicBlock::Create(llvm, "entry", function), *body = llvm::BasicBlock::Create(llvm, "body", function),
       *after = llvm::BasicBlock::Create(llvm, "done", function);
  build.SetInsertPoint(before);

  const std::size_t vectors = tile.widths.size();
  const auto vector = [&](std::size_t j) { return llvm::FixedVectorType::get(type, tile.widths[j]); };
  const auto at = [&](Value* base, std::int64_t offset) { return build.CreateConstInBoundsGEP1_64(type, base, static_cast<std::uint64_t>(offset)); };
  const auto c_at = [&](unsigned i, std::size_t j) {
    return at(function->getArg(0), i * tile.ldc + static_cast<std::int64_t>(j) * tile.widths.front());
  };
  std::vector<Value*> sums;
  Value* first = build.CreateICmpEQ(function->getArg(4), build.getInt64(0));
  for (unsigned i = 0; i < tile.rows; ++i)
    for (std::size_t j = 0; j < vectors; ++j) {
      Value* zero = llvm::ConstantFP::get(vector(j), 0);
      sums.push_back(tile.accumulate ? build.CreateSelect(first, zero, build.CreateAlignedLoad(vector(j), c_at(i, j), llvm::Align(4))) : zero);
    }
  build.CreateBr(body);
  build.SetInsertPoint(body);
  const auto phi = [&](Value* start) {
    llvm::PHINode* node = build.CreatePHI(start->getType(), 2);
    node->addIncoming(start, before);
    return node;
  };
  llvm::PHINode *k = phi(build.getInt64(0)), *b = phi(function->getArg(1)),
                *a = tile.walk == Tile::Walk::columns ? phi(function->getArg(5)) : nullptr;
  std::vector<llvm::PHINode*> running;
  for (Value* sum : sums) running.push_back(phi(sum));
  std::vector<Value*> row;
  for (std::size_t j = 0; j < vectors; ++j)
    row.push_back(build.CreateAlignedLoad(vector(j), at(b, static_cast<std::int64_t>(j) * tile.widths.front()), llvm::Align(4)));
  Value* column = a;
  if (tile.walk == Tile::Walk::list)
    column =
        build.CreateInBoundsGEP(type, build.CreateLoad(pointer, build.CreateInBoundsGEP(pointer, function->getArg(5), {k})), {function->getArg(6)});
  for (unsigned i = 0; i < tile.rows; ++i) {
    Value* x = build.CreateLoad(type, column ? at(column, i) : build.CreateInBoundsGEP(type, function->getArg(5 + i), {k}));
    for (std::size_t j = 0; j < vectors; ++j) {
      const std::size_t s = i * vectors + j;
      sums[s] = build.CreateIntrinsic(llvm::Intrinsic::fma, {vector(j)}, {build.CreateVectorSplat(tile.widths[j], x), row[j], running[s]});
    }
  }
  Value* next = build.CreateAdd(k, build.getInt64(1), "", true, true);
  k->addIncoming(next, body);
  b->addIncoming(build.CreateInBoundsGEP(type, b, {function->getArg(2)}), body);
  if (a) a->addIncoming(at(a, tile.lda), body);
  for (std::size_t s = 0; s < sums.size(); ++s) running[s]->addIncoming(sums[s], body);
  build.CreateCondBr(build.CreateICmpSLT(next, function->getArg(3)), body, after);
  build.SetInsertPoint(after);
  for (unsigned i = 0; i < tile.rows; ++i)
    for (std::size_t j = 0; j < vectors; ++j) build.CreateAlignedStore(sums[i * vectors + j], c_at(i, j), llvm::Align(4));
  build.CreateRetVoid();
  return function;
}

}  // namespace sinter::codegen
