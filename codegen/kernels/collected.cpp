// Kernels whose result is collected in memory before the epilogue runs over it: scatter-add, cumulative sum, top-k, products of many matrices.
#include <llvm/IR/Intrinsics.h>

#include "codegen/emit/kernel_emitter.h"
#include "ir/kernel.h"

namespace sinter::codegen {

using llvm::Value;

void KernelEmitter::emit_collected() {
  std::visit(
      [&]<class O>(const O& op) {
        if constexpr (requires { collect(op); }) collect(op);
        else throw InternalError("codegen", str(O::name, " is not collected"));
      },
      context_.graph.node(kernel_.anchor).op);
  const auto [first, last] = all_rows();
  emit_epilogue(first, last);
}

/// The rows of the result that the chunk has: a kernel of one chunk has all.
std::pair<Value*, Value*> KernelEmitter::all_rows() {
  if (kernel_.domain.units == Dim(1)) return {constant(0), extent(symbolic_layout(kernel_.shape).rows)};
  return {rows_begin(kernel_.shape), rows_end(kernel_.shape)};
}

/// The epilogue, for rows [first, last).
void KernelEmitter::emit_epilogue(Value* first, Value* last) {
  const Shape& shape = kernel_.shape;
  const bool scalar = needs_scalars(shape);
  for_each_site(shape, first, last, scalar, [&](const Site& site) {
    Memo memo;
    store_results(shape, site, memo);
  });
  if (scalar && !is_flat(shape)) loop(first, last, 1, [&](Value* row) { zero_pads(shape, row); });
}

/// The same for columns [first, last) of a row; whole vectors from `first`, up to the last column or to a multiple of them.
void KernelEmitter::emit_epilogue_of_row(Value* row, Value* first, Value* last) {
  const Shape& shape = kernel_.shape;
  const SymbolicLayout at = symbolic_layout(shape);
  const std::int64_t columns = at.cols.factor(), whole = columns / lanes * lanes;
  const bool scalar = needs_scalars(shape);
  const auto site = [&](Value* column, unsigned width, unsigned valid) {
    Memo memo;
    store_results(shape, {row, column, width, valid}, memo);
  };
  const auto least = [&](std::int64_t most) { return builder_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, last, constant(most)); };
  if (scalar) loop(first, least(columns), 1, [&](Value* column) { site(column, 1, 1); });
  else loop(first, least(whole), lanes, [&](Value* column) { site(column, lanes, lanes); });
  if (columns == whole && columns == at.stride.factor()) return;
  when(builder_.CreateICmpSGE(last, constant(columns)), [&](Value*) {
    if (scalar) zero_pads(shape, row);
    else if (whole < columns)
      site(constant(whole), static_cast<unsigned>(std::min<std::int64_t>(lanes, at.stride.factor() - whole)), static_cast<unsigned>(columns - whole));
  });
}

