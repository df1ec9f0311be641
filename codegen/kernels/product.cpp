// Products: one call of the launcher's single-threaded GEMM a chunk, then the epilogue over the chunk's rows. Scatter-add works alike.
#include <cstddef>

#include "codegen/emit/kernel_emitter.h"
#include "ir/step.h"

namespace sinter::codegen {

using llvm::Value;

void KernelEmitter::emit_product() {
  const ir::Node& anchor = context_.graph.node(kernel_.anchor);
  ir::Matmul op;
  if (const auto* matmul = std::get_if<ir::Matmul>(&anchor.op)) op = *matmul;
  const ValueId a = value_of(anchor.inputs[0]), b = value_of(anchor.inputs[1]);
  const SymbolicLayout la = symbolic_layout(type_of(anchor.inputs[0]).shape), lb = symbolic_layout(type_of(anchor.inputs[1]).shape),
                       lc = symbolic_layout(kernel_.shape);
  const ir::ProductExtents sizes = ir::product_extents(op, type_of(anchor.inputs[0]).shape, type_of(anchor.inputs[1]).shape);
  Value *begin = rows_begin(kernel_.shape), *end = rows_end(kernel_.shape);
  Value* rows = builder_.CreateSub(end, begin);

  // Matrices of one column are flat in memory, with a stride of 1: their addresses count rows in `last`.
  const auto at = [&](ValueId value, Value* row, Value* column) {
    return is_flat(context_.schedule.values[value].type.shape) ? address(value, constant(0), builder_.CreateAdd(row, column))
                                                               : address(value, row, column);
  };
  Value* call = variable(llvm::ArrayType::get(builder_.getInt8Ty(), sizeof(GemmCall)), "call");
  llvm::cast<llvm::AllocaInst>(call)->setAlignment(llvm::Align(8));
  const auto set = [&](std::size_t offset, Value* value) {
    builder_.CreateStore(value, builder_.CreateConstInBoundsGEP1_64(builder_.getInt8Ty(), call, offset));
  };
  set(offsetof(GemmCall, a), op.transpose_a ? at(a, constant(0), begin) : at(a, begin, constant(0)));
  set(offsetof(GemmCall, b), at(b, constant(0), constant(0)));
  set(offsetof(GemmCall, c), at(kernel_.product, begin, constant(0)));
  set(offsetof(GemmCall, m), rows);
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
