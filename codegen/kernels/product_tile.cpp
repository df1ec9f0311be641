// The innermost loop of a product: a tile of rows × vectors in registers, one function for all products that share its form.
#include <llvm/IR/Intrinsics.h>

#include <functional>

#include "codegen/emit/emitter.h"
#include "codegen/kernels/product_tile.h"

namespace sinter::codegen {

using llvm::Value;

namespace {

std::string name_of(const Tile& tile) {
  std::string name = str("tile_", tile.rows, "x");
  for (const unsigned width : tile.widths) name += str(width, "_");
  name += str("c", tile.ldc, tile.accumulate ? "_more" : "");
  if (tile.walk == Tile::Walk::columns) name += str("_a", tile.lda);
  if (tile.walk == Tile::Walk::list) name += "_list";
  if (tile.walk == Tile::Walk::spread) name += str("_s", tile.lda);
  if (tile.runs) name += "_runs";
  return name;
}

void define(EmitContext& context, const Tile& tile) {
  llvm::Function* function = tile_function(context, tile);
  llvm::LLVMContext& llvm = context.module.getContext();
  Builder build(llvm);
  llvm::Type *type = build.getFloatTy(), *pointer = build.getPtrTy();
  function->addParamAttr(0, llvm::Attribute::NoAlias);
  auto* before = llvm::BasicBlock::Create(llvm, "entry", function);
  auto* run = tile.runs ? llvm::BasicBlock::Create(llvm, "run", function) : nullptr;
  auto* body = llvm::BasicBlock::Create(llvm, "body", function);
  auto* next_run = tile.runs ? llvm::BasicBlock::Create(llvm, "next_run", function) : nullptr;
  auto* after = llvm::BasicBlock::Create(llvm, "done", function);
  build.SetInsertPoint(before);

  const std::size_t vectors = tile.widths.size();
  const auto vector = [&](std::size_t j) { return llvm::FixedVectorType::get(type, tile.widths[j]); };
  const auto at = [&](Value* base, std::int64_t offset) { return build.CreateConstInBoundsGEP1_64(type, base, static_cast<std::uint64_t>(offset)); };
  const auto c_at = [&](unsigned i, std::size_t j) {
    return at(function->getArg(0), i * tile.ldc + static_cast<std::int64_t>(j) * tile.widths.front());
  };
  std::vector<Value*> sums;
  const auto for_each_sum = [&](const std::function<void(unsigned, std::size_t)>& body) {
    for (unsigned i = 0; i < tile.rows; ++i)
      for (std::size_t j = 0; j < vectors; ++j) body(i, j);
  };
  for_each_sum([&](unsigned, std::size_t j) { sums.push_back(llvm::ConstantFP::get(vector(j), 0)); });
  if (tile.accumulate) {  // one branch for all of them
    auto *more = llvm::BasicBlock::Create(llvm, "more", function, body), *begin = llvm::BasicBlock::Create(llvm, "begin", function, body);
    build.CreateCondBr(build.CreateICmpEQ(function->getArg(4), build.getInt64(0)), begin, more);
    build.SetInsertPoint(more);
    std::vector<Value*> stored;
    for_each_sum([&](unsigned i, std::size_t j) { stored.push_back(build.CreateAlignedLoad(vector(j), c_at(i, j), llvm::Align(4))); });
    build.CreateBr(begin);
    build.SetInsertPoint(begin);
    for (std::size_t s = 0; s < sums.size(); ++s) {
      llvm::PHINode* sum = build.CreatePHI(sums[s]->getType(), 2);
      sum->addIncoming(sums[s], before);
      sum->addIncoming(stored[s], more);
      sums[s] = sum;
    }
    before = begin;
  }
  // The loop-carried values: pointers to b and a, then the sums.
  const bool one_pointer = tile.walk == Tile::Walk::columns || tile.walk == Tile::Walk::spread;
  std::vector<Value*> carried{function->getArg(1), one_pointer ? function->getArg(5) : nullptr};
  carried.insert(carried.end(), sums.begin(), sums.end());
  const auto phis = [&](llvm::BasicBlock* from, llvm::BasicBlock* loop) {
    build.CreateBr(loop);
    build.SetInsertPoint(loop);
    std::vector<llvm::PHINode*> nodes;
    llvm::PHINode* count = build.CreatePHI(build.getInt64Ty(), 2);
    count->addIncoming(build.getInt64(0), from);
    nodes.push_back(count);
    for (Value*& value : carried) {
      nodes.push_back(value ? build.CreatePHI(value->getType(), 2) : nullptr);
      if (value) nodes.back()->addIncoming(value, from);
      value = nodes.back();
    }
    return nodes;
  };
  const auto close = [&](const std::vector<llvm::PHINode*>& nodes, const std::vector<Value*>& values, llvm::BasicBlock* from) {
    for (std::size_t i = 0; i < nodes.size(); ++i)
      if (nodes[i]) nodes[i]->addIncoming(values[i], from);
  };
  const std::vector<llvm::PHINode*> outer = tile.runs ? phis(before, run) : std::vector<llvm::PHINode*>{};
  const std::vector<llvm::PHINode*> inner = phis(tile.runs ? run : before, body);
  llvm::PHINode *k = inner[0], *b = inner[1], *a = inner[2];
  const std::vector<llvm::PHINode*> running(inner.begin() + 3, inner.end());
  std::vector<Value*> row;
  for (std::size_t j = 0; j < vectors; ++j)
    row.push_back(build.CreateAlignedLoad(vector(j), at(b, static_cast<std::int64_t>(j) * tile.widths.front()), llvm::Align(4)));
  // One row streams over b, whose rows lie apart: the hardware prefetcher begins anew in each.
  constexpr std::int64_t rows_ahead = 16;
  if (tile.rows == 1 && tile.walk == Tile::Walk::rows) {
    Value* ahead = build.CreateGEP(type, b, {build.CreateMul(function->getArg(2), build.getInt64(rows_ahead))});
    for (std::size_t j = 0; j < vectors; ++j)
      build.CreateIntrinsic(
          llvm::Intrinsic::prefetch, {pointer},
          {build.CreateConstGEP1_64(type, ahead, j * tile.widths.front()), build.getInt32(0), build.getInt32(2), build.getInt32(1)});
  }
  Value* column = a;
  if (tile.walk == Tile::Walk::list)
    column =
        build.CreateInBoundsGEP(type, build.CreateLoad(pointer, build.CreateInBoundsGEP(pointer, function->getArg(5), {k})), {function->getArg(6)});
  for (unsigned i = 0; i < tile.rows; ++i) {
    const std::int64_t step = tile.walk == Tile::Walk::spread ? tile.lda : 1;
    Value* x = build.CreateLoad(type, column ? at(column, i * step) : build.CreateInBoundsGEP(type, function->getArg(5 + i), {k}));
    for (std::size_t j = 0; j < vectors; ++j) {
      const std::size_t s = i * vectors + j;
      sums[s] = build.CreateIntrinsic(llvm::Intrinsic::fma, {vector(j)}, {build.CreateVectorSplat(tile.widths[j], x), row[j], running[s]});
    }
  }
  std::vector<Value*> next{build.CreateAdd(k, build.getInt64(1), "", true, true), build.CreateInBoundsGEP(type, b, {function->getArg(2)}),
                           a ? at(a, tile.walk == Tile::Walk::spread ? 1 : tile.lda) : nullptr};
  next.insert(next.end(), sums.begin(), sums.end());
  close(inner, next, body);
  build.CreateCondBr(build.CreateICmpSLT(next[0], function->getArg(3)), body, tile.runs ? next_run : after);
  if (tile.runs) {
    build.SetInsertPoint(next_run);
    const auto jump = [&](Value* from, unsigned argument) { return build.CreateGEP(type, from, {function->getArg(argument)}); };
    next[0] = build.CreateAdd(outer[0], build.getInt64(1), "", true, true);
    next[1] = jump(next[1], 8);
    next[2] = jump(next[2], 7);
    close(outer, next, next_run);
    build.CreateCondBr(build.CreateICmpSLT(next[0], function->getArg(6)), run, after);
  }
  build.SetInsertPoint(after);
  for_each_sum([&](unsigned i, std::size_t j) { build.CreateAlignedStore(sums[i * vectors + j], c_at(i, j), llvm::Align(4)); });
  build.CreateRetVoid();
}

}  // namespace

llvm::Function* tile_function(EmitContext& context, const Tile& tile) {
  llvm::LLVMContext& llvm = context.module.getContext();
  llvm::Type *pointer = llvm::PointerType::getUnqual(llvm), *number = llvm::Type::getInt64Ty(llvm);
  std::vector<llvm::Type*> types{pointer, pointer, number, number, number};
  types.insert(types.end(), tile.walk == Tile::Walk::rows ? tile.rows : 1, pointer);
  if (tile.walk == Tile::Walk::list) types.push_back(number);
  if (tile.runs) types.insert(types.end(), 3, number);
  const std::size_t sums = tile.rows * tile.widths.size();
  return declare_shared(context, name_of(tile), llvm::FunctionType::get(llvm::Type::getVoidTy(llvm), types, false), 4 * sums + 20,
                        [tile](EmitContext& into) { define(into, tile); });
}

}  // namespace sinter::codegen
