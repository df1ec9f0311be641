// Reductions. A vector holds 16 partial results, combined as a fixed tree: the same bytes on every target and number of threads.
#include "codegen/emit/kernel_emitter.h"

namespace sinter::codegen {

using llvm::Value;

namespace {

struct Reduction {
  std::int64_t first = 0, last = 0;
  Combine how = Combine::sum;
};
Reduction reduction_of(const ir::Op& op) {
  return std::visit(
      []<class O>(const O& o) -> Reduction {
        if constexpr (ir::IsReduction<O>)
          return {o.first, o.last, std::is_same_v<O, ir::Sum> ? Combine::sum : std::is_same_v<O, ir::Max> ? Combine::max : Combine::prod};
        else throw InternalError("codegen", str(O::name, " is no reduction"));
      },
      op);
}

/// The number of independent sums, to hide the latency of additions.
constexpr unsigned turns = 4;

}  // namespace

void KernelEmitter::emit_reduction() {
  const ir::Node& anchor = context_.graph.node(kernel_.anchor);
  const Reduction r = reduction_of(anchor.op);
  const Shape& in = type_of(anchor.inputs[0]).shape;
  if (r.last == static_cast<std::int64_t>(in.rank())) emit_row_reduction();
  else emit_column_reduction();
}

/// A variable that holds the neutral element.
llvm::AllocaInst* KernelEmitter::neutral_variable(Combine how, DType dtype, unsigned width, const char* name) {
  llvm::AllocaInst* result = variable(memory_type(dtype, width), name, 64);
  const Vec like(llvm::Constant::getNullValue(result->getAllocatedType()), dtype);
  builder_.CreateStore(materialize(Vec(identity(how, dtype)), like), result);
  return result;
}

/// The operand of the reduction over whole rows.
Vec KernelEmitter::reduce_rows(const Shape& in, Value* begin, Value* end) {
  const ir::Node& anchor = context_.graph.node(kernel_.anchor);
  const Combine how = reduction_of(anchor.op).how;
  const DType dtype = anchor.type.dtype;
  const auto start = [&](unsigned width, const char* name) { return neutral_variable(how, dtype, width, name); };
  std::vector<llvm::AllocaInst*> wide;
  for (unsigned turn = 0; turn < turns; ++turn) wide.push_back(start(lanes, "wide"));
  llvm::AllocaInst *narrow = start(lanes / 2, "narrow"), *one = start(1, "one");
  const auto value = [&](llvm::AllocaInst* from) { return Vec(builder_.CreateLoad(from->getAllocatedType(), from), dtype); };
  const auto add = [&](const Site& site) {
    Memo memo;
    const Vec x = only_valid(evaluate(anchor.inputs[0], in, site, memo), site.valid, identity(how, dtype));
    llvm::AllocaInst* into = site.width == lanes ? wide[site.turn] : site.width == 1 ? one : narrow;
    builder_.CreateStore(reduce_two(value(into), x, how).value, into);
  };
  for_each_site(in, begin, end, needs_scalars(in), add, {}, turns);
  const Vec low = reduce_two(value(wide[0]), value(wide[1]), how), high = reduce_two(value(wide[2]), value(wide[3]), how);
  const Vec a = horizontal(reduce_two(low, high, how), how), b = horizontal(value(narrow), how);
  return reduce_two(reduce_two(a, b, how), value(one), how);
}

/// The reduced axes reach the last one: each result is a sum over whole rows of the input.
void KernelEmitter::emit_row_reduction() {
  const ir::Node& anchor = context_.graph.node(kernel_.anchor);
  const Shape &in = type_of(anchor.inputs[0]).shape, &out = kernel_.shape;
  const auto first = static_cast<std::size_t>(reduction_of(anchor.op).first);
  const bool vector_input = in.rank() == 1;  // one row, or a vector over the batch
  const Dim rows = vector_input ? (is_flat(in) ? in[0] : Dim(1)) : in.product(first, in.rank() - 1);
  const auto reduce_element = [&](Value* element) {
    Value* begin = builder_.CreateMul(element, extent(rows));
    return reduce_rows(in, begin, builder_.CreateAdd(begin, extent(rows)));
  };

  const SymbolicLayout at = symbolic_layout(out);
  const bool one_row = out.rank() <= 1 && !is_flat(out);
  for_each_site(out, rows_begin(out), rows_end(out), true, [&](const Site& site) {
    Value* element = is_flat(out) || one_row ? site.last : builder_.CreateAdd(builder_.CreateMul(site.row, extent(at.cols)), site.last);
    Memo memo;
    memo[kernel_.anchor] = perturbed(kernel_.anchor, reduce_element(element));
    store_results(out, site, memo);
  });
  if (!is_flat(out)) loop(rows_begin(out), rows_end(out), 1, [&](Value* row) { zero_pads(out, row); });
}

/// The last axis stays: rows are added to rows.
void KernelEmitter::emit_column_reduction() {
  const ir::Node& anchor = context_.graph.node(kernel_.anchor);
  const Reduction r = reduction_of(anchor.op);
  const DType dtype = anchor.type.dtype;
  const Shape &in = type_of(anchor.inputs[0]).shape, &out = kernel_.shape;
  const auto first = static_cast<std::size_t>(r.first), last = static_cast<std::size_t>(r.last);
  Value *reduced = extent(in.product(first, last)), *inner = extent(in.product(last, in.rank() - 1));
  const bool flat_in = is_flat(in);
  const bool scalar = needs_scalars(out) || needs_scalars(in) || flat_in;
  for_each_site(out, rows_begin(out), rows_end(out), scalar, [&](const Site& site) {
    llvm::Type* type = memory_type(dtype, site.width);
    std::vector<llvm::AllocaInst*> totals;
    for (unsigned turn = 0; turn < turns; ++turn) totals.push_back(neutral_variable(r.how, dtype, site.width, "total"));
    const auto value = [&](unsigned turn) { return Vec(builder_.CreateLoad(type, totals[turn]), dtype); };
    // Row of the result, and its parts before and after the reduced axes. A flat result of rank 1 has one row; of a higher rank its rows are in
    // `last`.
    Value* row = is_flat(out) ? (out.rank() == 1 ? constant(0) : site.last) : site.row;
    Value *o = builder_.CreateUDiv(row, inner), *j = builder_.CreateURem(row, inner);
    const auto add = [&](Value* k, unsigned turn) {
      Value* from = builder_.CreateAdd(builder_.CreateMul(builder_.CreateAdd(builder_.CreateMul(o, reduced), k), inner), j);
      const Site at = flat_in ? Site{constant(0), from, 1, 1} : Site{from, site.last, site.width, site.valid};
      Memo memo;
      const Vec x = evaluate(anchor.inputs[0], in, at, memo);
      builder_.CreateStore(reduce_two(value(turn), x, r.how).value, totals[turn]);
    };
    Value* whole = builder_.CreateAnd(reduced, constant(-static_cast<std::int64_t>(turns)));
    loop(constant(0), whole, turns, [&](Value* k) {
      for (unsigned turn = 0; turn < turns; ++turn) add(builder_.CreateAdd(k, constant(turn)), turn);
    });
    loop(whole, reduced, 1, [&](Value* k) { add(k, 0); });
    const Vec low = reduce_two(value(0), value(1), r.how), high = reduce_two(value(2), value(3), r.how);
    Memo memo;
    memo[kernel_.anchor] = perturbed(kernel_.anchor, reduce_two(low, high, r.how));
    store_results(out, site, memo);
  });
  if (scalar && !is_flat(out)) loop(rows_begin(out), rows_end(out), 1, [&](Value* row) { zero_pads(out, row); });
}

/// This chunk's part of a sum over everything, into the chunk's slot.
void KernelEmitter::emit_partial() {
  const Shape& in = kernel_.shape;
  const Vec total = reduce_rows(in, rows_begin(in), rows_end(in));
  builder_.CreateStore(total.value, builder_.CreateInBoundsGEP(memory_type(total.dtype, 1), pointer(kernel_.slots), {chunk_}));
}

/// The slots in order, then the epilogue: of a reduction to one number, or of a weight's gradient.
void KernelEmitter::emit_combine() {
  const Shape& shape = kernel_.shape;
  const ir::Node& anchor = context_.graph.node(kernel_.anchor);
  const DType dtype = anchor.type.dtype;
  const Combine how = is_convolution(anchor.op) ? Combine::sum : reduction_of(anchor.op).how;
  const bool flat = is_flat(shape), adjacent = flat || shape.elements() == Dim(1), scalar = needs_scalars(shape);
  Value *slots = slot_count(), *rows = extent(symbolic_layout(shape).rows);
  const auto [first, last] = all_rows();
  for_each_site(shape, first, last, scalar, [&](const Site& site) {
    llvm::Type* type = memory_type(dtype, site.width);
    llvm::AllocaInst* total = neutral_variable(how, dtype, site.width, "total");
    loop(constant(0), slots, 1, [&](Value* slot) {
      Value* row = builder_.CreateAdd(flat ? site.last : site.row, builder_.CreateMul(slot, rows));
      // One number per row of the slots: these are adjacent.
      Value* from =
          adjacent ? builder_.CreateInBoundsGEP(memory_type(dtype, 1), pointer(kernel_.slots), {row}) : address(kernel_.slots, row, site.last);
      const Vec x = load(from, dtype, site.width, false);
      builder_.CreateStore(reduce_two(Vec(builder_.CreateLoad(type, total), dtype), x, how).value, total);
    });
    Memo memo;
    memo[kernel_.anchor] = perturbed(kernel_.anchor, Vec(builder_.CreateLoad(type, total), dtype));
    store_results(shape, site, memo);
  });
  if (scalar && !flat) loop(first, last, 1, [&](Value* row) { zero_pads(shape, row); });
}

}  // namespace sinter::codegen
