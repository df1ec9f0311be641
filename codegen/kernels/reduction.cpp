// Reductions. A vector holds 16 partial results, combined as a fixed tree: the same bytes on every target and number of threads.
#include <llvm/IR/Intrinsics.h>

#include "codegen/emit/combine.h"
#include "codegen/emit/index.h"
#include "codegen/kernels/added_rows.h"
#include "codegen/kernels/kinds.h"
#include "codegen/kernels/short_rows.h"
#include "ir/long_sum.h"

namespace sinter::codegen {

using llvm::Value;

namespace {

/// Reductions of more elements than this into one number are split, and of more rows a sample than that into one row.
constexpr std::int64_t most_unsplit = 1024, most_rows_unsplit = 16;
/// Columns of a piece of a single sample.
constexpr std::int64_t columns_of_piece = 2 * lanes;

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

/// The operands of reductions of one kind, over whole rows.
std::vector<Vec> reduce_rows(Emitter& e, const std::vector<ir::NodeId>& reductions, const Shape& in, Rows rows) {
  const ir::Node& any = e.graph().node(reductions[0]);
  const Combine how = reduction_of(any.op).how;
  const DType dtype = any.type.dtype;
  const std::size_t count = reductions.size();
  const Dim cols = symbolic_layout(in).cols;
  const auto terms = [&](const Site& site) {
    Memo memo;
    std::vector<Vec> all;
    for (const ir::NodeId reduction : reductions) all.push_back(e.evaluate(e.graph().node(reduction).inputs[0], in, site, memo));
    return all;
  };
  const auto chain = [&](Value* first, Value* last) {
    Accumulators sums(e, how, dtype, count);
    e.for_each_site(in, {first, last}, false, [&](const Site& site) { sums.add(terms(site), site); }, {}, turns);
    return sums.totals();
  };
  const auto rows_of = [&](std::int64_t most, const auto& body) {
    return combine_chains(e, how, dtype, 1, count, rows.first, rows.last, most, body);
  };
  if (is_flat(in)) return rows_of(ir::chain_terms * lanes * turns, chain);
  // The most vectors of a row that are added to one accumulator.
  if (const std::int64_t a_row = cols.is_fixed() ? cols.factor() / (lanes * turns) + turns : ir::chain_terms; a_row < ir::chain_terms)
    return rows_of(ir::chain_terms / a_row, chain);
  return rows_of(ir::chain_terms, [&](Value* first, Value* last) {
    std::vector<llvm::AllocaInst*> totals(count);
    for (llvm::AllocaInst*& total : totals) total = neutral_variable(e, how, dtype, 1, "total");
    const auto so_far = [&](std::size_t i) { return Vec(e.builder().CreateLoad(totals[i]->getAllocatedType(), totals[i]), dtype); };
    e.loop(first, last, 1, [&](Value* row) {
      const std::vector<Vec> of_row = combine_row(e, how, dtype, count, in, row, terms);
      for (std::size_t i = 0; i < count; ++i) e.builder().CreateStore(combine(so_far(i), of_row[i], how).value, totals[i]);
    });
    std::vector<Vec> all;
    for (std::size_t i = 0; i < count; ++i) all.push_back(so_far(i));
    return all;
  });
}

/// The reduced axes reach the last one: each result is a sum over whole rows of the input.
void emit_row_reduction(Emitter& e, const Reduction& r) {
  const Shape& in = e.type_of(e.anchor().inputs[0]).shape;
  const bool vector_input = in.rank() == 1;  // one row, or a vector over the batch
  const Dim rows = vector_input ? (is_flat(in) ? in[0] : Dim(1)) : in.product(r.first, in.rank() - 1);
  e.store_results(e.rows(), true, [&](const Site& site) {
    Value* first = e.builder().CreateMul(element_at(e, e.kernel().shape, site), e.extent(rows));
    return reduce_rows(e, {e.kernel().anchor}, in, {first, e.builder().CreateAdd(first, e.extent(rows))})[0];
  });
}

/// The last axis stays: rows are added to rows.
void emit_column_reduction(Emitter& e, const Reduction& r) {
  Builder& b = e.builder();
  const Shape &in = e.type_of(e.anchor().inputs[0]).shape, &out = e.kernel().shape;
  Value *reduced = e.extent(in.product(r.first, r.last)), *inner = e.extent(in.product(r.last, in.rank() - 1));
  // What is added to row `row` of the result, by number.
  const auto rows_of = [&](Value* row) -> AddedRows::RowOf {
    Value *outer = b.CreateUDiv(row, inner), *j = b.CreateURem(row, inner);
    return [&b, reduced, inner, outer, j](Value* k) { return b.CreateAdd(b.CreateMul(b.CreateAdd(b.CreateMul(outer, reduced), k), inner), j); };
  };
  const Rows added{e.number(0), reduced};
  if (ReductionKernel::adds_row_after_row(e.graph(), e.kernel())) {
    const std::int64_t pieces = e.kernel().cut.pieces;
    Value* is_all = b.CreateICmpEQ(b.CreateSub(e.piece_end(), e.piece_begin()), e.number(pieces));
    const auto store_all = [&] {
      AddedRows sums(e, r.how, {e.anchor().inputs[0]});
      e.store_results(e.rows(), false, [&](const Site& site) { return sums.made(site)[0]; }, [&](Value* row) { sums.make_all(added, rows_of(row)); });
    };
    const auto store_columns = [&] {
      const auto column = [&](Value* piece) {
        return b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, b.CreateMul(piece, e.number(columns_of_piece)), e.number(out.back().factor()));
      };
      const Range columns{column(e.piece_begin()), column(e.piece_end())};
      AddedRows sums(e, r.how, {e.anchor().inputs[0]}, columns);
      const Rows rows = e.rows();
      e.loop(rows.first, rows.last, 1, [&](Value* row) {
        sums.make_all(added, rows_of(row));
        e.for_each_block_of(out, row, columns, [&](const Site& site) {
          const Vec x = sums.made(site)[0];
          e.store_results_at(site, &x);
        });
      });
    };
    if (pieces == 1) return store_all();
    e.when(is_all, store_all);
    return e.when(b.CreateNot(is_all), store_columns);
  }
  AddedRows sums(e, r.how, {e.anchor().inputs[0]});
  const bool short_rows = ReductionKernel::adds_short_rows(e.graph(), e.context().schedule, e.kernel());
  e.store_results(e.rows(), is_flat(in), [&](const Site& site) {
    // A flat result of rank 1 has one row; of a higher rank its rows are in `last`.
    Value* row = is_flat(out) ? (out.rank() == 1 ? e.number(0) : site.last) : site.row;
    if (short_rows) return add_short_rows(e, r.how, e.value_of(e.anchor().inputs[0]), added, b.CreateMul(row, reduced), site);
    return sums.at(added, site, rows_of(row))[0];
  });
}

/// This chunk's part of sums over everything, or over all rows, into the chunk's slots.
void emit_part(Emitter& e, const Reduction& r) {
  const Shape &in = e.kernel().shape, &out = e.anchor().type.shape;
  const std::vector<ir::NodeId> reductions = e.kernel().reductions();
  std::vector<ValueId> slots;
  for (const Memory& memory : e.kernel().memory)
    if (memory.purpose == Memory::slots) slots.push_back(memory.value);
  if (out.elements() == Dim(1)) {
    const std::vector<Vec> totals = reduce_rows(e, reductions, in, e.rows());
    for (std::size_t i = 0; i < totals.size(); ++i)
      e.builder().CreateStore(totals[i].value, e.builder().CreateInBoundsGEP(e.memory_type(totals[i].dtype, 1), e.pointer(slots[i]), {e.chunk()}));
    return;
  }
  std::vector<ir::NodeId> operands;
  for (const ir::NodeId reduction : reductions) operands.push_back(e.graph().node(reduction).inputs[0]);
  AddedRows sums(e, r.how, operands);
  const auto row_of = [](Value* row) { return row; };
  const bool together = ReductionKernel::adds_row_after_row(e.graph(), e.kernel());
  if (together) sums.make_all(e.rows(), row_of);
  e.for_each_block(out, e.number(0), false, [&](const Site& site) {
    const std::vector<Vec> x = together ? sums.made(site) : sums.at(e.rows(), site, row_of);
    for (std::size_t i = 0; i < x.size(); ++i) e.store(x[i], slots[i], {e.chunk(), site.last, site.width, site.valid});
  });
}

}  // namespace

