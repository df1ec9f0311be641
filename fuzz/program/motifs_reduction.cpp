// Sums and what is made of them.
#include "fuzz/program/motif_parts.h"

namespace sinter::fuzz::motif {

using ir::Value;

/// log(softmax(x)), and the form of its gradient.
Value log_of_softmax(Builder& b) {
  const Value x = b.floats([](const Shape& s) { return s.rank() > 0 && s.back().is_fixed(); }, b.shape(b.choose.below(4)).insert(0, b.extent()));
  if (!x.shape().back().is_fixed()) throw Unfit{};
  const Value y = link(b, b.add(ir::Softmax{}, {x})), log_y = b.add(ir::Log{}, {y});
  b.keep(log_y);
  if (b.choose.one_in(3)) return log_y;
  const Value d = link(b, b.add(ir::Div{}, {exactly(b) ? b.floats(y.shape()) : b.beside(DType::f32, y.shape()), y}));
  const Value product = b.add(ir::Mul{}, {d, y});
  const auto rank = static_cast<std::int64_t>(product.shape().rank()), last = exactly(b) ? rank : b.number(1, static_cast<std::size_t>(rank));
  const Value total = link(b, b.add(ir::Sum{last - 1, last}, {product}));
  const Value row = b.add(ir::Reshape{product.shape().with(static_cast<std::size_t>(last - 1), 1)}, {total});
  return b.add(ir::Mul{}, {link(b, b.add(ir::Sub{}, {d, row})), y});
}

/// More numbers than one chunk adds up.
Value long_reduction(Builder& b) {
  constexpr std::int64_t lengths[] = {1025, 1100, 2048, 1024, 3000};
  const Shape shape = b.choose.below(2) ? Shape{b.choose.among(lengths)} : Shape{b.number(30, 50), b.number(30, 50)};
  const Value x = arithmetic(b, b.floats(shape));
  const auto rank = static_cast<std::int64_t>(x.shape().rank());
  return arithmetic(b, b.choose.one_in(3) ? b.add(ir::Max{0, rank}, {x}) : b.add(ir::Sum{0, rank}, {x}));
}

/// A sum, product or scatter of so many terms that they are added in chains: thousands, now and then a million.
Value sum_of_chains(Builder& b) {
  const std::int64_t length = b.choose.one_in(16) ? b.number(900'000, 1'000'000) : b.number(1'000, 12'000), columns = b.number(1, 3);
  b.allow(4 * length, 50.0 * static_cast<double>(length));
  const auto pick = [&](const Shape& shape) { return b.choose.one_in(3) ? b.leaf({DType::f32, shape}, 0.5, 1) : b.leaf({DType::f32, shape}); };
  const auto term = [&](const Value& x) { return b.choose.one_in(3) ? b.add(ir::Square{}, {x}) : x; };
  const auto sum = [&](const Value& x, std::int64_t first, std::int64_t last) { return b.add(ir::Sum{first, last}, {term(x)}); };
  switch (b.choose.below(7)) {
    case 0:
      return arithmetic(b, sum(pick({length, columns}), 0, 1));
    case 1:
      return arithmetic(b, sum(pick({columns, length}), 1, 2));
    case 2:
      return arithmetic(b, sum(pick({length, columns}), 0, 2));
    case 3:
      return arithmetic(b, b.add(ir::Matmul{true, false}, {pick({length, columns}), pick({length, b.number(1, 3)})}));
    case 4:
      return arithmetic(b, b.add(ir::Matmul{false, true}, {pick({columns, length}), pick({b.number(1, 3), length})}));
    case 5: {
      const std::int64_t rows = b.number(1, 4);
      return arithmetic(b, b.add(ir::ScatterAddRows{rows}, {b.index({length}, rows), term(pick({length, columns}))}));
    }
    default:
      return sum(b.add(ir::Softmax{}, {pick({columns, length})}), 1, 2);
  }
}

/// Less its mean, over its deviation, along some axes.
Value normalized(Builder& b) {
  const Value x = b.floats([](const Shape& s) { return s.rank() > 0; }, b.shape(1 + b.choose.below(4)));
  const std::size_t rank = x.shape().rank(), first = b.axis(x.shape()), last = first + 1 + b.choose.below(rank - first);
  Shape kept = x.shape();
  Dim count = 1;
  for (std::size_t axis = first; axis < last; ++axis) {
    count = count * kept[axis];
    kept = kept.with(axis, 1);
  }
  const auto mean = [&](Value v) {
    const Value total = link(b, b.add(ir::Sum{static_cast<std::int64_t>(first), static_cast<std::int64_t>(last)}, {v}));
    return b.add(ir::Reshape{kept}, {b.add(ir::Div{}, {total, b.add(ir::Extent{count}, {})})});
  };
  const Value centred = link(b, b.add(ir::Sub{}, {x, mean(x)}));
  if (b.choose.below(2)) return arithmetic(b, centred);
  const Value variance = b.add(ir::Add{}, {mean(b.add(ir::Square{}, {centred})), b.add(ir::Constant{0.01f}, {})});
  return arithmetic(b, b.add(ir::Mul{}, {centred, link(b, b.add(ir::Rsqrt{}, {variance}))}));
}

/// Sums of multiples of a value along its first axes; sometimes of what is apart from its mean, too.
Value related_sums(Builder& b) {
  const Value x = b.floats([](const Shape& s) { return s.rank() > 1 && s.rank() < 5; }, b.shape(2 + b.choose.below(2)));
  const std::size_t last = 1 + b.choose.below(x.shape().rank() - 1);
  const ir::Sum sum{0, static_cast<std::int64_t>(last)};
  const auto times_factor = [&](Value v) {
    const Value factor = exactly(b) ? b.floats(x.shape().erase(0, last)) : b.beside(DType::f32, x.shape());
    return link(b, b.choose.below(2) ? b.add(ir::Mul{}, {v, factor}) : b.add(ir::Mul{}, {factor, v}));
  };
  const Value first = b.add(sum, {times_factor(x)});
  b.keep(first);
  Value terms = times_factor(x);
  if (b.choose.below(2)) {
    const Value count = b.add(ir::Extent{x.shape().product(0, exactly(b) ? last : 1)}, {});
    const Value centred = b.add(ir::Sub{}, {x, b.add(ir::Div{}, {b.add(sum, {x}), count})});
    terms = b.add(ir::Add{}, {terms, times_factor(centred)});
  }
  return arithmetic(b, b.add(ir::Add{}, {first, b.add(sum, {terms})}));
}

/// Reductions over the same rows, of values that have something in common.
Value reductions_together(Builder& b) {
  b.allow(50'000, 1e7);
  const std::int64_t columns = b.choose.one_in(4) ? b.number(1, 16) : b.number(17, 40);
  const Shape shape = b.choose.one_in(3) ? b.shape(b.choose.below(3)).insert(0, b.batch()) : Shape{b.batch(), b.number(16, 24), columns};
  Value common = arithmetic(b, b.add(ir::Mul{}, {b.floats(shape), b.floats(shape)}));
  if (exactly(b)) common = b.add(ir::Tanh{}, {common});  // too much to be computed by each reader
  const auto rank = static_cast<std::int64_t>(common.shape().rank()), last = rank > 1 && b.choose.below(2) ? rank - 1 : rank;
  const std::int64_t count = b.choose.one_in(8) ? b.number(5, 6) : b.number(2, 4);
  Value total;
  for (std::int64_t i = 0; i < count; ++i) {
    const Value x = exactly(b) ? arithmetic(b, common) : b.floats(common.shape());
    const Value reduced = arithmetic(b, b.choose.one_in(12) ? b.add(ir::Max{0, last}, {x}) : b.add(ir::Sum{0, last}, {x}));
    b.keep(reduced);
    total = reduced;
  }
  return total;
}

/// A count: a sum or running sums of what was compared, as integers.
Value count(Builder& b) {
  const Value x = b.floats([](const Shape& s) { return s.rank() > 0; }, b.shape(1 + b.choose.below(3)));
  const Value yes = link(b, b.add(ir::Less{}, {b.beside(DType::f32, x.shape()), x}));
  const Value one = b.add(ir::Cast{{}, exactly(b) ? DType::i32 : DType::u32}, {yes});
  const auto rank = static_cast<std::int64_t>(one.shape().rank());
  if (rank == 0 || b.choose.one_in(3)) return b.add(ir::Cumsum{static_cast<std::int64_t>(b.axis(one.shape())), false}, {one});
  return b.add(ir::Cast{{}, DType::f32}, {link(b, b.add(ir::Sum{b.choose.below(2) ? 0 : rank - 1, rank}, {one}))});
}

}  // namespace sinter::fuzz::motif
