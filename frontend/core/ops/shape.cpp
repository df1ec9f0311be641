#include "frontend/core/ops/shape.h"

#include <algorithm>
#include <numeric>

#include "frontend/core/number.h"
#include "frontend/core/operands.h"
#include "frontend/core/trace.h"
#include "ir/positions.h"

namespace sinter {

namespace {

/// Throws UserError for N, T or R in a shape that is given outside of a trace, where they are no numbers.
void require_numbers(const char* function, const Shape& shape, const std::source_location& where) {
  if (!shape.is_fixed() && !Trace::current())
    fail(where, str(function, ": ", shape, " has a dimension without a value outside of compiled functions; take it from a tensor, x.dim(0), which ",
                    "serves both"));
}

}  // namespace

Tensor reshape(const Arg& x, const std::vector<Dim>& dims) {
  const Tensor a = x.as(DType::f32);
  std::vector<Dim> wanted = dims;
  const auto open = std::find(wanted.begin(), wanted.end(), Dim(-1));
  if (open != wanted.end()) {
    *open = 1;
    if (std::find(wanted.begin(), wanted.end(), Dim(-1)) != wanted.end()) fail(x.where(), "reshape: only one dimension may be -1");
    const Dim rest = Shape(std::span<const Dim>(wanted)).elements(), all = a.shape().elements();
    const std::optional<Dim> left = quotient(all, rest);
    if (!left) fail(x.where(), str("reshape: cannot fit ", a.shape(), " with what is left to -1"));
    *open = *left;
  }
  const Shape shape{std::span<const Dim>(wanted)};
  require_numbers("reshape", shape, x.where());
  return a.shape() == shape ? a : apply(ir::Reshape{shape}, {&a}, x.where());
}

Tensor broadcast_to(const Arg& x, const Shape& shape) {
  const Tensor a = x.as(DType::f32);
  require_numbers("broadcast_to", shape, x.where());
  return a.shape() == shape ? a : apply(ir::Broadcast{shape}, {&a}, x.where());
}

Tensor transpose(const Arg& x) { return unary(ir::Transpose{}, x); }

namespace {

std::string listed(const std::vector<std::int64_t>& numbers) {
  std::string text;
  for (const std::int64_t number : numbers) text += (text.empty() ? "" : ",") + str(number);
  return text;
}

/// Axes that stay adjacent, in this order.
struct Block {
  std::size_t first, last;  ///< axes [first, last) of the operand
  Dim size;
};

/// The blocks in the order of the result. Axes of one element belong to none.
std::vector<Block> blocks_of(const Shape& shape, const std::vector<std::size_t>& order) {
  std::vector<Block> blocks;
  for (const std::size_t axis : order) {
    if (shape[axis] == Dim(1)) continue;
    const auto between_is_one = [&](std::size_t from) { return from <= axis && shape.product(from, axis) == Dim(1); };
    if (!blocks.empty() && between_is_one(blocks.back().last)) {
      blocks.back().last = axis + 1;
      blocks.back().size = blocks.back().size * shape[axis];
    } else {
      blocks.push_back({axis, axis + 1, shape[axis]});
    }
  }
  return blocks;
}

}  // namespace

/// Where the last axes exchange places with those before them, a transpose of the last two of three, [done, B, C]: products read it in place.
Tensor permuted(const Tensor& x, const std::vector<std::size_t>& order, const std::source_location& where) {
  std::vector<Dim> dims;
  for (const std::size_t axis : order) dims.push_back(x.shape()[axis]);
  const std::vector<Block> wanted = blocks_of(x.shape(), order);
  std::vector<Block> present = wanted;
  const auto first = [](const Block& block) { return block.first; };
  std::ranges::sort(present, {}, first);
  const auto [moved, here] = std::ranges::mismatch(wanted, present, {}, first, first);
  if (moved == wanted.end()) return reshape({x, where}, dims);
  const auto found = std::ranges::find(present, moved->first, first);
  const auto size = [](auto from, auto to) {
    return std::accumulate(from, to, Dim(1), [](Dim product, const Block& block) { return product * block.size; });
  };
  const std::vector<Dim> matrix{size(present.begin(), here), size(here, found), size(found, present.end())};
  std::rotate(here, found, present.end());
  if (std::ranges::equal(wanted, present, {}, first, first)) return reshape({transpose({reshape({x, where}, matrix), where}), where}, dims);
  const std::vector<std::int64_t> axes(order.begin(), order.end());
  return apply(ir::Permute{Shape(axes)}, {&x}, where);
}

Tensor permute(const Arg& arg, const std::vector<std::int64_t>& axes) {
  const Tensor x = arg.as(DType::f32);
  const std::size_t rank = x.rank();
  std::vector<std::size_t> order;
  for (const std::int64_t axis : axes) order.push_back(resolved_axis(axis, rank, arg.where()));
  std::vector<std::size_t> sorted = order;
  std::sort(sorted.begin(), sorted.end());
  if (order.size() != rank || std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end())
    fail(arg.where(), str("permute needs each axis of ", x.type(), " once, got [", listed(axes), "]"));
  return permuted(x, order, arg.where());
}

Tensor concat(const std::vector<Tensor>& parts, std::int64_t axis, std::source_location where) {
  if (parts.empty()) fail(where, "concat needs at least 1 tensor, got none");
  std::vector<const Tensor*> in;
  for (const Tensor& part : parts) in.push_back(&part);
  return apply(ir::Concat{static_cast<std::int64_t>(resolved_axis(axis, parts[0].rank(), where))}, in, where);
}

Tensor stack(const std::vector<Tensor>& parts, std::int64_t axis, std::source_location where) {
  if (parts.empty()) fail(where, "stack needs at least 1 tensor, got none");
  const std::size_t at = resolved_axis(axis, parts[0].rank() + 1, where);
  std::vector<Tensor> rows;
  for (const Tensor& part : parts) {
    const Shape shape = part.shape().insert(std::min(at, part.rank()), 1);
    rows.push_back(reshape({part, where}, {shape.begin(), shape.end()}));
  }
  return concat(rows, static_cast<std::int64_t>(at), where);
}

Tensor slice(const Arg& arg, std::int64_t axis, std::int64_t begin, std::int64_t end) {
  const Tensor x = arg.as(DType::f32);
  const std::size_t at = resolved_axis(axis, x.rank(), arg.where());
  const std::int64_t size = fixed_size(x, at, "slice", arg.where());
  if (begin < 0) begin += size;
  if (end < 0) end += size;
  if (begin < 0 || begin >= end || end > size)
    fail(arg.where(), str("slice [", begin, ", ", end, ") of axis ", at, " of ", x.type(), " is empty or outside"));
  return apply(ir::Slice{static_cast<std::int64_t>(at), begin, end - begin}, {&x}, arg.where());
}

namespace {

/// The elements of an axis that a slice selects: padded to whole steps, of which each first element is taken.
Tensor every(const Tensor& x, std::size_t axis, const Slice& s, const std::source_location& where) {
  const auto at = static_cast<std::int64_t>(axis);
  const Tensor part = slice({x, where}, at, s.begin, s.end == Slice::to_end ? fixed_size(x, axis, "slice", where) : s.end);
  if (s.step == 1) return part;
  const std::int64_t size = part.shape()[axis].factor(), count = (size + s.step - 1) / s.step, missing = count * s.step - size;
  const Tensor whole = missing ? pad({part, where}, at, 0, missing) : part;
  const Dim outer = x.shape().product(0, axis), inner = x.shape().product(axis + 1, x.rank());
  const Tensor firsts = slice({reshape({whole, where}, {outer, count, s.step, inner}), where}, 2, 0, 1);
  const Shape shape = x.shape().with(axis, count);
  return reshape({firsts, where}, {shape.begin(), shape.end()});
}

}  // namespace

Tensor slice(const Arg& arg, const std::vector<Slice>& slices) {
  Tensor x = arg.as(DType::f32);
  if (slices.size() > x.rank()) fail(arg.where(), str("slice of ", slices.size(), " axes of ", x.type(), ", which has ", x.rank()));
  for (std::size_t axis = 0; axis < slices.size(); ++axis) {
    const Slice& s = slices[axis];
    if (s.step < 1) fail(arg.where(), str("slice needs a step of at least 1, got ", s.step, "; flip reverses an axis"));
    if (s.begin != 0 || s.end != Slice::to_end || s.step != 1) x = every(x, axis, s, arg.where());
  }
  return x;
}

Tensor Tensor::operator[](const Index& index) const {
  if (rank() == 0) fail(index.where, "a scalar has no rows; item() reads it");
  const std::int64_t size = fixed_size(*this, 0, "x[i]", index.where), row = index.number < 0 ? index.number + size : index.number;
  if (row < 0 || row >= size) fail(index.where, str("index ", index.number, " is outside [", -size, ", ", size, "), the rows of ", type()));
  const Shape rest = shape().erase(0, 1);
  return reshape({slice({*this, index.where}, 0, row, row + 1), index.where}, {rest.begin(), rest.end()});
}

std::vector<Tensor> split(const Arg& arg, const std::vector<std::int64_t>& sizes, std::int64_t axis) {
  const Tensor x = arg.as(DType::f32);
  const std::size_t at = resolved_axis(axis, x.rank(), arg.where());
  const std::int64_t size = fixed_size(x, at, "split", arg.where());
  std::int64_t total = 0;
  for (const std::int64_t part : sizes) total += part;
  if (total != size) fail(arg.where(), str("the sizes must add up to ", size, ", axis ", at, " of ", x.type(), ", got ", total));
  std::vector<Tensor> parts;
  std::int64_t begin = 0;
  for (const std::int64_t part : sizes) {
    parts.push_back(slice({x, arg.where()}, static_cast<std::int64_t>(at), begin, begin + part));
    begin += part;
  }
  return parts;
}

Tensor pad(const Arg& arg, std::int64_t axis, std::int64_t before, std::int64_t after, float value) {
  const Tensor x = arg.as(DType::f32);
  const std::size_t at = resolved_axis(axis, x.rank(), arg.where());
  fixed_size(x, at, "pad", arg.where());
  if (const std::string wrong = misfit(static_cast<double>(value), x.dtype()); !wrong.empty()) fail(arg.where(), str("pad: ", wrong));
  return apply(ir::Pad{static_cast<std::int64_t>(at), before, after, value}, {&x}, arg.where());
}

Tensor shift(const Arg& arg, std::int64_t by, std::int64_t axis, float value) {
  const Tensor x = arg.as(DType::f32);
  const std::size_t at = resolved_axis(axis, x.rank(), arg.where());
  if (const std::string wrong = misfit(static_cast<double>(value), x.dtype()); !wrong.empty()) fail(arg.where(), str("shift: ", wrong));
  return apply(ir::Shift{static_cast<std::int64_t>(at), by, value}, {&x}, arg.where());
}

Tensor iota(const Shape& shape, std::source_location where) {
  try {
    ir::require_numbered(shape.elements());
  } catch (const UserError& error) {
    fail(where, std::string(error.message()));
  }
  return apply(ir::Iota{shape}, {}, where);
}

}  // namespace sinter