/// The most columns in all of which rows are added to each other together.
constexpr std::int64_t most_columns = 2048;

/// Whether rows are added to rows, and each sample has many of them.
bool adds_many_rows(const Shape& in, const Reduction& r) {
  if (in.rank() < 2 || r.first != 0 || r.last != in.rank() - 1 || !in.back().is_fixed() || in.back() == Dim(1) || !in[0].is_batch()) return false;
  const Dim rows = in.product(0, r.last);
  return rows.is_length() || rows.factor() >= most_rows_unsplit;
}

bool ReductionKernel::adds_row_after_row(const ir::Graph& graph, const Kernel& kernel) {
  constexpr std::int64_t few_rows = 16;
  const ir::Node& anchor = graph.node(kernel.anchor);
  const Reduction r = reduction_of(anchor.op);
  const Shape& in = graph.node(anchor.inputs[0]).type.shape;
  if (kernel.is<Kernel::Combine>() || kernel.mask || kernel.counts_elements() || r.last == in.rank() || !in.back().is_fixed()) return false;
  if (const Dim count = in.product(r.first, r.last); count.is_fixed() && count.factor() <= few_rows) return false;
  return in.back().factor() > lanes && in.back().factor() <= most_columns;
}

bool ReductionKernel::adds_short_rows(const ir::Graph& graph, const Schedule& schedule, const Kernel& kernel) {
  constexpr std::int64_t most = 8;
  if (kernel.is<Kernel::Partial>() || kernel.is<Kernel::Combine>() || kernel.mask) return false;
  const ir::Node& anchor = graph.node(kernel.anchor);
  const Reduction r = reduction_of(anchor.op);
  const ir::NodeId operand = anchor.inputs[0];
  const Shape& in = graph.node(operand).type.shape;
  if (anchor.type.dtype != DType::f32 || r.last == in.rank() || in.product(r.last, in.rank() - 1) != Dim(1)) return false;
  if (symbolic_layout(in).rows == Dim(1) || !in.back().is_fixed() || in.back().factor() > most) return false;
  if (kernel.counts_elements() && !is_flat(in)) return false;
  const bool is_stored = !kernel.has(operand) && !schedule.facts.recomputable[operand];
  return is_stored && schedule.values[schedule.value_of[operand]].length == Dim(0);  // else other steps lie between the rows
}

