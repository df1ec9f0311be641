#include "ir/ops/window.h"

#include "ir/graph.h"

namespace sinter::ir {

namespace {

/// a + b of two numbers of elements along one axis, of the same symbols; 0 fits all.
Dim add(Dim a, Dim b) {
  if (a.factor() == 0) return b;
  if (b.factor() == 0) return a;
  if (a.with_factor(1) != b.with_factor(1)) throw UserError(str("cannot add ", a, " and ", b, " elements along one axis"));
  std::int64_t sum;
  if (__builtin_add_overflow(a.factor(), b.factor(), &sum)) throw UserError(str("too many elements: ", a, " and ", b, " along one axis"));
  return a.with_factor(sum);
}

Dim along(const Type& type, std::int64_t axis) {
  if (axis < 0 || axis >= static_cast<std::int64_t>(type.shape.rank()))
    throw UserError(str("axis ", axis, " does not exist in ", type.shape, ", which has ", type.shape.rank(), " dimensions"));
  const Dim size = type.shape[static_cast<std::size_t>(axis)];
  if (size.is_rows()) throw UserError(str("the rows of a table are read only by gather_rows, got ", type));
  return size;
}

/// Offsets and sizes along an axis with N are multiples of N, others are not.
void require_kind(Dim place, Dim size, const char* what) {
  const Dim symbols = size.with_factor(1);
  if (place.factor() != 0 && place.with_factor(1) != symbols)
    throw UserError(
        str(what, " must be ", size.is_fixed() ? "a number" : str("a multiple of ", symbols), " along an axis of ", size, ", got ", place));
}

}  // namespace

void evaluate_window(const Window& window, Reference& r) {
  std::fill(r.out.data.begin(), r.out.data.end(), window.fill);
  const std::size_t rank = r.out.extents.size();
  const std::int64_t inner = r.out.product(window.axis + 1, rank), size = r.out.extents[window.axis];
  for (std::size_t k = 0; k < r.in.size(); ++k) {
    const Array& x = *r.in[k];
    const std::int64_t offset = window.offsets[k].extent(r.sizes), own = x.extents[window.axis];
    for (std::int64_t e = 0; e < x.elements(); ++e) {
      const std::int64_t outer = e / (own * inner), at = e / inner % own + offset;
      if (at >= 0 && at < size) r.out.data[static_cast<std::size_t>((outer * size + at) * inner + e % inner)] = x.data[static_cast<std::size_t>(e)];
    }
  }
}

Access access_of_window(const Window& window, std::span<const Type> in, const Shape& result) {
  Access access = Access::over(result);
  for (std::size_t k = 0; k < in.size(); ++k) {
    access.add_aligned(result.rank());
    const Dim offset = window.offsets[k], size = in[k].shape[window.axis];
    if (offset.factor() == 0 && size == result[window.axis]) continue;
    Index& index = access.operands[k][window.axis];
    index.offset = -offset;
    // A slice is inside for every N.
    index.partial = !(offset.factor() <= 0 && add(offset, size).factor() >= result[window.axis].factor());
  }
  return access;
}

// ---- slice ----

Window Slice::window(std::span<const Type>) const { return {static_cast<std::size_t>(axis), {-start}, 0}; }

Type Slice::infer(std::span<const Type> in) const {
  require_inputs(in, 1);
  const Dim all = along(in[0], axis);
  require_kind(start, all, "the start");
  if (size.with_factor(1) != all.with_factor(1)) require_kind(size, all, "the size");
  if (start.factor() < 0 || size.factor() < 1 || start.factor() > all.factor() - size.factor())
    throw UserError(str("elements ", start, " to ", add(start, size), " do not exist along axis ", axis, " of ", in[0].shape));
  return {in[0].dtype, in[0].shape.with(static_cast<std::size_t>(axis), size)};
}

Access Slice::access(std::span<const Type> in, const Shape& result) const { return access_of_window(window(in), in, result); }

void Slice::reference(Reference& r) const { evaluate_window(window({}), r); }

Values Slice::vjp(const Vjp& v) const {
  const Dim all = v.x[0].shape()[static_cast<std::size_t>(axis)];
  return {v.graph.add(Pad{axis, start, add(all, -add(start, size)), 0}, {v.dy})};
}

std::vector<Sample<Slice>> Slice::samples() {
  const Dim n = Dim::batch();
  const auto x = [](const Shape& shape) { return std::vector<SampleInput>{{{DType::f32, shape}}}; };
  return {{{1, 2, 5}, x({n, 9})},         {{1, 0, 33}, x({n, 70})},
          {{1, 3, 1}, x({n, 40})},        {{0, 1, 3}, x({6, 21})},
          {{0, 4, 20}, x({30})},          {{1, 1, 2}, x({n, 4, 7})},
          {{2, 1, 5}, x({n, 3, 7})},      {{2, 0, 1}, x({3, n, 2})},
          {{1, 1, 2}, x({n, 3, 1})},      {{0, n, Dim::batch(2)}, x({Dim::batch(4), 5})},
          {{0, n, n}, x({Dim::batch(2)})}};
}

// ---- pad ----

Window Pad::window(std::span<const Type>) const { return {static_cast<std::size_t>(axis), {before}, value}; }

Type Pad::infer(std::span<const Type> in) const {
  require_inputs(in, 1);
  const Dim all = along(in[0], axis);
  require_kind(before, all, "before");
  require_kind(after, all, "after");
  if (before.factor() < 0 || after.factor() < 0) throw UserError(str("cannot pad by ", before, " and ", after, " elements; slice removes some"));
  return {in[0].dtype, in[0].shape.with(static_cast<std::size_t>(axis), add(add(before, all), after))};
}

Access Pad::access(std::span<const Type> in, const Shape& result) const { return access_of_window(window(in), in, result); }

void Pad::reference(Reference& r) const { evaluate_window(window({}), r); }

Values Pad::vjp(const Vjp& v) const {
  const Dim all = v.x[0].shape()[static_cast<std::size_t>(axis)];
  return {v.graph.add(Slice{axis, before, all}, {v.dy})};
}

std::vector<Sample<Pad>> Pad::samples() {
  const Dim n = Dim::batch();
  const auto x = [](const Shape& shape) { return std::vector<SampleInput>{{{DType::f32, shape}}}; };
  return {{{1, 2, 1, 0}, x({n, 5})},    {{1, 0, 40, 0.5}, x({n, 3})}, {{0, 1, 2, -1}, x({6, 21})}, {{0, 3, 0, 0}, x({30})},
          {{1, 1, 1, 2}, x({n, 2, 7})}, {{2, 1, 0, 0}, x({n, 3, 1})}, {{0, n, n, 3}, x({n, 5})},   {{0, n, 0, 0}, x({n})}};
}

// ---- shift ----

Window Shift::window(std::span<const Type>) const { return {static_cast<std::size_t>(axis), {by}, value}; }

Type Shift::infer(std::span<const Type> in) const {
  require_inputs(in, 1);
  if (along(in[0], axis).is_batch()) throw UserError(str("samples cannot be shifted, and axis ", axis, " of ", in[0].shape, " has N"));
  return in[0];
}

Access Shift::access(std::span<const Type> in, const Shape& result) const {
  Access access = Access::over(result);
  access.add_aligned(in[0].shape.rank());
  if (by == 0) return access;
  Index& index = access.operands[0][static_cast<std::size_t>(axis)];
  index.offset = -by;
  index.partial = true;
  return access;
}

void Shift::reference(Reference& r) const { evaluate_window(window({}), r); }

Values Shift::vjp(const Vjp& v) const { return {v.graph.add(Shift{axis, -by, 0}, {v.dy})}; }

std::vector<Sample<Shift>> Shift::samples() {
  const Dim n = Dim::batch();
  const auto x = [](const Shape& shape) { return std::vector<SampleInput>{{{DType::f32, shape}}}; };
  return {{{1, 2, 0}, x({n, 5})},      {{1, -1, 0.5}, x({n, 40})}, {{0, 3, -1}, x({30})},      {{0, -4, 0}, x({6, 21})},  {{1, 1, 2}, x({n, 4, 7})},
          {{1, -1, 0}, x({n, 2, 33})}, {{1, 1, 0}, x({n, 9, 3})},  {{1, -1, 0}, x({n, 3, 1})}, {{1, 0, 3}, x({n, 2, 5})}, {{1, 1, 0}, x({n, 6})}};
}

// ---- concat ----

Window Concat::window(std::span<const Type> in) const {
  Window window{static_cast<std::size_t>(axis), {}, 0};
  Dim place = 0;
  for (const Type& type : in) {
    window.offsets.push_back(place);
    place = add(place, type.shape[window.axis]);
  }
  return window;
}

Type Concat::infer(std::span<const Type> in) const {
  if (in.empty()) throw UserError("needs at least 1 operand, got none");
  Dim size = 0;
  for (const Type& type : in) {
    size = add(size, along(type, axis));
    const auto a = static_cast<std::size_t>(axis);
    if (type.dtype != in[0].dtype || type.shape.rank() != in[0].shape.rank() || type.shape.with(a, 1) != in[0].shape.with(a, 1))
      throw UserError(str("operands must be equal except along axis ", axis, ", got ", in[0], " and ", type));
  }
  return {in[0].dtype, in[0].shape.with(static_cast<std::size_t>(axis), size)};
}

Access Concat::access(std::span<const Type> in, const Shape& result) const { return access_of_window(window(in), in, result); }

void Concat::reference(Reference& r) const {
  Window window{static_cast<std::size_t>(axis), {}, 0};
  std::int64_t place = 0;
  for (const Array* x : r.in) {
    window.offsets.push_back(place);
    place += x->extents[window.axis];
  }
  evaluate_window(window, r);
}

Values Concat::vjp(const Vjp& v) const {
  Values result;
  Dim place = 0;
  for (const Value& x : v.x) {
    const Dim size = x.shape()[static_cast<std::size_t>(axis)];
    result.push_back(v.graph.add(Slice{axis, place, size}, {v.dy}));
    place = add(place, size);
  }
  return result;
}

std::vector<Sample<Concat>> Concat::samples() {
  const Dim n = Dim::batch();
  const auto x = [](std::initializer_list<Shape> shapes) {
    std::vector<SampleInput> inputs;
    for (const Shape& shape : shapes) inputs.push_back({{DType::f32, shape}});
    return inputs;
  };
  return {{{1}, x({{n, 5}, {n, 20}, {n, 3}})},
          {{1}, x({{n, 1}, {n, 1}})},
          {{1}, x({{n, 33}, {n, 1}, {n, 30}})},
          {{0}, x({{2, 21}, {4, 21}})},
          {{0}, x({{30}, {7}})},
          {{1}, x({{n, 2, 7}, {n, 1, 7}})},
          {{2}, x({{n, 3, 4}, {n, 3, 9}})},
          {{0}, x({{n, 5}, {Dim::batch(2), 5}})},
          {{0}, x({{n}, {n}})},
          {{1}, x({{n, 6}})}};
}

}  // namespace sinter::ir
