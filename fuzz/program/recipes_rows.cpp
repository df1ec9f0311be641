// Ops along an axis, and ops that read or write by index.
#include "fuzz/program/recipes.h"

namespace sinter::fuzz {

using ir::Value;

namespace {

bool has_rows(const Shape& s) { return s.rank() > 0 && s.back().is_fixed(); }

/// A shape whose last dimension is fixed.
Shape rows_shape(Builder& b) { return b.shape(b.choose.below(4)).insert(0, b.extent()); }
Shape with_columns(Builder& b, const Shape& lead) { return lead.insert(lead.rank(), b.extent()); }

Value rows(Builder& b, DType dtype = DType::f32) { return b.operand(dtype, has_rows, with_columns(b, b.shape(b.choose.below(4)))); }

Shape lead(const Shape& shape, std::size_t rank) { return shape.erase(rank, shape.rank()); }

}  // namespace

Value make(Builder& b, const ir::Argmax&) { return b.add(ir::Argmax{}, {rows(b)}); }
Value make(Builder& b, const ir::Softmax&) { return b.add(ir::Softmax{}, {rows(b)}); }
Value make(Builder& b, const ir::LogSoftmax&) { return b.add(ir::LogSoftmax{}, {rows(b)}); }

Value make(Builder& b, const ir::Cumsum&) {
  const Value x = b.operand(b.numbers(), [](const Shape& s) { return s.rank() > 0; }, rows_shape(b));
  return b.add(ir::Cumsum{static_cast<std::int64_t>(b.axis(x.shape())), b.choose.below(2) == 1}, {x});
}

/// Of numbers that fit.
Value make(Builder& b, const ir::ExactTotal&) {
  const Value x = b.operand(b.choose.below(2) ? DType::i32 : DType::u32, [](const Shape&) { return true; }, b.shape(b.choose.below(4)));
  return b.add(ir::ExactTotal{}, {x, b.add(ir::Cast{{}, DType::f32}, {x})});
}

Value make(Builder& b, const ir::TopK&) {
  const Value x = rows(b, b.numbers());
  return b.add(ir::TopK{static_cast<std::int64_t>(1 + b.choose.below(static_cast<std::size_t>(x.shape().back().factor())))}, {x});
}

Value make(Builder& b, const ir::GatherRows&) {
  const bool data_set = b.choose.one_in(3);
  const DType dtype = b.choose.one_in(4) ? b.dtype() : DType::f32;
  const auto fits = [](const Shape& s) { return s.rank() > 0 && s[0].is_fixed(); };
  const Value table =
      data_set ? b.table(dtype, b.shape(b.choose.below(4)).at(2)) : b.operand(dtype, fits, b.shape(b.choose.below(4)).at(1).insert(0, b.extent()));
  Shape index = b.shape(b.choose.below(4));
  if (!table.shape().product(1, table.shape().rank()).is_fixed()) index = index.at(2);  // one N and one T a shape
  return b.add(ir::GatherRows{}, {table, b.index(index, b.value(0, table).extents[0])});
}

Value make(Builder& b, const ir::ScatterAddRows&) {
  const Value updates = b.floats([](const Shape&) { return true; }, b.shape(1 + b.choose.below(4)));
  const Shape index = lead(updates.shape(), b.choose.below(updates.shape().rank() + 1));
  const std::int64_t count = b.extent();
  return b.add(ir::ScatterAddRows{count}, {b.index(index, count), updates});
}

Value make(Builder& b, const ir::OneHot&) {
  const std::int64_t depth = b.extent();
  return b.add(ir::OneHot{depth}, {b.index(b.shape(b.choose.below(4)), depth)});
}

Value make(Builder& b, const ir::TakeAlong&) {
  const DType dtype = b.choose.one_in(4) ? b.dtype() : DType::f32;
  const Value x = b.operand(dtype, has_rows, with_columns(b, b.shape(b.choose.below(4))));
  return b.add(ir::TakeAlong{}, {x, b.index(with_columns(b, lead(x.shape(), x.shape().rank() - 1)), x.shape().back().factor())});
}

Value make(Builder& b, const ir::ScatterAddAlong&) {
  const Value updates = rows(b);
  const std::int64_t cols = b.extent();
  return b.add(ir::ScatterAddAlong{cols}, {b.index(updates.shape(), cols), updates});
}

}  // namespace sinter::fuzz
