// States, counters and random numbers.
#include "fuzz/program/motif_parts.h"

namespace sinter::fuzz::motif {

using ir::Value;

/// A state whose next value is made of its old one: in the same places, or of others too.
Value state_update(Builder& b) {
  const Shape shape = b.choose.one_in(4) ? b.shape(b.choose.below(4)).at(2) : Shape{b.extent(), b.extent()};
  const std::size_t index = b.graph.states().size();
  const Value s = b.parameter({DType::f32, shape});
  Value next = s;
  const auto rank = shape.rank();
  switch (b.choose.below(9)) {
    case 0:
      if (rank) next = b.add(ir::Softmax{}, {s});
      break;
    case 1:
      if (rank) next = b.add(ir::Cumsum{static_cast<std::int64_t>(b.axis(shape)), b.choose.below(2) == 1}, {s});
      break;
    case 2:
      if (rank) next = b.add(ir::GatherRows{}, {s, b.index({shape[0]}, shape[0].factor())});
      break;
    case 3:
      if (rank) next = b.add(ir::ScatterAddRows{shape[0].factor()}, {b.index({shape[0]}, shape[0].factor()), s});
      break;
    case 4:
      if (rank) next = b.add(ir::TakeAlong{}, {s, b.index(shape, shape.back().factor())});
      break;
    case 5:
      if (rank == 2) next = b.add(ir::Matmul{}, {s, b.floats(Shape{shape[1], shape[1]})});
      break;
    case 6:
      if (rank >= 2 && shape[rank - 1] == shape[rank - 2]) next = b.add(ir::Transpose{}, {s});
      break;
    case 7: {  // rolled
      if (!rank || shape[0].factor() < 2) break;
      const std::int64_t at = b.number(1, static_cast<std::size_t>(shape[0].factor() - 1));
      next = b.add(ir::Concat{0}, {b.add(ir::Slice{0, at, shape[0].factor() - at}, {s}), b.add(ir::Slice{0, 0, at}, {s})});
      break;
    }
    default:
      break;
  }
  next = arithmetic(b, link(b, next));
  if (next.type() == s.type()) b.graph.set_update(index, next.id);
  return next;
}

/// A table whose rows are picked, and to which a gradient of these is added: by the rule of an optimizer, or almost.
Value table_update(Builder& b) {
  const std::int64_t rows = b.number(2, 60);
  const Shape row = b.choose.one_in(4) ? Shape{b.number(1, 4), b.number(1, 20)} : Shape{b.number(1, 40)};
  const Shape places = b.choose.one_in(3) ? Shape{b.batch(), b.number(1, 5)} : Shape{b.batch()};
  const std::size_t first = b.graph.states().size();
  const Type table{DType::f32, row.insert(0, rows)};
  const Value w = b.parameter(table), index = b.index(places, rows), picked = link(b, b.add(ir::GatherRows{}, {w, index}));
  Value g = b.add(ir::ScatterAddRows{rows}, {index, arithmetic(b, picked)});
  if (g.type() != table) throw Unfit{};
  if (!exactly(b)) g = arithmetic(b, link(b, g));
  const auto constant = [&](double value) { return b.add(ir::Constant{value}, {}); };
  const auto update = [&](std::size_t state, Value next) {
    if (next.type() == table) b.graph.set_update(first + state, next.id);
    return next;
  };
  const Value step = b.add(ir::Mul{}, {g, b.leaf({}, 0.01, 1)});
  switch (b.choose.below(4)) {
    case 0:
      return update(0, b.add(ir::Add{}, {w, g}));
    case 1: {  // Adagrad
      const Value total = update(1, b.add(ir::Add{}, {b.parameter(table), b.add(ir::Square{}, {g})}));
      const Value root = b.add(ir::Add{}, {b.add(ir::Sqrt{}, {b.add(ir::Abs{}, {total})}), constant(exactly(b) ? 0x1p-10 : 0)});
      return update(0, b.add(ir::Sub{}, {w, b.add(ir::Div{}, {step, root})}));
    }
    case 2: {  // a lazy one
      const Value changes = b.add(ir::NotEqual{}, {g, constant(exactly(b) ? 0 : 0.5)}), v = b.parameter(table);
      const Value next = update(1, b.add(ir::Select{}, {changes, b.add(ir::Add{}, {arithmetic(b, v), g}), v}));
      return update(0, b.add(ir::Select{}, {changes, b.add(ir::Sub{}, {w, next}), w}));
    }
    default:
      return update(0, b.add(ir::Sub{}, {w, step}));
  }
}

/// A counter, or another scalar, that several kernels compute for themselves.
Value scalar_in_every_kernel(Builder& b) {
  const DType dtype = b.choose.one_in(3) ? DType::i32 : DType::f32;
  const std::size_t index = b.graph.states().size();
  const Value t = b.parameter({dtype, {}}), next = b.add(ir::Add{}, {t, b.add(ir::Constant{1, dtype}, {})});
  if (exactly(b)) b.graph.set_update(index, next.id);
  const Value scale = link(b, arithmetic(b, next));
  for (std::size_t readers = b.choose.below(3); readers > 0; --readers)
    b.keep(b.add(ir::Mul{}, {b.floats([](const Shape&) { return true; }, b.shape()), scale}));
  return b.add(ir::Add{}, {b.floats([](const Shape&) { return true; }, b.shape()), scale});
}

/// Dropout: random words by place, compared with a rate.
Value dropout(Builder& b) {
  const Value x = b.floats([](const Shape&) { return true; }, b.shape());
  const Value place = b.add(ir::Iota{exactly(b) ? x.shape() : b.shape()}, {});
  ir::Philox philox;
  philox.stream = b.number(0, 1000);
  const Value word = link(b, b.add(philox, {place, b.word({})}));
  const Value rate = b.add(ir::Constant{1e9, DType::u32}, {});
  return b.add(ir::Select{}, {link(b, b.add(ir::Less{}, {word, rate})), b.add(ir::Constant{0}, {}), arithmetic(b, x)});
}

}  // namespace sinter::fuzz::motif
