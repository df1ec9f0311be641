// Rows that an index picks, and what they become.
#include "fuzz/program/motif_parts.h"

namespace sinter::fuzz::motif {

using ir::Value;

namespace {

/// The rows of a table that an index picks: mostly of a matrix by a list, as an input or a parameter of any kind.
Value picked(Builder& b) {
  const DType dtype = b.choose.one_in(4) ? b.dtype() : DType::f32;
  const std::size_t row_rank = exactly(b) ? 1 : b.choose.below(3);
  Shape row;
  for (std::size_t i = 0; i < row_rank; ++i) row = row.insert(0, b.extent());
  const std::int64_t rows = b.extent();
  const Shape index_shape = exactly(b) ? Shape{b.choose.one_in(3) ? Dim(b.extent()) : b.batch()} : b.shape(b.choose.below(3));
  const Value table = b.choose.one_in(3) ? b.table(dtype, row) : b.leaf({dtype, row.insert(0, rows)});
  return b.add(ir::GatherRows{}, {table, b.index(index_shape, b.value(0, table).extents[0])});
}

}  // namespace

/// Rows of a data set, as they are or converted, and what multiplies them.
Value product_of_picked_rows(Builder& b) {
  const Value rows_as_they_are = picked(b);
  const Value x = b.choose.one_in(4) ? rows_as_they_are : link(b, arithmetic(b, rows_as_they_are));
  if (x.shape().rank() != 2) throw Unfit{};
  if (b.choose.one_in(3)) {  // the gradient of their weight
    const Dim rows = x.shape()[0];
    const auto fits = [&](const Shape& s) { return s.rank() == 2 && s[0] == rows && s[1].is_fixed(); };
    b.keep(b.add(ir::Matmul{true, false}, {x, b.floats(fits, {rows, b.extent()})}));
    if (b.choose.below(2)) return b.kept().back();
  }
  return arithmetic(b, link(b, product_with(b, x)));
}

/// An embedding, averaged while it is read: a gather, arithmetic, and a reduction over some axes.
Value reduction_of_picked_rows(Builder& b) {
  const Shape lead = exactly(b) ? Shape{b.batch(), b.extent()} : b.shape(1 + b.choose.below(2));
  const std::int64_t rows = b.extent();
  const Value table = b.leaf({DType::f32, exactly(b) ? Shape{rows, b.extent()} : b.shape(b.choose.below(2)).at(2).insert(0, rows)});
  const Value x = link(b, arithmetic(b, b.add(ir::GatherRows{}, {table, b.index(lead, rows)})));
  const std::size_t first = exactly(b) ? lead.rank() - 1 : b.axis(x.shape());
  const auto last = exactly(b) ? first + 1 : first + 1 + b.choose.below(x.shape().rank() - first);
  const ir::Op ops[] = {ir::Sum{}, ir::Sum{}, ir::Max{}, ir::Prod{}};
  const auto reduce = [&]<class O>(O op) -> Value {
    if constexpr (ir::IsReduction<O>) {
      op.first = static_cast<std::int64_t>(first);
      op.last = static_cast<std::int64_t>(last);
      return b.add(op, {x});
    } else throw Unfit{};
  };
  return arithmetic(b, link(b, std::visit(reduce, b.choose.among(ops))));
}

/// What a scatter adds is repeated, computed, or both.
Value scatter_of_repeated_rows(Builder& b) {
  const Shape updates = b.shape(1 + b.choose.below(3)), index = updates.erase(1 + b.choose.below(updates.rank()), updates.rank());
  Value x = b.beside(DType::f32, updates);
  if (x.shape().rank() > updates.rank()) throw Unfit{};
  if (exactly(b)) x = b.add(ir::Broadcast{broadcast(x.shape(), updates)}, {x});
  const std::int64_t rows = b.extent();
  x = arithmetic(b, x);
  if (x.shape().rank() < index.rank()) throw Unfit{};
  return arithmetic(b, b.add(ir::ScatterAddRows{rows}, {b.index(x.shape().erase(index.rank(), x.shape().rank()), rows), x}));
}

/// An index that is computed, and what is read or written by it.
Value computed_index(Builder& b) {
  const Value x = b.floats([](const Shape& s) { return s.rank() > 0 && s.rank() < 4 && s.back().is_fixed(); }, b.shape(1).at(2).insert(0, b.batch()));
  if (!x.shape().back().is_fixed()) throw Unfit{};
  const std::int64_t columns = x.shape().back().factor();
  const Value best = link(b, b.choose.below(2) ? b.add(ir::Argmax{}, {x}) : b.add(ir::TopK{b.number(1, static_cast<std::size_t>(columns))}, {x}));
  switch (b.choose.below(4)) {
    case 0:
      return b.add(ir::OneHot{columns}, {best});
    case 1:
      return b.add(ir::GatherRows{}, {b.floats(Shape{columns, b.extent()}), best});
    case 2:
      return b.add(ir::ScatterAddRows{columns}, {best, b.floats(best.shape().insert(best.shape().rank(), b.extent()))});
    default:
      return best.shape().rank() == x.shape().rank() ? b.add(ir::TakeAlong{}, {x, best}) : best;
  }
}

}  // namespace sinter::fuzz::motif
