// Kernels whose result is collected in memory before the epilogue runs over it: scatter-add, cumulative sum, top-k, products of many matrices.
#include "codegen/emit/kernel_emitter.h"

namespace sinter::codegen {

using llvm::Value;

void KernelEmitter::emit_collected() {
  const Shape& shape = kernel_.shape;
  std::visit(
      [&]<class O>(const O& op) {
        if constexpr (requires { collect(op); }) collect(op);
        else throw InternalError("codegen", str(O::name, " is not collected"));
      },
      context_.graph.node(kernel_.anchor).op);
  // A kernel of one chunk has all rows in it.
  const bool whole = kernel_.domain.units == Dim(1);
  const Dim rows = symbolic_layout(shape).rows;
  for_each_site(shape, whole ? constant(0) : rows_begin(shape), whole ? extent(rows) : rows_end(shape), needs_scalars(shape), [&](const Site& site) {
    Memo memo;
    store_results(shape, site, memo);
  });
}

void KernelEmitter::collect(const ir::ScatterAddRows& op) {
  const ir::Node& anchor = context_.graph.node(kernel_.anchor);
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
}

/// Each element is the one before it along the axis plus the operand's.
void KernelEmitter::collect(const ir::Cumsum& op) {
  const ValueId x = value_of(context_.graph.node(kernel_.anchor).inputs[0]);
  const Shape& shape = kernel_.shape;
  const auto axis = static_cast<std::size_t>(op.axis);
  const bool whole = kernel_.domain.units == Dim(1);
  Value *along = extent(shape[axis]), *inner = extent(shape.product(axis + 1, shape.rank()));
  // Places along the leading axes: all, or those of the chunk's samples.
  const std::int64_t per_sample = axis == 0 ? 1 : shape.product(0, axis).factor();
  Value *first = whole ? constant(0) : builder_.CreateMul(begin_, constant(per_sample)),
        *last = whole ? extent(shape.product(0, axis)) : builder_.CreateMul(end_, constant(per_sample));
  loop(first, last, 1, [&](Value* outer) {
    loop(constant(0), along, 1, [&](Value* k) {
      Value* place = op.reverse ? builder_.CreateSub(builder_.CreateSub(along, constant(1)), k) : k;
      Value* row = builder_.CreateMul(builder_.CreateAdd(builder_.CreateMul(outer, along), place), inner);
      loop(constant(0), inner, 1, [&](Value* i) {
        Value *element = builder_.CreateAdd(row, i),
              *neighbour = op.reverse ? builder_.CreateAdd(element, inner) : builder_.CreateSub(element, inner);
        Value* start = builder_.CreateICmpEQ(k, constant(0));
        const Vec own = load(element_address(x, element), DType::f32, 1, false),
                  before = load(element_address(kernel_.product, builder_.CreateSelect(start, element, neighbour)), DType::f32, 1, false);
        builder_.CreateStore(builder_.CreateSelect(start, own.value, (before + own).value), element_address(kernel_.product, element));
      });
    });
  });
}

/// Element j of a row of the result is the best of those that come after element j - 1.
void KernelEmitter::collect(const ir::TopK& op) {
  const ValueId x = value_of(context_.graph.node(kernel_.anchor).inputs[0]);
  const std::int64_t cols = context_.schedule.values[x].type.shape.back().factor();
  const Shape& shape = kernel_.shape;
  const bool whole = kernel_.domain.units == Dim(1);
  const std::int64_t per_sample = shape.rank() > 1 ? shape.product(0, shape.rank() - 1).factor() : 1;
  llvm::AllocaInst* best = variable(builder_.getInt64Ty(), "best");
  const auto element = [&](Value* row, Value* i) {
    return load(element_address(x, builder_.CreateAdd(builder_.CreateMul(row, constant(cols)), i)), DType::f32, 1, false).value;
  };
  // Whether element a of a row comes before b: NaN, then greater, then first.
  const auto before = [&](Value* row, Value* a, Value* b) {
    Value *p = element(row, a), *q = element(row, b);
    Value *nan_p = builder_.CreateFCmpUNO(p, p), *nan_q = builder_.CreateFCmpUNO(q, q), *first = builder_.CreateICmpSLT(a, b);
    Value* greater = builder_.CreateOr(builder_.CreateFCmpOGT(p, q), builder_.CreateAnd(builder_.CreateFCmpOEQ(p, q), first));
    return builder_.CreateSelect(nan_p, builder_.CreateOr(builder_.CreateNot(nan_q), first), builder_.CreateAnd(builder_.CreateNot(nan_q), greater));
  };
  Value *first = whole ? constant(0) : builder_.CreateMul(begin_, constant(per_sample)),
        *last = whole ? extent(shape.product(0, shape.rank() - 1)) : builder_.CreateMul(end_, constant(per_sample));
  loop(first, last, 1, [&](Value* row) {
    const auto place = [&](Value* j) { return element_address(kernel_.product, builder_.CreateAdd(builder_.CreateMul(row, constant(op.k)), j)); };
    loop(constant(0), constant(op.k), 1, [&](Value* j) {
      Value* none = builder_.CreateICmpEQ(j, constant(0));
      Value* previous =
          builder_.CreateSExt(builder_.CreateLoad(builder_.getInt32Ty(), place(builder_.CreateSelect(none, j, builder_.CreateSub(j, constant(1))))),
                              builder_.getInt64Ty());
      previous = builder_.CreateSelect(none, constant(0), previous);
      builder_.CreateStore(constant(-1), best);
      loop(constant(0), constant(cols), 1, [&](Value* i) {
        Value* present = builder_.CreateLoad(builder_.getInt64Ty(), best);
        Value* empty = builder_.CreateICmpSLT(present, constant(0));
        Value* free = builder_.CreateOr(none, before(row, previous, i));
        Value* better = builder_.CreateOr(empty, before(row, i, builder_.CreateSelect(empty, i, present)));
        builder_.CreateStore(builder_.CreateSelect(builder_.CreateAnd(free, better), i, present), best);
      });
      builder_.CreateStore(builder_.CreateTrunc(builder_.CreateLoad(builder_.getInt64Ty(), best), builder_.getInt32Ty()), place(j));
    });
  });
}

void KernelEmitter::collect(const ir::BatchMatmul& op) {
  const ir::Node& anchor = context_.graph.node(kernel_.anchor);
  const ValueId a = value_of(anchor.inputs[0]), b = value_of(anchor.inputs[1]);
  const Shape &left = type_of(anchor.inputs[0]).shape, &right = type_of(anchor.inputs[1]).shape, &shape = kernel_.shape;
  const std::size_t rank = shape.rank();
  const ir::ProductExtents sizes{shape[rank - 2], left[rank - (op.transpose_a ? 2 : 1)], shape[rank - 1]};
  const bool whole = kernel_.domain.units == Dim(1);
  const std::int64_t per_sample = shape.product(0, rank - 2).factor();
  Value *first = whole ? constant(0) : builder_.CreateMul(begin_, constant(per_sample)),
        *last = whole ? extent(shape.product(0, rank - 2)) : builder_.CreateMul(end_, constant(per_sample));
  const auto matrix = [&](ValueId value, const Shape& of, Value* i) {
    Value* row = builder_.CreateMul(i, constant(of[rank - 2].factor()));
    return is_flat(of) ? address(value, constant(0), row) : address(value, row, constant(0));
  };
  loop(first, last, 1, [&](Value* i) {
    run_gemm(matrix(a, left, i), matrix(b, right, i), matrix(kernel_.product, shape, i), extent(sizes.m), sizes, symbolic_layout(left).stride,
             symbolic_layout(right).stride, symbolic_layout(shape).stride, op.transpose_a, op.transpose_b);
  });
}

}  // namespace sinter::codegen
