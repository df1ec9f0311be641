// Samples of many rows, which chunks divide.
#include "fuzz/program/motif_parts.h"

namespace sinter::fuzz::motif {

using ir::Value;

namespace {

/// The same rows as samples of a matrix, or of a matrix of several leading dimensions.
Value in_another_form(Builder& b, Value x, Dim rows) {
  const Dim n = Dim::batch(), width = x.shape().back();
  std::vector<Shape> forms{{n, rows, width}, {n * rows, width}};
  if (const std::optional<Dim> half = quotient(rows, 2)) {
    forms.push_back({Dim::batch(2), *half, width});
    forms.push_back({n, 2, *half, width});
  } else {
    forms.push_back({n, 1, rows, width});
  }
  return b.add(ir::Reshape{b.choose.among(forms)}, {x});
}

/// Less, or times, a number of each row that is computed from all of it.
Value with_row_sums(Builder& b, Value x) {
  const auto last = static_cast<std::int64_t>(x.shape().rank());
  const Value from = b.choose.below(2) ? x : arithmetic(b, x);
  const Value total = link(b, arithmetic(b, b.choose.one_in(3) ? b.add(ir::Max{last - 1, last}, {from}) : b.add(ir::Sum{last - 1, last}, {from})));
  const Value column = b.add(ir::Reshape{x.shape().with(x.shape().rank() - 1, 1)}, {total});
  return b.choose.below(2) ? b.add(ir::Sub{}, {x, column}) : b.add(ir::Mul{}, {column, x});
}

}  // namespace

/// What is done to each row, to each sample and to all rows, in some order.
Value many_rows(Builder& b) {
  constexpr std::int64_t counts[] = {128, 130, 160, 126};
  const Dim rows = b.has_lengths() && b.choose.below(4) ? b.length() : Dim(b.choose.among(counts));
  Value x = b.floats({Dim::batch(), rows, b.number(1, 9)});
  for (std::size_t left = 1 + b.choose.below(4); left > 0; --left) {
    x = link(b, exactly(b) ? x : in_another_form(b, x, rows));
    const auto rank = static_cast<std::int64_t>(x.shape().rank());
    switch (b.choose.below(6)) {
      case 0:
        x = b.add(ir::Reshape{{Dim::batch() * rows, x.shape().back()}}, {x});
        x = arithmetic(b, b.add(ir::Matmul{}, {x, b.floats({x.shape()[1], b.number(1, 9)})}));
        break;
      case 1:
        x = with_row_sums(b, x);
        break;
      case 2:
        x = b.add(ir::Softmax{}, {x});
        break;
      case 3:
        b.keep(arithmetic(b, b.add(ir::Sum{0, rank - 1}, {arithmetic(b, x)})));
        break;
      case 4:
        b.keep(arithmetic(b, b.add(ir::Sum{1, rank}, {x})));
        break;
      default:
        x = arithmetic(b, b.add(ir::Mul{}, {x, b.beside(DType::f32, x.shape())}));
    }
  }
  return x;
}

}  // namespace sinter::fuzz::motif
