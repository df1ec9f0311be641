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

namespace {

/// Which steps of samples exist: those below a number of each sample, from one on, or any.
Value mask_of_steps(Builder& b, Dim rows) {
  const Shape shape{Dim::batch(), rows};
  if (b.choose.one_in(4)) return b.leaf({DType::boolean, shape});
  const Value step = b.add(ir::Cast{{}, DType::i32}, {b.add(ir::Iota{{1, rows}}, {})});
  const Value number = b.index({Dim::batch(), 1}, rows.is_fixed() ? rows.factor() + 1 : 8);
  const Value length = number.type().dtype == DType::i32 ? number : b.add(ir::Cast{{}, DType::i32}, {number});
  return b.choose.one_in(3) ? b.add(ir::LessEqual{}, {length, step}) : b.add(ir::Less{}, {step, length});
}

/// Where the mask is true one value, else the other: most often 0.
Value masked(Builder& b, Value mask, Value x) {
  Shape shape = x.shape();
  for (std::size_t d = shape[0] == Dim::batch() ? 2 : 1; d < shape.rank(); ++d) shape = shape.with(d, 1);
  const Value condition = mask.shape() == shape ? mask : b.add(ir::Reshape{shape}, {mask});
  const Value other = exactly(b) ? b.add(ir::Constant{0}, {}) : b.beside(DType::f32, x.shape());
  return b.add(ir::Select{}, b.choose.one_in(8) ? ir::Values{condition, other, x} : ir::Values{condition, x, other});
}

/// Something of each step of its own.
Value of_each_step(Builder& b, Value x) {
  const std::size_t last = x.shape().rank() - 1;
  switch (b.choose.below(5)) {
    case 0: {
      const Value rows = last == 1 ? x : b.add(ir::Reshape{{x.shape().product(0, last), x.shape()[last]}}, {x});
      const Value product = b.add(ir::Matmul{}, {rows, b.floats(Shape{x.shape()[last], b.number(2, 20)})});
      return last == 1 ? product : b.add(ir::Reshape{x.shape().with(last, product.shape()[1])}, {product});
    }
    case 1:
      return b.add(ir::Softmax{}, {x});
    case 2:
      return with_row_sums(b, x);
    case 3:
      return b.add(ir::Mul{}, {x, b.beside(DType::f32, x.shape())});
    default:
      return arithmetic(b, x);
  }
}

}  // namespace

/// Values over steps of which a mask leaves some out, and sums over them.
Value masked_steps(Builder& b) {
  constexpr std::int64_t counts[] = {15, 16, 17, 24};
  const Dim n = Dim::batch(), steps = b.has_lengths() && b.choose.below(4) ? b.length() : Dim(b.choose.among(counts));
  const Value mask = mask_of_steps(b, steps);
  Value x = b.floats({n, steps, b.number(2, 9)}), before = x;
  for (std::size_t left = 1 + b.choose.below(5); left > 0; --left) {
    if (b.choose.one_in(3)) x = b.add(ir::Reshape{x.shape().rank() == 3 ? Shape{n * steps, x.shape()[2]} : Shape{n, steps, x.shape()[1]}}, {x});
    x = link(b, b.choose.one_in(3) ? masked(b, mask, x) : of_each_step(b, x));
    if (b.choose.one_in(3)) before = x;
  }
  x = masked(b, mask, x);
  const auto matrix = [&](Value of) { return of.shape().rank() == 2 ? of : b.add(ir::Reshape{{n * steps, of.shape()[2]}}, {of}); };
  switch (b.choose.one_in(3) ? 0 : b.choose.below(4)) {
    case 0: {  // as a weight's gradient; one in slots
      const bool is_wide = b.choose.below(4);
      if (is_wide) b.allow(200'000, 2e7);
      const Value rows = is_wide ? b.floats({n * steps, b.number(33, 70)}) : matrix(before);
      const Value other = is_wide ? matrix(masked(b, mask, b.floats({n, steps, b.number(113, 130)}))) : matrix(x);
      return arithmetic(b, b.add(ir::Matmul{true, false}, b.choose.below(2) ? ir::Values{rows, other} : ir::Values{other, rows}));
    }
    case 1:
      return arithmetic(b, b.add(ir::Sum{0, static_cast<std::int64_t>(x.shape().rank()) - 1}, {x}));
    case 2:
      return arithmetic(b, b.add(ir::ScatterAddRows{12}, {b.index({n * steps}, 12), matrix(x)}));
    default:
      return x;
  }
}

}  // namespace sinter::fuzz::motif
