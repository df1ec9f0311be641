// Sums and maxima. A vector holds 16 partial results, combined as a fixed tree: the same bytes on every target and number of threads.
#include <limits>

#include "codegen/emit/kernel_emitter.h"

namespace sinter::codegen {

using llvm::Value;

namespace {

struct Reduction {
  std::int64_t first, last;
  bool maximum;
};
Reduction reduction_of(const ir::Op& op) {
  if (const auto* sum = std::get_if<ir::Sum>(&op)) return {sum->first, sum->last, false};
  const auto& max = std::get<ir::Max>(op);
  return {max.first, max.last, true};
}

double identity(bool maximum) { return maximum ? -std::numeric_limits<double>::infinity() : 0; }

}  // namespace

void KernelEmitter::emit_reduction() {
  const ir::Node& anchor = context_.graph.node(kernel_.anchor);
  const Reduction r = reduction_of(anchor.op);
  const Shape& in = type_of(anchor.inputs[0]).shape;
  if (r.last == static_cast<std::int64_t>(in.rank())) emit_row_reduction();
  else emit_column_reduction();
}

/// The reduced axes reach the last one: each result is a sum over whole rows of the input.
void KernelEmitter::emit_row_reduction() {
  const ir::Node& anchor = context_.graph.node(kernel_.anchor);
  const Reduction r = reduction_of(anchor.op);
  const Shape &in = type_of(anchor.inputs[0]).shape, &out = kernel_.shape;
  const auto first = static_cast<std::size_t>(r.first);
  const bool vector_input = in.rank() == 1;  // one row, or a vector over the batch
  const Dim rows = vector_input ? (is_flat(in) ? in[0] : Dim(1)) : in.product(first, in.rank() - 1);
  llvm::Type *vector = memory_type(DType::f32, lanes), *half = memory_type(DType::f32, lanes / 2), *single = memory_type(DType::f32, 1);
  llvm::AllocaInst *wide = variable(vector, "wide"), *narrow = variable(half, "narrow"), *one = variable(single, "one");
  const auto fill = [&](llvm::AllocaInst* variable) {
    builder_.CreateStore(llvm::ConstantFP::get(variable->getAllocatedType(), identity(r.maximum)), variable);
  };

  const auto reduce_element = [&](Value* element) {
    fill(wide), fill(narrow), fill(one);
    Value* begin = builder_.CreateMul(element, extent(rows));
    for_each_site(in, begin, builder_.CreateAdd(begin, extent(rows)), needs_scalars(in), [&](const Site& site) {
      Memo memo;
      const Vec x = only_valid(evaluate(anchor.inputs[0], in, site, memo), site.valid, identity(r.maximum));
      llvm::AllocaInst* into = site.width == lanes ? wide : site.width == 1 ? one : narrow;
      builder_.CreateStore(reduce_two(Vec(builder_.CreateLoad(into->getAllocatedType(), into), DType::f32), x, r.maximum).value, into);
    });
    const Vec a = horizontal(Vec(builder_.CreateLoad(vector, wide), DType::f32), r.maximum),
              b = horizontal(Vec(builder_.CreateLoad(half, narrow), DType::f32), r.maximum);
    return reduce_two(reduce_two(a, b, r.maximum), Vec(builder_.CreateLoad(single, one), DType::f32), r.maximum);
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
  const Shape &in = type_of(anchor.inputs[0]).shape, &out = kernel_.shape;
  const auto first = static_cast<std::size_t>(r.first), last = static_cast<std::size_t>(r.last);
  Value *reduced = extent(in.product(first, last)), *inner = extent(in.product(last, in.rank() - 1));
  const bool flat_in = is_flat(in);
  const bool scalar = needs_scalars(out) || needs_scalars(in) || flat_in;
  for_each_site(out, rows_begin(out), rows_end(out), scalar, [&](const Site& site) {
    llvm::Type* type = memory_type(DType::f32, site.width);
    llvm::AllocaInst* total = variable(type, "total");
    builder_.CreateStore(llvm::ConstantFP::get(type, identity(r.maximum)), total);
    // Row of the result, and its parts before and after the reduced axes. A flat result of rank 1 has one row; of a higher rank its rows are in
    // `last`.
    Value* row = is_flat(out) ? (out.rank() == 1 ? constant(0) : site.last) : site.row;
    Value *o = builder_.CreateUDiv(row, inner), *j = builder_.CreateURem(row, inner);
    loop(constant(0), reduced, 1, [&](Value* k) {
      Value* from = builder_.CreateAdd(builder_.CreateMul(builder_.CreateAdd(builder_.CreateMul(o, reduced), k), inner), j);
      const Site at = flat_in ? Site{constant(0), from, 1, 1} : Site{from, site.last, site.width, site.valid};
      Memo memo;
      const Vec x = evaluate(anchor.inputs[0], in, at, memo);
      builder_.CreateStore(reduce_two(Vec(builder_.CreateLoad(type, total), DType::f32), x, r.maximum).value, total);
    });
    Memo memo;
    memo[kernel_.anchor] = perturbed(kernel_.anchor, Vec(builder_.CreateLoad(type, total), DType::f32));
    store_results(out, site, memo);
  });
  if (scalar && !is_flat(out)) loop(rows_begin(out), rows_end(out), 1, [&](Value* row) { zero_pads(out, row); });
}

/// This chunk's part of a sum over everything, into the chunk's slot.
void KernelEmitter::emit_partial() {
  const ir::Node& anchor = context_.graph.node(kernel_.anchor);
  const bool maximum = reduction_of(anchor.op).maximum;
  const Shape& in = kernel_.shape;
  llvm::Type *vector = memory_type(DType::f32, lanes), *half = memory_type(DType::f32, lanes / 2), *single = memory_type(DType::f32, 1);
  llvm::AllocaInst *wide = variable(vector, "wide"), *narrow = variable(half, "narrow"), *one = variable(single, "one");
  for (llvm::AllocaInst* into : {wide, narrow, one}) builder_.CreateStore(llvm::ConstantFP::get(into->getAllocatedType(), identity(maximum)), into);
  for_each_site(in, rows_begin(in), rows_end(in), needs_scalars(in), [&](const Site& site) {
    Memo memo;
    const Vec x = only_valid(evaluate(anchor.inputs[0], in, site, memo), site.valid, identity(maximum));
    llvm::AllocaInst* into = site.width == lanes ? wide : site.width == 1 ? one : narrow;
    builder_.CreateStore(reduce_two(Vec(builder_.CreateLoad(into->getAllocatedType(), into), DType::f32), x, maximum).value, into);
  });
  const Vec a = horizontal(Vec(builder_.CreateLoad(vector, wide), DType::f32), maximum),
            b = horizontal(Vec(builder_.CreateLoad(half, narrow), DType::f32), maximum);
  const Vec total = reduce_two(reduce_two(a, b, maximum), Vec(builder_.CreateLoad(single, one), DType::f32), maximum);
  builder_.CreateStore(total.value, builder_.CreateInBoundsGEP(single, pointer(kernel_.slots), {chunk_}));
}

/// The slots in order, then what follows the sum.
void KernelEmitter::emit_combine() {
  const ir::Node& anchor = context_.graph.node(kernel_.anchor);
  const bool maximum = reduction_of(anchor.op).maximum;
  llvm::Type* single = memory_type(DType::f32, 1);
  llvm::AllocaInst* total = variable(single, "total");
  builder_.CreateStore(llvm::ConstantFP::get(single, identity(maximum)), total);
  loop(constant(0), slot_count(), 1, [&](Value* i) {
    const Vec x = load(builder_.CreateInBoundsGEP(single, pointer(kernel_.slots), {i}), DType::f32, 1, false);
    builder_.CreateStore(reduce_two(Vec(builder_.CreateLoad(single, total), DType::f32), x, maximum).value, total);
  });
  Memo memo;
  memo[kernel_.anchor] = perturbed(kernel_.anchor, Vec(builder_.CreateLoad(single, total), DType::f32));
  store_results(kernel_.shape, {constant(0), constant(0), 1, 1}, memo);
  zero_pads(kernel_.shape, constant(0));
}

}  // namespace sinter::codegen
