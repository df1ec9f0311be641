// Reductions. A vector holds 16 partial results, combined as a fixed tree: the same bytes on every target and number of threads.
#include "codegen/emit/combine.h"
#include "codegen/emit/index.h"
#include "codegen/kernels/kinds.h"

namespace sinter::codegen {

using llvm::Value;

namespace {

/// Reductions of more elements than this into one number are split.
constexpr std::int64_t most_unsplit = 1024;

Combine how_to_combine(const ir::Sum&) { return Combine::sum; }
Combine how_to_combine(const ir::Max&) { return Combine::max; }
Combine how_to_combine(const ir::Prod&) { return Combine::prod; }

struct Reduction {
  std::size_t first = 0, last = 0;
  Combine how = Combine::sum;
};
Reduction reduction_of(const ir::Op& op) {
  return std::visit(
      []<class O>(const O& o) -> Reduction {
        if constexpr (ir::IsReduction<O>) return {static_cast<std::size_t>(o.first), static_cast<std::size_t>(o.last), how_to_combine(o)};
        else throw InternalError("codegen", str(O::name, " is no reduction"));
      },
      op);
}

/// The number of independent sums, to hide the latency of additions.
constexpr unsigned turns = 4;

/// The operand over whole rows.
Vec reduce_rows(Emitter& e, const Shape& in, Rows rows) {
  const ir::NodeId operand = e.anchor().inputs[0];
  Accumulator sum(e, reduction_of(e.anchor().op).how, e.anchor().type.dtype, turns);
  const auto add = [&](const Site& site) {
    Memo memo;
    sum.add(e.evaluate(operand, in, site, memo), site);
  };
  e.for_each_site(in, rows, false, add, {}, turns);
  return sum.total();
}

/// The reduced axes reach the last one: each result is a sum over whole rows of the input.
void emit_row_reduction(Emitter& e, const Reduction& r) {
  const Shape& in = e.type_of(e.anchor().inputs[0]).shape;
  const bool vector_input = in.rank() == 1;  // one row, or a vector over the batch
  const Dim rows = vector_input ? (is_flat(in) ? in[0] : Dim(1)) : in.product(r.first, in.rank() - 1);
  e.store_results(e.rows(), true, [&](const Site& site) {
    Value* first = e.builder().CreateMul(element_at(e, e.kernel().shape, site), e.extent(rows));
    return reduce_rows(e, in, {first, e.builder().CreateAdd(first, e.extent(rows))});
  });
}

/// The last axis stays: rows are added to rows.
void emit_column_reduction(Emitter& e, const Reduction& r) {
  Builder& b = e.builder();
  const ir::Node& anchor = e.anchor();
  const DType dtype = anchor.type.dtype;
  const Shape &in = e.type_of(anchor.inputs[0]).shape, &out = e.kernel().shape;
  Value *reduced = e.extent(in.product(r.first, r.last)), *inner = e.extent(in.product(r.last, in.rank() - 1));
  const bool flat_in = is_flat(in);
  e.store_results(e.rows(), flat_in, [&](const Site& site) {
    std::vector<llvm::AllocaInst*> totals;
    for (unsigned turn = 0; turn < turns; ++turn) totals.push_back(neutral_variable(e, r.how, dtype, site.width, "total"));
    const auto value = [&](unsigned turn) { return Vec(b.CreateLoad(totals[turn]->getAllocatedType(), totals[turn]), dtype); };
    // Row of the result, and its parts before and after the reduced axes. A flat result of rank 1 has one row; of a higher rank its rows are in
    // `last`.
    Value* row = is_flat(out) ? (out.rank() == 1 ? e.number(0) : site.last) : site.row;
    Value *outer = b.CreateUDiv(row, inner), *j = b.CreateURem(row, inner);
    const auto add = [&](Value* k, unsigned turn) {
      Value* from = b.CreateAdd(b.CreateMul(b.CreateAdd(b.CreateMul(outer, reduced), k), inner), j);
      Memo memo;
      const Vec x = e.evaluate(anchor.inputs[0], in, flat_in ? Site{e.number(0), from} : Site{from, site.last, site.width, site.valid}, memo);
      b.CreateStore(combine(value(turn), x, r.how).value, totals[turn]);
    };
    Value* whole = b.CreateAnd(reduced, e.number(-static_cast<std::int64_t>(turns)));
    e.loop(e.number(0), whole, turns, [&](Value* k) {
      for (unsigned turn = 0; turn < turns; ++turn) add(b.CreateAdd(k, e.number(turn)), turn);
    });
    e.loop(whole, reduced, 1, [&](Value* k) { add(k, 0); });
    return combine(combine(value(0), value(1), r.how), combine(value(2), value(3), r.how), r.how);
  });
}

}  // namespace

void ReductionKernel::plan(Planner& planner, Kernel kernel) const {
  const ir::Node& anchor = planner.graph().node(kernel.anchor);
  const Dim all = planner.graph().node(anchor.inputs[0]).type.shape.elements();
  const bool splits = anchor.type.shape.elements() == Dim(1) && (all.is_batch() || all.factor() > most_unsplit);
  if (!splits) return planner.add(std::move(kernel));
  Planner::Parts parts = planner.split(kernel);
  const Shape slots{parts.partial.domain.units};
  planner.add(std::move(parts), slots);
}

void ReductionKernel::emit(Emitter& e) const {
  const Reduction r = reduction_of(e.anchor().op);
  if (e.kernel().role == Kernel::Role::combine) return emit_combined(e, r.how);
  if (e.kernel().role == Kernel::Role::partial) {  // this chunk's part of a sum over everything, into the chunk's slot
    const Vec total = reduce_rows(e, e.kernel().shape, e.rows());
    Value* slot = e.builder().CreateInBoundsGEP(e.memory_type(total.dtype, 1), e.pointer(e.kernel().slots), {e.chunk()});
    e.builder().CreateStore(total.value, slot);
    return;
  }
  if (r.last == e.type_of(e.anchor().inputs[0]).shape.rank()) emit_row_reduction(e, r);
  else emit_column_reduction(e, r);
}

}  // namespace sinter::codegen
