// Reshapes and permutations.
#include "fuzz/program/motif_parts.h"

namespace sinter::fuzz::motif {

using ir::Value;

namespace {

/// Two neighbouring axes as one.
Shape joined(Builder& b, const Shape& shape, bool keep_columns) {
  if (shape.rank() < (keep_columns ? 3u : 2u)) return shape.insert(b.choose.below(shape.rank() + (keep_columns ? 0 : 1)), 1);
  const std::size_t axis = b.choose.below(shape.rank() - (keep_columns ? 2 : 1));
  const Dim product = shape[axis] * shape[axis + 1];
  return shape.erase(axis, axis + 2).insert(axis, product);
}

}  // namespace

/// Reshapes that keep the columns, or not, with pointwise ops and a sum between them.
Value reshapes(Builder& b) {
  const Value x = b.floats([](const Shape& s) { return s.rank() > 0; }, b.shape(2 + b.choose.below(3)));
  const Shape joint = joined(b, x.shape(), exactly(b));
  const bool split = b.choose.below(2);
  Value y = link(b, b.add(ir::Reshape{joint}, {x}));
  if (y.shape().rank() && y.shape().back().is_fixed() && exactly(b)) y = link(b, b.add(ir::Add{}, {y, b.floats(Shape{y.shape().back()})}));
  y = link(b, arithmetic(b, y));
  if (b.choose.below(2) && y.shape().rank()) {
    const std::size_t first = b.axis(y.shape());
    return b.add(ir::Sum{static_cast<std::int64_t>(first), static_cast<std::int64_t>(first + 1 + b.choose.below(y.shape().rank() - first))}, {y});
  }
  if (!split) return y;
  return y.shape().elements() == x.shape().elements() ? b.add(ir::Reshape{x.shape()}, {y}) : y;
}

/// What becomes of a permutation of axes: transposes of the last two of three, each after a reshape.
Value permutation(Builder& b) {
  Value x = b.operand(b.choose.one_in(4) ? b.dtype() : DType::f32, [](const Shape& s) { return s.rank() >= 3; }, b.shape(3 + b.choose.below(2)));
  for (std::size_t more = 1 + b.choose.below(3); more > 0; --more) {
    const Shape& s = x.shape();
    const std::size_t first = b.choose.below(s.rank() - 1), second = first + 1 + b.choose.below(s.rank() - first - 1);
    const Shape blocks{s.product(0, first), s.product(first, second), s.product(second, s.rank())};
    std::vector<Dim> dims(s.begin(), s.begin() + first);
    dims.insert(dims.end(), s.begin() + second, s.end());
    dims.insert(dims.end(), s.begin() + first, s.begin() + second);
    x = b.add(ir::Transpose{}, {ir::reshape(x, blocks)});
    if (exactly(b)) x = b.add(ir::Reshape{Shape(std::span<const Dim>(dims))}, {x});
    x = link(b, x);
    if (is_float(x.type().dtype) && b.choose.one_in(3)) x = arithmetic(b, x);
  }
  return x;
}

namespace {

/// A value of this shape whose elements are those of a leaf at other places.
Value from_elsewhere(Builder& b, const Shape& shape) {
  const std::size_t axis = b.axis(shape), rank = shape.rank();
  const std::size_t which = b.choose.below(3);
  if (which == 0 && rank > 1) {
    const Shape turned = shape.with(rank - 1, shape[rank - 2]).with(rank - 2, shape[rank - 1]);
    return b.add(ir::Transpose{}, {b.floats(turned)});
  }
  if (which == 1) return b.add(ir::Reshape{shape}, {b.floats(joined(b, shape, false))});
  if (!shape[axis].is_fixed()) throw Unfit{};
  const std::int64_t start = b.number(0, 3);
  return b.add(ir::Slice{static_cast<std::int64_t>(axis), start, shape[axis]},
               {b.floats(shape.with(axis, shape[axis].factor() + start + b.number(0, 2)))});
}

}  // namespace

/// Elements at other places before a reduction, or after a product or softmax.
Value moved(Builder& b) {
  const Value x = b.floats([](const Shape& s) { return s.rank() > 0 && s.back().is_fixed(); }, b.shape(b.choose.below(3)).insert(0, b.extent()));
  if (!x.shape().back().is_fixed()) throw Unfit{};
  if (b.choose.below(2)) {
    const Value y = link(b, b.add(ir::Mul{}, {x, from_elsewhere(b, x.shape())}));
    const auto rank = static_cast<std::int64_t>(y.shape().rank());
    return b.add(ir::Sum{b.choose.below(2) ? 0 : rank - 1, rank}, {y});
  }
  const Value y = link(b, b.choose.below(2) ? b.add(ir::Softmax{}, {x}) : product_with(b, x));
  return arithmetic(b, b.add(ir::Mul{}, {y, from_elsewhere(b, y.shape())}));
}

}  // namespace sinter::fuzz::motif
