// Products: tiles of the result in registers, as codegen/kernels/product_plan.h lays them out, then the epilogue over the rows that are finished,
// while they are in the first-level cache. Scatter-add collects its sums and has an epilogue alike.
#include <cstddef>

#include "codegen/emit/kernel_emitter.h"
#include "ir/kernel.h"
#include "ir/step.h"

namespace sinter::codegen {

using llvm::Value;

/// Products whose columns are the batch, and single columns: one call of the launcher's product a chunk.
void KernelEmitter::call_product(const ir::Matmul& op, const ir::ProductExtents& sizes) {
  const ir::Node& anchor = context_.graph.node(kernel_.anchor);
  const ValueId a = value_of(anchor.inputs[0]), b = value_of(anchor.inputs[1]);
  const SymbolicLayout la = symbolic_layout(type_of(anchor.inputs[0]).shape), lb = symbolic_layout(type_of(anchor.inputs[1]).shape),
                       lc = symbolic_layout(kernel_.shape);
  Value *begin = rows_begin(kernel_.shape), *end = rows_end(kernel_.shape);

  // Matrices of one column are flat in memory, with a stride of 1: their addresses count rows in `last`.
  const auto at = [&](ValueId value, Value* row, Value* column) {
    return is_flat(context_.schedule.values[value].type.shape) ? address(value, constant(0), builder_.CreateAdd(row, column))
                                                               : address(value, row, column);
  };
  Value* call = variable(llvm::ArrayType::get(builder_.getInt8Ty(), sizeof(GemmCall)), "call", 8);
  const auto set = [&](std::size_t offset, Value* value) {
    builder_.CreateStore(value, builder_.CreateConstInBoundsGEP1_64(builder_.getInt8Ty(), call, offset));
  };
  set(offsetof(GemmCall, a), op.transpose_a ? at(a, constant(0), begin) : at(a, begin, constant(0)));
  set(offsetof(GemmCall, b), at(b, constant(0), constant(0)));
  set(offsetof(GemmCall, c), at(kernel_.product, begin, constant(0)));
  set(offsetof(GemmCall, m), builder_.CreateSub(end, begin));
  set(offsetof(GemmCall, k), extent(sizes.k));
  set(offsetof(GemmCall, f), extent(sizes.f));
  set(offsetof(GemmCall, lda), extent(la.stride));
  set(offsetof(GemmCall, ldb), extent(lb.stride));
  set(offsetof(GemmCall, ldc), extent(lc.stride));
  set(offsetof(GemmCall, transpose_a), builder_.getInt32(op.transpose_a));
  set(offsetof(GemmCall, transpose_b), builder_.getInt32(op.transpose_b));
  Value* gemm =
      builder_.CreateLoad(builder_.getPtrTy(), builder_.CreateConstInBoundsGEP1_64(builder_.getInt8Ty(), ctx_, offsetof(StepContext, gemm)));
  builder_.CreateCall(llvm::FunctionType::get(builder_.getVoidTy(), {builder_.getPtrTy()}, false), gemm, {call});
  emit_pointwise();
}

void KernelEmitter::emit_product() {
  const ir::Node& anchor = context_.graph.node(kernel_.anchor);
  ir::Matmul op;
  if (const auto* matmul = std::get_if<ir::Matmul>(&anchor.op)) op = *matmul;
  const ir::ProductExtents sizes = ir::product_extents(op, type_of(anchor.inputs[0]).shape, type_of(anchor.inputs[1]).shape);
  const SymbolicLayout la = symbolic_layout(type_of(anchor.inputs[0]).shape), lb = symbolic_layout(type_of(anchor.inputs[1]).shape),
                       lc = symbolic_layout(kernel_.shape);
  const bool flat = is_flat(type_of(anchor.inputs[0]).shape) || is_flat(type_of(anchor.inputs[1]).shape) || is_flat(kernel_.shape);
  if (flat || !la.stride.is_fixed() || !lb.stride.is_fixed() || !lc.stride.is_fixed() || sizes.f == Dim(1)) return call_product(op, sizes);

  const bool view = ir::is_row_view(context_.graph, anchor.inputs[0]);
  const ProductPlan plan = plan_product(op, sizes, lc.stride.factor(), context_.unit);
  context_.notes.push_back(str("kernel ", kernel_.group, ": ", to_text(plan, sizes)));
  const ValueId a = view ? no_value : value_of(anchor.inputs[0]), b = value_of(anchor.inputs[1]);
  // Row of the left operand as it lies in memory, at a column.
  const auto a_at = [&](Value* row, Value* column) { return view ? picked_row(anchor.inputs[0], row, column) : address(a, row, column); };
  Value *begin = rows_begin(kernel_.shape), *end = rows_end(kernel_.shape), *k_end = extent(sizes.k);
  const std::int64_t ldb = lb.stride.factor();
  llvm::AllocaInst* copy = nullptr;
  if (plan.copy_rows) {
    const std::int64_t most_k = plan.k_block ? plan.k_block : sizes.k.factor();
    copy = variable(llvm::ArrayType::get(builder_.getFloatTy(), static_cast<std::uint64_t>(most_k * plan.widest())), "panel", 64);
  }

  // Picked rows of a transposed operand: where the rows of a pass begin.
  llvm::AllocaInst* list = nullptr;
  if (view && op.transpose_a)
    list =
        variable(llvm::ArrayType::get(builder_.getPtrTy(), static_cast<std::uint64_t>(plan.k_block ? plan.k_block : sizes.k.factor())), "rows", 64);

  const auto fetch = [&](Value* where) {
    builder_.CreateIntrinsic(llvm::Intrinsic::prefetch, {builder_.getPtrTy()},
                             {where, builder_.getInt32(0), builder_.getInt32(2), builder_.getInt32(1)});
  };
  const auto tiles_of = [&](const Panels& panels, Value* column, Value* k, Value* k_stop, Value* rows_b, Value* stride_b) {
    llvm::Function* tile = tile_function({.widths = panels.widths,
                                          .rows = panels.rows,
                                          .ldc = lc.stride.factor(),
                                          .walk = !op.transpose_a ? Tile::Walk::rows
                                                  : view          ? Tile::Walk::list
                                                                  : Tile::Walk::columns,
                                          .lda = la.stride.factor(),
                                          .accumulate = plan.k_block != 0});
    Value* last = builder_.CreateSub(end, constant(1));
    loop(begin, end, panels.rows, [&](Value* row) {
      std::vector<Value*> arguments{address(kernel_.product, row, column), rows_b, stride_b, builder_.CreateSub(k_stop, k), k};
      if (list) arguments.insert(arguments.end(), {list, row});
      else if (op.transpose_a) arguments.push_back(address(a, k, row));
      // Rows past the last are computed from the last and written to where nobody reads.
      for (unsigned i = 0; i < panels.rows && !op.transpose_a; ++i)
        arguments.push_back(
            a_at(builder_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, builder_.CreateAdd(row, constant(i), "", true, true), last), k));
      // Where the next tile's picked rows begin; the processor sees the pattern from there on.
      const std::int64_t lines = std::min<std::int64_t>(8, (la.stride.factor() + 15) / 16);
      for (unsigned i = 0; i < panels.rows && view && !op.transpose_a; ++i) {
        Value* later = builder_.CreateAdd(row, constant(panels.rows + i), "", true, true);
        Value* piece = a_at(builder_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, later, last), k);
        for (std::int64_t line = 0; line < lines; ++line)
          fetch(builder_.CreateConstInBoundsGEP1_64(builder_.getFloatTy(), piece, static_cast<std::uint64_t>(16 * line)));
      }
      builder_.CreateCall(tile, arguments);
      if (plan.one_pass()) {
        Value* stop = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, builder_.CreateAdd(row, constant(panels.rows)), end);
        for_each_site(kernel_.shape, row, stop, false, [&](const Site& site) {
          Memo memo;
          store_results(kernel_.shape, site, memo);
        });
      }
    });
  };
  const auto panel_of = [&](const Panels& panels, Value* column, Value* k, Value* k_stop) {
    Value* in_place = op.transpose_b ? address(b, column, k) : address(b, k, column);
    if (!plan.copy_rows) return tiles_of(panels, column, k, k_stop, in_place, constant(ldb));
    const auto copy_block = [&] { copy_panel(panels, in_place, ldb, op.transpose_b, builder_.CreateSub(k_stop, k), sizes.f.factor(), column, copy); };
    if (plan.copy_rows == 1) {
      copy_block();
      return tiles_of(panels, column, k, k_stop, copy, constant(panels.columns));
    }
    Value* pays = builder_.CreateICmpSGE(builder_.CreateSub(end, begin), constant(plan.copy_rows));
    when(pays, [&](Value*) { copy_block(); });
    tiles_of(panels, column, k, k_stop, builder_.CreateSelect(pays, copy, in_place),
             builder_.CreateSelect(pays, constant(panels.columns), constant(ldb)));
  };
  // The rows of the next pass over a batch come from far away, in pieces too short for the processor to see a pattern.
  const auto fetch_ahead = [&](Value* k_stop) {
    Value* stop = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, builder_.CreateAdd(k_stop, constant(plan.k_block)), k_end);
    loop(k_stop, stop, 1, [&](Value* i) {
      Value* piece = a_at(i, begin);
      loop(constant(0), builder_.CreateSub(end, begin), 16,
           [&](Value* column) { fetch(builder_.CreateInBoundsGEP(builder_.getFloatTy(), piece, {column})); });
    });
  };
  const auto pass = [&](Value* k, Value* k_stop) {
    if (op.transpose_a && plan.k_block) fetch_ahead(k_stop);
    if (list)
      loop(k, k_stop, 1, [&](Value* i) {
        builder_.CreateStore(a_at(i, constant(0)), builder_.CreateInBoundsGEP(builder_.getPtrTy(), list, {builder_.CreateSub(i, k)}));
      });
    for (const Panels& panels : plan.panels)
      if (panels.count == 1) panel_of(panels, constant(panels.column), k, k_stop);
      else
        loop(constant(0), constant(panels.count * panels.columns), panels.columns,
             [&](Value* from) { panel_of(panels, builder_.CreateAdd(from, constant(panels.column)), k, k_stop); });
  };
  if (plan.k_block == 0) pass(constant(0), k_end);
  else
    loop(constant(0), k_end, plan.k_block,
         [&](Value* k) { pass(k, builder_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, builder_.CreateAdd(k, constant(plan.k_block)), k_end)); });
  if (!plan.one_pass()) emit_pointwise();
}