/// Zeros, to which each row of the updates is added in order. A chunk looks through all indices for those of its own rows.
void KernelEmitter::collect(const ir::ScatterAddRows& op) {
  const ir::Node& anchor = context_.graph.node(kernel_.anchor);
  const Shape &table = anchor.type.shape, &updates = type_of(anchor.inputs[1]).shape;
  const SymbolicLayout out = symbolic_layout(table);
  const bool whole = kernel_.domain.units == Dim(1);
  Value *begin = whole ? constant(0) : begin_, *end = whole ? constant(op.rows) : end_;
  const Dim inner = table.product(1, table.rank());  // elements of a row of the table
  // Where the last axis is a single column, or N is in a row of the table, rows are not runs of vectors.
  const bool by_element = inner.is_batch() || table.back() == Dim(1) || table.rank() == 1;
  for_each_site(table, whole ? constant(0) : begin_, whole ? extent(out.rows) : end_, table.rank() == 1, [&](const Site& site) {
    store(splat(Vec(llvm::ConstantFP::get(builder_.getFloatTy(), 0), DType::f32), site.width), kernel_.product, site);
  });
  /// Adds update e to a row of the table.
  const auto add = [&](Value* e, Value* row) {
    const auto one = [&](const Site& from, const Site& to) {
      Memo memo;
      const Vec x = evaluate(anchor.inputs[1], updates, from, memo);
      Value* place = address(kernel_.product, to.row, to.last);
      store(load(place, DType::f32, to.width, false) + x, kernel_.product, to);
    };
    if (by_element) {
      Value* count = extent(inner);
      return loop(constant(0), count, 1, [&](Value* i) {
        const auto in = [&](Value* r) { return builder_.CreateAdd(builder_.CreateMul(r, count), i); };
        one(site_of_element(updates, in(e)), site_of_element(table, in(row)));
      });
    }
    const std::int64_t rows = inner.factor() / table.back().factor();
    loop(constant(0), constant(rows), 1, [&](Value* part) {
      Value *source = builder_.CreateAdd(builder_.CreateMul(e, constant(rows)), part),
            *target = builder_.CreateAdd(builder_.CreateMul(row, constant(rows)), part);
      for_each_block(updates, source, needs_scalars(updates), [&](const Site& from) {
        Site to = from;
        to.row = target;
        one(from, to);
      });
    });
  };

  if (ir::is_recomputable(context_.graph, anchor.inputs[0])) {  // a scalar that no kernel stores
    Value* row = index_value(evaluate_scalar(anchor.inputs[0]));
    Value* bad = builder_.CreateICmpUGE(row, constant(op.rows));
    when(bad, [&](Value*) { report_fault(kernel_.anchor); });
    return when(builder_.CreateNot(bad), [&](Value*) { add(constant(0), row); });
  }
  const ValueId index = value_of(anchor.inputs[0]);
  const Type& type = context_.schedule.values[index].type;
  const SymbolicLayout at = symbolic_layout(type.shape);
  const bool line = is_flat(type.shape) || at.rows == Dim(1);
  Value* columns = line ? extent(type.shape.elements()) : extent(at.cols);
  llvm::Type* vector = llvm::FixedVectorType::get(builder_.getInt32Ty(), lanes);
  llvm::AllocaInst *hits = variable(builder_.getInt32Ty(), "hits"), *found = variable(vector, "found", 64);
  loop(constant(0), line ? constant(1) : extent(at.rows), 1, [&](Value* r) {
    const auto number = [&](Value* c) { return line ? c : builder_.CreateAdd(builder_.CreateMul(r, columns), c); };
    const auto report = [&](Value* bad) { when(bad, [&](Value*) { report_fault(kernel_.anchor); }); };
    Value* stop = for_each_vector(constant(0), columns, 1, [&](Value* c, unsigned) {
      // As u32: a negative index is a large one. A table has fewer than 2^31 rows.
      Value* rows_here = builder_.CreateZExt(load(address(index, r, c), type.dtype, lanes, false).value, vector);
      const auto all = [&](Value* x) { return builder_.CreateVectorSplat(lanes, builder_.CreateTrunc(x, builder_.getInt32Ty())); };
      report(builder_.CreateOrReduce(builder_.CreateICmpUGE(rows_here, all(constant(op.rows)))));
      Value* inside = builder_.CreateICmpULT(builder_.CreateSub(rows_here, all(begin)), all(builder_.CreateSub(end, begin)));
      Value* bits = builder_.CreateZExt(builder_.CreateBitCast(inside, builder_.getInt16Ty()), builder_.getInt32Ty());
      builder_.CreateStore(bits, hits);
      builder_.CreateStore(rows_here, found);
      repeat_while([&] { return builder_.CreateICmpNE(builder_.CreateLoad(builder_.getInt32Ty(), hits), builder_.getInt32(0)); },
                   [&](Value*) {
                     Value* left = builder_.CreateLoad(builder_.getInt32Ty(), hits);
                     Value* lane =
                         builder_.CreateZExt(builder_.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, left, builder_.getTrue()), builder_.getInt64Ty());
                     builder_.CreateStore(builder_.CreateAnd(left, builder_.CreateSub(left, builder_.getInt32(1))), hits);
                     Value* row = builder_.CreateLoad(builder_.getInt32Ty(), builder_.CreateInBoundsGEP(builder_.getInt32Ty(), found, {lane}));
                     add(number(builder_.CreateAdd(c, lane)), builder_.CreateZExt(row, builder_.getInt64Ty()));
                   });
    });
    loop(stop, columns, 1, [&](Value* c) {
      Value* row = builder_.CreateZExt(load(address(index, r, c), type.dtype, 1, false).value, builder_.getInt64Ty());
      report(builder_.CreateICmpUGE(row, constant(op.rows)));
      when(builder_.CreateICmpULT(builder_.CreateSub(row, begin), builder_.CreateSub(end, begin)), [&](Value*) { add(number(c), row); });
    });
  });
}

/// Indices along the first axes of the result: all, or those of the chunk's samples.
std::pair<Value*, Value*> KernelEmitter::places_along(std::size_t axes) {
  const Shape& shape = kernel_.shape;
  if (kernel_.domain.units == Dim(1)) return {constant(0), extent(shape.product(0, axes))};
  const std::int64_t per_sample = shape.product(0, axes).factor();
  return {builder_.CreateMul(begin_, constant(per_sample)), builder_.CreateMul(end_, constant(per_sample))};
}

/// Each element is the one before it along the axis plus the operand's.
void KernelEmitter::collect(const ir::Cumsum& op) {
  const ValueId x = value_of(context_.graph.node(kernel_.anchor).inputs[0]);
  const DType dtype = type_of(kernel_.anchor).dtype;
  const Shape& shape = kernel_.shape;
  const auto axis = static_cast<std::size_t>(op.axis);
  Value *along = extent(shape[axis]), *inner = extent(shape.product(axis + 1, shape.rank()));
  const auto [first, last] = places_along(axis);
  loop(first, last, 1, [&](Value* outer) {
    loop(constant(0), along, 1, [&](Value* k) {
      Value* place = op.reverse ? builder_.CreateSub(builder_.CreateSub(along, constant(1)), k) : k;
      Value* row = builder_.CreateMul(builder_.CreateAdd(builder_.CreateMul(outer, along), place), inner);
      loop(constant(0), inner, 1, [&](Value* i) {
        Value *element = builder_.CreateAdd(row, i),
              *neighbour = op.reverse ? builder_.CreateAdd(element, inner) : builder_.CreateSub(element, inner);
        Value* start = builder_.CreateICmpEQ(k, constant(0));
        const Vec own = load(element_address(x, element), dtype, 1, false),
                  before = load(element_address(kernel_.product, builder_.CreateSelect(start, element, neighbour)), dtype, 1, false);
        builder_.CreateStore(builder_.CreateSelect(start, own.value, (before + own).value), element_address(kernel_.product, element));
      });
    });
  });
}

