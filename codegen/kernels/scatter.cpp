// Scatter-add collects its sums in memory, then runs its epilogue over all rows.
#include "codegen/emit/kernel_emitter.h"

namespace sinter::codegen {

using llvm::Value;

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