/// Address of a row that is picked from a leaf by an index.
Value* KernelEmitter::picked_row(ir::NodeId gather, Value* row, Value* column) {
  const ir::Node& node = context_.graph.node(gather);
  const ValueId table = value_of(node.inputs[0]), index = value_of(node.inputs[1]);
  return address(table, checked_index(gather, index, row, table_rows(table)).value, column);
}

/// Rows of the block of b of one panel, one after the other.
void KernelEmitter::copy_panel(const Panels& panels, Value* from, std::int64_t ldb, bool transpose, Value* k_count, std::int64_t f, Value* column,
                               Value* to) {
  llvm::Type* type = builder_.getFloatTy();
  const auto at = [&](Value* base, Value* row, std::int64_t stride, Value* offset) {
    return builder_.CreateInBoundsGEP(type, base, {builder_.CreateAdd(builder_.CreateMul(row, constant(stride)), offset)});
  };
  if (transpose) {
    // Columns past the last (pads) are left as they are: no result depends on them.
    Value* columns = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, constant(panels.columns), builder_.CreateSub(constant(f), column));
    loop(constant(0), columns, 1, [&](Value* j) {
      loop(constant(0), k_count, 1,
           [&](Value* k) { builder_.CreateStore(builder_.CreateLoad(type, at(from, j, ldb, k)), at(to, k, panels.columns, j)); });
    });
    return;
  }
  loop(constant(0), k_count, 1, [&](Value* k) {
    std::int64_t j = 0;
    for (const unsigned width : panels.widths) {
      Value* x = builder_.CreateAlignedLoad(memory_type(DType::f32, width), at(from, k, ldb, constant(j)), llvm::Align(4));
      builder_.CreateAlignedStore(x, at(to, k, panels.columns, constant(j)), llvm::Align(4));
      j += width;
    }
  });
}

