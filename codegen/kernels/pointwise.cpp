// Pointwise kernels, and the ops whose elements are addressed one by one: reshape, transpose, gather, one-hot.
#include "codegen/emit/kernel_emitter.h"
#include "codegen/support.h"
#include "ir/kernel.h"
#include "ir/step.h"

namespace sinter::codegen {

using llvm::Value;

bool KernelEmitter::has_vectors(ir::NodeId id) const {
  const ir::Node& anchor = context_.graph.node(id);
  const auto shape = [&](std::size_t i) -> const Shape& { return type_of(anchor.inputs[i]).shape; };
  const auto is_single_column = [](const Shape& of) { return symbolic_layout(of).cols == Dim(1); };
  return std::visit(
      [&]<class O>(const O&) -> bool {
        if constexpr (std::is_same_v<O, ir::Reshape>)
          return shape(0).rank() && anchor.type.shape.rank() && shape(0).back() == anchor.type.shape.back() && shape(0).rank() > 1 &&
                 anchor.type.shape.rank() > 1;
        else if constexpr (std::is_same_v<O, ir::GatherRows>) return shape(0).rank() > 1 && shape(0).back() != Dim(1);
        else if constexpr (std::is_same_v<O, ir::OneHot> || ir::IsPool<O> || ir::IsUnpool<O>) return anchor.type.shape.back() != Dim(1);
        else if constexpr (ir::IsWindow<O>) {
          for (std::size_t i = 0; i < anchor.inputs.size(); ++i)
            if (is_single_column(shape(i))) return false;
          return !is_single_column(anchor.type.shape);
        } else return !std::is_same_v<O, ir::Transpose> && !std::is_same_v<O, ir::TakeAlong> && !std::is_same_v<O, ir::ScatterAddAlong>;
      },
      anchor.op);
}

void KernelEmitter::emit_pointwise() {
  const Shape& shape = kernel_.shape;
  const bool scalar = needs_scalars(shape) || (kernel_.anchor != ir::no_node && !has_vectors(kernel_.anchor));
  for_each_site(shape, rows_begin(shape), rows_end(shape), scalar, [&](const Site& site) {
    Memo memo;
    store_results(shape, site, memo);
  });
  if (scalar && !is_flat(shape)) loop(rows_begin(shape), rows_end(shape), 1, [&](Value* row) { zero_pads(shape, row); });
}

void KernelEmitter::emit_copy() {
  const Shape& shape = kernel_.shape;
  for_each_site(shape, rows_begin(shape), rows_end(shape), false, [&](const Site& site) {
    const ValueId from = kernel_.reads.front().value;
    store(load(address(from, site.row, site.last), context_.schedule.values[from].type.dtype, site.width, false), kernel_.writes.front().value, site);
  });
}

/// Reports to the launcher that this node met an index out of range.
void KernelEmitter::report_fault(ir::NodeId node) {
  Value* fault = builder_.CreateConstInBoundsGEP1_64(builder_.getInt8Ty(), ctx_, offsetof(StepContext, fault));
  builder_.CreateAtomicRMW(llvm::AtomicRMWInst::Xchg, fault, builder_.getInt32(node + 1), llvm::Align(4), llvm::AtomicOrdering::Monotonic);
}

/// An element of an operand by its row-major number. A scalar that every kernel computes for itself is stored nowhere.
Vec KernelEmitter::element_of(ir::NodeId id, Value* element) {
  if (ir::is_recomputable(context_.graph, id)) return evaluate_scalar(id);
  return load(element_address(value_of(id), element), type_of(id).dtype, 1, false);
}

/// An index as a signed number of 64 bits.
Value* KernelEmitter::index_value(const Vec& index) {
  return index.dtype == DType::i32 ? builder_.CreateSExt(index.value, builder_.getInt64Ty())
                                   : builder_.CreateZExt(index.value, builder_.getInt64Ty());
}

Vec KernelEmitter::checked_index(ir::NodeId node, ir::NodeId index, Value* element, Value* rows) {
  Value* wide = index_value(element_of(index, element));
  Value* bad = builder_.CreateICmpUGE(wide, rows);
  when(bad, [&](Value*) { report_fault(node); });
  return {builder_.CreateSelect(bad, constant(0), wide), DType::i32};
}

/// The number of rows of a table.
Value* KernelEmitter::table_rows(ValueId table) {
  const Dim rows = context_.schedule.values[table].type.shape[0];
  if (!rows.is_rows()) return extent(rows);
  Value* list =
      builder_.CreateLoad(builder_.getPtrTy(), builder_.CreateConstInBoundsGEP1_64(builder_.getInt8Ty(), ctx_, offsetof(StepContext, table_rows)));
  return builder_.CreateLoad(builder_.getInt64Ty(),
                             builder_.CreateConstInBoundsGEP1_64(builder_.getInt64Ty(), list, context_.schedule.values[table].index));
}

/// The elements of slice, pad or concat at a site; `element` is the row-major number of the first.
Vec KernelEmitter::load_window(const ir::Window& window, const ir::Node& node, const Site& site, Value* element) {
  const Shape& shape = node.type.shape;
  const std::size_t rank = shape.rank();
  const auto constant_vector = [&](double value) -> Vec {
    const Vec like(llvm::Constant::getNullValue(node.type.dtype == DType::boolean ? builder_.getInt1Ty() : memory_type(node.type.dtype, 1)),
                   node.type.dtype);
    return splat(Vec(materialize(Vec(value), like), node.type.dtype), site.width);
  };
  Vec result = constant_vector(window.fill);
  for (std::size_t k = 0; k < node.inputs.size(); ++k) {
    const ValueId x = value_of(node.inputs[k]);
    const Shape& own = context_.schedule.values[x].type.shape;
    Value *offset = extent(window.offsets[k]), *size = extent(own[window.axis]);
    if (site.width > 1 && window.axis + 1 == rank) {  // lanes of the row that the operand covers
      Value* first = builder_.CreateSub(site.last, offset);
      Value* inside = builder_.CreateICmpULT(lane_numbers(first, site.width), builder_.CreateVectorSplat(site.width, size));
      Value* row = builder_.CreateMul(site.row, extent(symbolic_layout(own).stride));
      Value* from = builder_.CreateGEP(memory_type(node.type.dtype, 1), pointer(x), {builder_.CreateAdd(row, first)});  // may lie outside
      llvm::Type* type = memory_type(node.type.dtype, site.width);
      Value* raw = builder_.CreateMaskedLoad(type, from, llvm::Align(size_of(node.type.dtype)), inside, llvm::Constant::getNullValue(type));
      if (node.type.dtype == DType::boolean) raw = builder_.CreateICmpNE(raw, llvm::Constant::getNullValue(type));
      result = select(VecMask{inside}, Vec(raw, node.type.dtype), result);
      continue;
    }
    // One element, or a part of a row that is covered as a whole or not at all.
    const bool rows = site.width > 1;
    Value* number = rows ? site.row : element;
    Value* inner = extent(shape.product(window.axis + 1, rows ? rank - 1 : rank));
    Value* along = extent(shape[window.axis]);
    Value* at = builder_.CreateSub(builder_.CreateURem(builder_.CreateUDiv(number, inner), along), offset);
    Value* outer = builder_.CreateUDiv(number, builder_.CreateMul(inner, along));
    Value* inside = builder_.CreateICmpULT(at, size);
    at = builder_.CreateSelect(inside, at, constant(0));
    Value* source =
        builder_.CreateAdd(builder_.CreateMul(builder_.CreateAdd(builder_.CreateMul(outer, size), at), inner), builder_.CreateURem(number, inner));
    const Vec there = load(rows ? address(x, source, site.last) : element_address(x, source), node.type.dtype, site.width, false);
    result = select(VecMask{inside}, there, result);
  }
  return result;
}

/// An anchor whose elements can be addressed one by one, at a site of its own shape.
Vec KernelEmitter::virtual_anchor(ir::NodeId id, const Site& site) {
  const ir::Node& node = context_.graph.node(id);
  const Shape& shape = node.type.shape;
  const SymbolicLayout at = symbolic_layout(shape);
  /// Row-major number of the site's first element.
  const auto element = [&]() -> Value* {
    return is_flat(shape) || at.rows == Dim(1) ? site.last : builder_.CreateAdd(builder_.CreateMul(site.row, extent(at.cols)), site.last);
  };
  return std::visit(
      [&]<class O>(const O& op) -> Vec {
        if constexpr (std::is_same_v<O, ir::Reshape>) {
          if (site.width == 1) return element_of(node.inputs[0], element());
          return load(address(value_of(node.inputs[0]), is_flat(shape) ? constant(0) : site.row, site.last), node.type.dtype, site.width, false);
        } else if constexpr (std::is_same_v<O, ir::Transpose>) {
          const ValueId x = value_of(node.inputs[0]);
          Value* rows = extent(shape[shape.rank() - 2]);
          Value* e = element();
          Value* cols = extent(shape.back());
          Value* matrix = builder_.CreateMul(builder_.CreateUDiv(e, builder_.CreateMul(rows, cols)), builder_.CreateMul(rows, cols));
          Value* r = builder_.CreateURem(builder_.CreateUDiv(e, cols), rows);
          Value* c = builder_.CreateURem(e, cols);
          return load(element_address(x, builder_.CreateAdd(matrix, builder_.CreateAdd(builder_.CreateMul(c, rows), r))), node.type.dtype, 1, false);
        } else if constexpr (std::is_same_v<O, ir::OneHot>) {
          Value* e = element();
          Value* first = constant(0);
          if (!(is_flat(shape) || at.rows == Dim(1))) e = site.row;
          else if (shape.rank() > 1 && is_flat(shape)) e = site.last;
          else if (at.rows == Dim(1)) e = constant(0);
          if (!is_flat(shape)) first = site.last;
          const Vec hot = checked_index(id, node.inputs[0], e, constant(op.depth));
          Value* same =
              builder_.CreateICmpEQ(lane_numbers(first, site.width), site.width == 1 ? hot.value : builder_.CreateVectorSplat(site.width, hot.value));
          return {builder_.CreateUIToFP(same, memory_type(DType::f32, site.width)), DType::f32};
        } else if constexpr (std::is_same_v<O, ir::GatherRows>) {
          const ValueId table = value_of(node.inputs[0]);
          const Shape& rows = type_of(node.inputs[0]).shape;
          Value *e = element(), *inner = extent(rows.product(1, rows.rank()));  // elements of a table row
          const Vec row = checked_index(id, node.inputs[1], builder_.CreateUDiv(e, inner), table_rows(table));
          Value* from = builder_.CreateAdd(builder_.CreateMul(row.value, inner), builder_.CreateURem(e, inner));
          return load(element_address(table, from), node.type.dtype, site.width, false);
        } else if constexpr (std::is_same_v<O, ir::TakeAlong>) {
          const ValueId x = value_of(node.inputs[0]);
          Value *cols = constant(type_of(node.inputs[0]).shape.back().factor()), *e = element();
          const Vec at = checked_index(id, node.inputs[1], e, cols);
          Value* row = builder_.CreateUDiv(e, constant(shape.back().factor()));
          return load(element_address(x, builder_.CreateAdd(builder_.CreateMul(row, cols), at.value)), node.type.dtype, 1, false);
        } else if constexpr (std::is_same_v<O, ir::ScatterAddAlong>) {
          const ValueId updates = value_of(node.inputs[1]);
          const std::int64_t count = type_of(node.inputs[0]).shape.back().factor();
          Value *e = element(), *cols = constant(op.cols);
          Value *row = builder_.CreateUDiv(e, cols), *column = builder_.CreateURem(e, cols);
          llvm::AllocaInst* total = variable(builder_.getFloatTy(), "total");
          builder_.CreateStore(llvm::ConstantFP::get(builder_.getFloatTy(), 0), total);
          loop(constant(0), constant(count), 1, [&](Value* j) {
            Value* from = builder_.CreateAdd(builder_.CreateMul(row, constant(count)), j);
            const Vec at = checked_index(id, node.inputs[0], from, cols), x = load(element_address(updates, from), DType::f32, 1, false);
            const Vec sum(builder_.CreateLoad(builder_.getFloatTy(), total), DType::f32);
            builder_.CreateStore(builder_.CreateSelect(builder_.CreateICmpEQ(at.value, column), (sum + x).value, sum.value), total);
          });
          return {builder_.CreateLoad(builder_.getFloatTy(), total), DType::f32};
        } else if constexpr (ir::IsWindow<O>) {
          std::vector<Type> types;
          for (const ir::NodeId input : node.inputs) types.push_back(type_of(input));
          return load_window(op.window(types), node, site, element());
        } else if constexpr (ir::IsPool<O>) {
          return load_pool(id, site);
        } else if constexpr (ir::IsUnpool<O>) {
          return load_unpool(id, site);
        } else if constexpr (kernel_kind<O>() == KernelKind::product || kernel_kind<O>() == KernelKind::collected ||
                             kernel_kind<O>() == KernelKind::convolution) {
          Vec x = load(address(kernel_.product, site.row, site.last), node.type.dtype, site.width, false);
          if constexpr (std::is_same_v<O, ir::Dense>) x = x + load_operand(value_of(node.inputs[2]), shape, site);
          return x;
        } else {
          throw InternalError("codegen", str(ir::name(node.op), " has no elements of its own"));
        }
      },
      node.op);
}

}  // namespace sinter::codegen