std::size_t ReductionKernel::most_together(const ir::Graph& graph, const Kernel& kernel) {
  constexpr std::int64_t most = 4;
  if (!adds_row_after_row(graph, kernel)) return most;
  const Dim columns = graph.node(kernel.anchor).type.shape.elements();
  return static_cast<std::size_t>(std::clamp<std::int64_t>(most_columns / columns.factor(), 1, most));
}

void ReductionKernel::plan(Planner& planner, Kernel kernel) const {
  const ir::Node& anchor = planner.graph().node(kernel.anchor);
  const Reduction r = reduction_of(anchor.op);
  const Shape& in = planner.graph().node(anchor.inputs[0]).type.shape;
  const Dim all = in.elements();
  const bool to_one = anchor.type.shape.elements() == Dim(1) && (!all.is_fixed() || all.factor() > most_unsplit);
  if (to_one || adds_many_rows(in, r)) {
    return planner.add(planner.split(kernel), to_one ? Shape{1} : Shape{1, in.back()});
  }
  // Results that lie in rows of their own are computed with the rows that they are sums of.
  const Domain of_operand = planner.domain_of(in);
  const bool sums_rows = r.last == in.rank() && in.product(0, r.first) == of_operand.units;
  if (sums_rows && !of_operand.samples) kernel.domain = of_operand;
  if (adds_row_after_row(planner.graph(), kernel))
    planner.cut_single_sample(kernel, Cut::Along::columns, divide_up(in.back().factor(), columns_of_piece));
  else if (r.last == in.rank()) planner.cut_single_sample(kernel, Cut::Along::rows, symbolic_layout(kernel.shape).rows.factor());
  planner.add(std::move(kernel));
}

/// Of rows that are added to each other.
KernelKind::Skips ReductionKernel::skips_padding(const ir::Graph& graph, const Kernel& kernel) const {
  return kernel.is<Kernel::Partial>() && graph.node(kernel.anchor).type.shape.elements() != Dim(1) ? Skips::itself : Skips::nothing;
}

void ReductionKernel::emit(Emitter& e) const {
  const Reduction r = reduction_of(e.anchor().op);
  if (e.kernel().is<Kernel::Combine>()) return emit_combined(e, r.how);
  if (e.kernel().is<Kernel::Partial>()) return emit_part(e, r);
  if (r.last == e.type_of(e.anchor().inputs[0]).shape.rank()) emit_row_reduction(e, r);
  else emit_column_reduction(e, r);
}

}  // namespace sinter::codegen