llvm::Function* KernelEmitter::tile_function(const Tile& tile) {
  std::string name = str("tile_", tile.rows, "x");
  for (const unsigned width : tile.widths) name += str(width, "_");
  name += str("c", tile.ldc, tile.accumulate ? "_more" : "");
  if (tile.walk == Tile::Walk::columns) name += str("_a", tile.lda);
  if (tile.walk == Tile::Walk::list) name += "_list";
  if (llvm::Function* made = context_.module.getFunction(name)) return made;

  llvm::LLVMContext& llvm = context_.module.getContext();
  Builder build(llvm);
  llvm::Type *type = build.getFloatTy(), *pointer = build.getPtrTy();
  std::vector<llvm::Type*> types{pointer, pointer, build.getInt64Ty(), build.getInt64Ty(), build.getInt64Ty()};
  types.insert(types.end(), tile.walk == Tile::Walk::rows ? tile.rows : 1, pointer);
  if (tile.walk == Tile::Walk::list) types.push_back(build.getInt64Ty());
  auto* function =
      llvm::Function::Create(llvm::FunctionType::get(build.getVoidTy(), types, false), llvm::Function::LinkOnceODRLinkage, name, context_.module);
  if (!context_.named) function->setVisibility(llvm::GlobalValue::HiddenVisibility);
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

void KernelEmitter::emit_scatter() {
  const ir::Node& anchor = context_.graph.node(kernel_.anchor);
  const auto& op = std::get<ir::ScatterAddRows>(anchor.op);
  const ValueId index = value_of(anchor.inputs[0]), updates = value_of(anchor.inputs[1]);
  const Shape& index_shape = type_of(anchor.inputs[0]).shape;
  const SymbolicLayout out = symbolic_layout(anchor.type.shape);
  const std::int64_t all = out.rows.factor() * out.stride.factor();
  loop(constant(0), constant(all), 1, [&](Value* i) {
    builder_.CreateStore(llvm::ConstantFP::get(builder_.getFloatTy(), 0),
                         builder_.CreateInBoundsGEP(builder_.getFloatTy(), pointer(kernel_.product), {i}));
  });
  std::int64_t inner = 1;
  for (std::size_t i = 1; i < anchor.type.shape.rank(); ++i) inner *= anchor.type.shape[i].factor();
  loop(constant(0), extent(index_shape.elements()), 1, [&](Value* e) {
    const Vec row = checked_index(kernel_.anchor, index, e, constant(op.rows));
    loop(constant(0), constant(inner), 1, [&](Value* j) {
      Value* to = element_address(kernel_.product, builder_.CreateAdd(builder_.CreateMul(row.value, constant(inner)), j));
      const Vec x = load(element_address(updates, builder_.CreateAdd(builder_.CreateMul(e, constant(inner)), j)), DType::f32, 1, false);
      builder_.CreateStore((load(to, DType::f32, 1, false) + x).value, to);
    });
  });
  const Shape& shape = kernel_.shape;
  for_each_site(shape, constant(0), extent(out.rows), needs_scalars(shape), [&](const Site& site) {
    Memo memo;
    store_results(shape, site, memo);
  });
}

}  // namespace sinter::codegen
