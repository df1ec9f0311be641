// Ops that move elements.
#include <numeric>

#include "fuzz/program/recipes.h"

namespace sinter::fuzz {

using ir::Value;

namespace {

Value any(Builder& b, std::size_t least_rank) {
  const DType dtype = b.choose.one_in(3) ? b.dtype() : DType::f32;
  return b.operand(dtype, [&](const Shape& s) { return s.rank() >= least_rank; }, b.shape(least_rank + b.choose.below(3)));
}

/// `count` elements along a dimension: as many times its symbols.
Dim along(Dim dim, std::size_t count) { return dim.with_factor(static_cast<std::int64_t>(count)); }

}  // namespace

Value make(Builder& b, const ir::Reshape&) {
  const Value x = any(b, 0);
  const Dim all = x.shape().elements();
  std::int64_t left = all.factor();
  std::vector<Dim> dims;
  while (left > 1 && dims.size() < 3) {
    std::vector<std::int64_t> divisors;
    for (std::int64_t d = 1; d <= left; ++d)
      if (left % d == 0) divisors.push_back(d);
    dims.emplace_back(b.choose.among(divisors));
    left /= dims.back().factor();
  }
  if (left > 1 || b.choose.one_in(4)) dims.emplace_back(left);
  for (const Dim symbol : {Dim::batch(), Dim::length()}) {
    if (!quotient(all, symbol)) continue;
    if (dims.empty()) dims.emplace_back(1);
    Dim& dim = dims[b.choose.below(dims.size())];
    dim = dim * symbol;
  }
  return b.add(ir::Reshape{Shape(std::span<const Dim>(dims))}, {x});
}

Value make(Builder& b, const ir::Broadcast&) {
  const Value x = any(b, 0);
  Shape shape = x.shape();
  bool batch = shape.has_batch(), length = shape.has_length();
  const auto chosen = [&] {
    if (!length && b.choose.one_in(4)) {
      const Dim result = b.length();
      length = result.is_length();
      return result;
    }
    if (batch || b.choose.below(2)) return Dim(b.extent());
    batch = true;
    return Dim::batch();
  };
  for (std::size_t i = 0; i < shape.rank(); ++i)
    if (shape[i] == Dim(1) && b.choose.below(4)) shape = shape.with(i, chosen());
  for (std::size_t lead = b.choose.below(3); lead > 0 && shape.rank() < 4; --lead) shape = shape.insert(0, chosen());
  return b.add(ir::Broadcast{shape}, {x});
}

Value make(Builder& b, const ir::Transpose&) { return b.add(ir::Transpose{}, {any(b, 2)}); }

Value make(Builder& b, const ir::Permute&) {
  const Value x = any(b, 1 + b.choose.below(3));
  std::vector<std::int64_t> axes(x.shape().rank());
  std::iota(axes.begin(), axes.end(), 0);
  for (std::size_t i = axes.size(); i > 1; --i) std::swap(axes[i - 1], axes[b.choose.below(i)]);
  return b.add(ir::Permute{Shape(axes)}, {x});
}

Value make(Builder& b, const ir::Slice&) {
  const Value x = any(b, 1);
  const std::size_t axis = b.axis(x.shape());
  const Dim dim = x.shape()[axis];
  const auto all = static_cast<std::size_t>(dim.factor());
  const std::size_t start = b.choose.below(all), size = 1 + b.choose.below(all - start);
  return b.add(ir::Slice{static_cast<std::int64_t>(axis), along(dim, start), along(dim, size)}, {x});
}

Value make(Builder& b, const ir::Pad&) {
  constexpr float values[] = {0, 0, 1, -0.5f};
  const Value x = any(b, 1);
  const std::size_t axis = b.axis(x.shape());
  const Dim dim = x.shape()[axis];
  const std::size_t most = dim.is_fixed() ? 12 : 3, before = b.choose.below(most), after = b.choose.below(most);
  const float value = is_float(x.type().dtype) ? b.choose.among(values) : 0;
  return b.add(ir::Pad{static_cast<std::int64_t>(axis), along(dim, before), along(dim, after), value}, {x});
}

Value make(Builder& b, const ir::Shift&) {
  constexpr float values[] = {0, 0, 1, -0.5f};
  const auto axes_of = [](const Shape& shape) {
    std::vector<std::size_t> axes;
    for (std::size_t axis = 0; axis < shape.rank(); ++axis)
      if (!shape[axis].is_batch()) axes.push_back(axis);
    return axes;
  };
  const DType dtype = b.choose.one_in(3) ? b.dtype() : DType::f32;
  const Shape other = b.shape(b.choose.below(3));
  const Value x = b.operand(dtype, [&](const Shape& s) { return !axes_of(s).empty(); }, other.insert(other.rank(), b.extent()));
  const std::size_t axis = b.choose.among(axes_of(x.shape()));
  const auto most = static_cast<std::size_t>(std::min<std::int64_t>(5, x.shape()[axis].factor() + 2));
  const auto by = static_cast<std::int64_t>(b.choose.below(2 * most + 1)) - static_cast<std::int64_t>(most);
  const float value = is_float(x.type().dtype) ? b.choose.among(values) : 0;
  return b.add(ir::Shift{static_cast<std::int64_t>(axis), by, value}, {x});
}

Value make(Builder& b, const ir::Concat&) {
  const Value x = any(b, 1);
  const std::size_t axis = b.axis(x.shape());
  ir::Values in{x};
  const bool many = !b.choose.one_in(3);  // more than passes leave in one op
  for (std::size_t more = many ? 16 + b.choose.below(20) : b.choose.below(4); more > 0; --more) {
    const Shape other = x.shape().with(axis, along(x.shape()[axis], 1 + b.choose.below(x.shape()[axis].is_fixed() && !many ? 17 : 3)));
    const auto fits = [&](const Shape& s) {
      return s.rank() == other.rank() && s[axis].with_factor(1) == other[axis].with_factor(1) && s.with(axis, 1) == other.with(axis, 1);
    };
    in.push_back(b.operand(x.type().dtype, fits, other));
  }
  return b.add(ir::Concat{static_cast<std::int64_t>(axis)}, in);
}

}  // namespace sinter::fuzz
