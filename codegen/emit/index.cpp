#include "codegen/emit/index.h"

#include <cstddef>

#include "ir/kernel.h"
#include "ir/step.h"

namespace sinter::codegen {

using llvm::Value;

Site site_of_element(Emitter& e, const Shape& shape, Value* element) {
  const SymbolicLayout at = symbolic_layout(shape);
  if (is_flat(shape) || at.rows == Dim(1)) return {e.number(0), element};
  Value* cols = e.extent(at.cols);
  return {e.builder().CreateUDiv(element, cols), e.builder().CreateURem(element, cols)};
}

Value* element_at(Emitter& e, const Shape& shape, const Site& site) {
  const SymbolicLayout at = symbolic_layout(shape);
  if (is_flat(shape) || at.rows == Dim(1)) return site.last;
  return e.builder().CreateAdd(e.builder().CreateMul(site.row, e.extent(at.cols)), site.last);
}

Vec element_of(Emitter& e, ir::NodeId id, Value* element) {
  if (e.recomputable(id)) return e.evaluate_scalar(id);
  return e.load(e.element_address(e.value_of(id), element), e.type_of(id).dtype, 1);
}

Value* table_rows(Emitter& e, ValueId table) {
  const Dim rows = e.stored(table).type.shape[0];
  if (!rows.is_rows()) return e.extent(rows);
  Builder& b = e.builder();
  Value* list = e.field(offsetof(StepContext, table_rows), b.getPtrTy());
  return b.CreateLoad(b.getInt64Ty(), b.CreateConstInBoundsGEP1_64(b.getInt64Ty(), list, e.stored(table).index));
}

Value* index_value(Emitter& e, const Vec& index) {
  Builder& b = e.builder();
  return index.dtype == DType::i32 ? b.CreateSExt(index.value, b.getInt64Ty()) : b.CreateZExt(index.value, b.getInt64Ty());
}

Value* checked_index(Emitter& e, ir::NodeId node, const Vec& index, Value* size) {
  Value* wide = index_value(e, index);
  Value* bad = e.builder().CreateICmpUGE(wide, size);
  e.when(bad, [&] { e.fault(node); });
  return e.builder().CreateSelect(bad, e.number(0), wide);
}

}  // namespace sinter::codegen