/// The best k so far of each row are a heap, in the memory of the result, with the worst of them as its root; a better element replaces it. Then
/// the heap is sorted in place.
void KernelEmitter::collect(const ir::TopK& op) {
  const ValueId x = value_of(context_.graph.node(kernel_.anchor).inputs[0]);
  const Type& type = context_.schedule.values[x].type;
  llvm::AllocaInst* at = variable(builder_.getInt64Ty(), "at");
  const auto [first, last] = places_along(kernel_.shape.rank() - 1);
  loop(first, last, 1, [&](Value* row) {
    const auto in_row = [&](ValueId value, const Shape& shape, Value* i) { return is_flat(shape) ? address(value, i, row) : address(value, row, i); };
    // Whether element a of the row comes before b: NaN, then greater, then first.
    const auto before = [&](Value* a, Value* b) {
      const Vec p = load(in_row(x, type.shape, a), type.dtype, 1, false), q = load(in_row(x, type.shape, b), type.dtype, 1, false);
      Value *nan_p = (p != p).value, *nan_q = (q != q).value, *lower = builder_.CreateICmpSLT(a, b);
      Value* greater = builder_.CreateOr((p > q).value, builder_.CreateAnd((p == q).value, lower));
      return builder_.CreateSelect(nan_p, builder_.CreateOr(builder_.CreateNot(nan_q), lower),
                                   builder_.CreateAnd(builder_.CreateNot(nan_q), greater));
    };
    const auto place = [&](Value* j) { return in_row(kernel_.product, kernel_.shape, j); };
    const auto get = [&](Value* j) { return builder_.CreateSExt(builder_.CreateLoad(builder_.getInt32Ty(), place(j)), builder_.getInt64Ty()); };
    const auto put = [&](Value* j, Value* element) { builder_.CreateStore(builder_.CreateTrunc(element, builder_.getInt32Ty()), place(j)); };
    // Sifts down while a child comes after the element.
    const auto sift = [&](Value* from, Value* size) {
      builder_.CreateStore(from, at);
      const auto parent = [&] { return builder_.CreateLoad(builder_.getInt64Ty(), at); };
      const auto child_of = [&](Value* j) { return builder_.CreateAdd(builder_.CreateShl(j, 1), constant(1)); };
      repeat_while([&] { return builder_.CreateICmpSLT(child_of(parent()), size); },
                   [&](Value*) {
                     Value *up = parent(), *left = child_of(up), *right = builder_.CreateAdd(left, constant(1));
                     right = builder_.CreateSelect(builder_.CreateICmpSLT(right, size), right, left);
                     Value* down = builder_.CreateSelect(before(get(left), get(right)), right, left);
                     Value *upper = get(up), *lower = get(down), *exchange = before(upper, lower);
                     put(up, builder_.CreateSelect(exchange, lower, upper));
                     put(down, builder_.CreateSelect(exchange, upper, lower));
                     builder_.CreateStore(builder_.CreateSelect(exchange, down, size), at);
                   });
    };
    Value *root = constant(0), *k = constant(op.k);
    loop(root, k, 1, [&](Value* j) { put(j, j); });
    loop(root, constant(op.k / 2), 1, [&](Value* j) { sift(builder_.CreateSub(constant(op.k / 2 - 1), j), k); });
    loop(k, constant(type.shape.back().factor()), 1, [&](Value* i) {
      when(before(i, get(root)), [&](Value*) {
        put(root, i);
        sift(root, k);
      });
    });
    loop(root, constant(op.k - 1), 1, [&](Value* j) {
      Value *end = builder_.CreateSub(constant(op.k - 1), j), *latest = get(root);
      put(root, get(end));
      put(end, latest);
      sift(root, end);
    });
  });
}

void KernelEmitter::collect(const ir::BatchMatmul& op) {
  const ir::Node& anchor = context_.graph.node(kernel_.anchor);
  const ValueId a = value_of(anchor.inputs[0]), b = value_of(anchor.inputs[1]);
  const Shape &left = type_of(anchor.inputs[0]).shape, &right = type_of(anchor.inputs[1]).shape, &shape = kernel_.shape;
  const std::size_t rank = shape.rank();
  const ir::ProductExtents sizes{shape[rank - 2], left[rank - (op.transpose_a ? 2 : 1)], shape[rank - 1]};
  const auto [first, last] = places_along(rank - 2);
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
