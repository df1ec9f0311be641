#include "ir/ops/reduce.h"

#include <cmath>

#include "ir/graph.h"
#include "ir/positions.h"

namespace sinter::ir {

namespace {

/// Calls f(out index, in index of element k) for the [outer, reduced, inner] view.
template <class F>
void for_each_reduced(const Array& x, std::int64_t first, std::int64_t last, F&& f) {
  const std::int64_t outer = x.product(0, static_cast<std::size_t>(first)),
                     reduced = x.product(static_cast<std::size_t>(first), static_cast<std::size_t>(last)),
                     inner = x.product(static_cast<std::size_t>(last), x.extents.size());
  for (std::int64_t o = 0; o < outer; ++o)
    for (std::int64_t k = 0; k < reduced; ++k)
      for (std::int64_t i = 0; i < inner; ++i) f(static_cast<std::size_t>(o * inner + i), static_cast<std::size_t>((o * reduced + k) * inner + i), k);
}

/// y (or its gradient) with the reduced axes as 1s again, repeated over them.
Value spread(Value y, const Shape& shape, std::int64_t first, std::int64_t last) {
  std::vector<Dim> dims(shape.begin(), shape.end());
  for (std::int64_t axis = first; axis < last; ++axis) dims[static_cast<std::size_t>(axis)] = 1;
  return broadcast(reshape(y, Shape(std::span<const Dim>(dims))), shape);
}

/// `whole`: integers from -whole (of u32: from 0) to whole. Their sums and products may overflow, which tests wrapping.
template <class Op>
std::vector<Sample<Op>> reduce_samples(double low, double high, double whole) {
  std::vector<Sample<Op>> result;
  const Dim n = Dim::batch();
  const auto add = [&](std::int64_t first, std::int64_t last, const Shape& shape, DType dtype = DType::f32) {
    Op op;
    op.first = first;
    op.last = last;
    const double least = dtype == DType::u32 ? 0 : -whole;
    result.push_back({op, {{{dtype, shape}, is_float(dtype) ? low : least, is_float(dtype) ? high : whole}}});
  };
  add(1, 2, {n, 7});
  add(1, 2, {n, 70});
  add(0, 1, {n, 19});
  add(0, 2, {n, 5});
  add(0, 1, {n});
  add(0, 1, {40});
  add(0, 2, {12, 18});
  add(0, 1, {6, 21});
  add(1, 2, {n, 4, 6});
  add(1, 3, {n, 4, 6});
  add(0, 2, {3, n, 5});
  add(2, 3, {2, 3, 17});
  add(0, 1, {1});
  add(0, 1, {1, 1});
  add(0, 1, {1, 5});
  add(1, 2, {n, 1, 1});
  add(1, 2, {n, 1, 7});
  add(1, 2, {n, 7, 1});
  for (const DType dtype : {DType::i32, DType::u32}) {
    add(1, 2, {n, 35}, dtype);
    add(0, 1, {n, 19}, dtype);
    add(0, 1, {n}, dtype);
    add(0, 2, {12, 18}, dtype);
    add(1, 2, {n, 4, 6}, dtype);
  }
  return result;
}

}  // namespace

ReduceExtents reduce_extents(const Shape& shape, std::int64_t first, std::int64_t last) {
  const auto a = static_cast<std::size_t>(first), b = static_cast<std::size_t>(last);
  return {shape.product(0, a), shape.product(a, b), shape.product(b, shape.rank())};
}

Shape infer_reduce(const Shape& shape, std::int64_t first, std::int64_t last) {
  if (first < 0 || first >= last || last > static_cast<std::int64_t>(shape.rank()))
    throw UserError(str("axes [", first, ", ", last, ") do not exist in ", shape, ", which has ", shape.rank(), " dimensions"));
  return shape.erase(static_cast<std::size_t>(first), static_cast<std::size_t>(last));
}

namespace {

Access access_of_reduction(std::int64_t first, std::int64_t last, const Shape& x, const Shape& result) {
  Access access = Access::over(result, 1);
  Map map;
  for (std::int64_t d = 0; d < static_cast<std::int64_t>(x.rank()); ++d) {
    const auto dim = static_cast<std::size_t>(d);
    map.push_back(along(d < first ? dim : d < last ? access.reduce(x[dim]) : static_cast<std::size_t>(d - (last - first))));
  }
  access.operands = {std::move(map)};
  return access;
}

}  // namespace

Type Sum::infer(std::span<const Type> in) const {
  require_inputs(in, 1);
  return {Numbers::result(in), infer_reduce(in[0].shape, first, last)};
}

Access Sum::access(std::span<const Type> in, const Shape& result) const { return access_of_reduction(first, last, in[0].shape, result); }

void Sum::reference(Reference& r) const {
  for_each_reduced(*r.in[0], first, last, [&](std::size_t to, std::size_t from, std::int64_t) {
    double& y = r.out.data[to];
    y = combine(r.out.dtype, y, r.in[0]->data[from], [](auto a, auto b) { return a + b; });
  });
}

Values Sum::vjp(const Vjp& v) const { return {spread(v.dy, v.x[0].shape(), first, last)}; }

std::vector<Sample<Sum>> Sum::samples() { return reduce_samples<Sum>(-2, 2, 2e9); }

Type Max::infer(std::span<const Type> in) const {
  require_inputs(in, 1);
  return {Numbers::result(in), infer_reduce(in[0].shape, first, last)};
}

Access Max::access(std::span<const Type> in, const Shape& result) const { return access_of_reduction(first, last, in[0].shape, result); }

void Max::reference(Reference& r) const {
  for_each_reduced(*r.in[0], first, last, [&](std::size_t to, std::size_t from, std::int64_t k) {
    double& y = r.out.data[to];
    const double x = r.in[0]->data[from];
    if (k == 0 || std::isnan(x) || x > y) y = std::isnan(y) && k ? y : x;
  });
}

Values Max::vjp(const Vjp& v) const {
  const Shape& shape = v.x[0].shape();
  const Value greatest = cast(equal(v.x[0], spread(v.y, shape, first, last)), DType::f32);
  const Value count = sum(greatest, static_cast<std::size_t>(first), static_cast<std::size_t>(last));
  return {greatest * spread(v.dy / count, shape, first, last)};
}

std::vector<Sample<Max>> Max::samples() { return reduce_samples<Max>(-2, 2, 2e9); }

Type Prod::infer(std::span<const Type> in) const {
  require_inputs(in, 1);
  return {Numbers::result(in), infer_reduce(in[0].shape, first, last)};
}

Access Prod::access(std::span<const Type> in, const Shape& result) const { return access_of_reduction(first, last, in[0].shape, result); }

void Prod::reference(Reference& r) const {
  for_each_reduced(*r.in[0], first, last, [&](std::size_t to, std::size_t from, std::int64_t k) {
    double& y = r.out.data[to];
    y = combine(r.out.dtype, k ? y : 1, r.in[0]->data[from], [](auto a, auto b) { return a * b; });
  });
}

Values Prod::vjp(const Vjp& v) const {
  // y / x, but where one element alone is 0 it gets the product of the others, and where several are 0 all gradients are.
  const Shape& shape = v.x[0].shape();
  const Value zero = constant(v.graph, 0), one = constant(v.graph, 1), is_zero = equal(v.x[0], zero);
  const Value zeros = spread(sum(cast(is_zero, DType::f32), static_cast<std::size_t>(first), static_cast<std::size_t>(last)), shape, first, last);
  const Value filled = select(is_zero, one, v.x[0]);
  const Value others = spread(v.graph.add(Prod{first, last}, {filled}), shape, first, last) / filled;
  const Value wanted = select(is_zero, one, zero);  // the number of zeros that leaves the product of the others
  return {spread(v.dy, shape, first, last) * select(equal(zeros, wanted), others, zero)};
}

std::vector<Sample<Prod>> Prod::samples() { return reduce_samples<Prod>(0.8, 1.25, 2e9); }

Type Argmax::infer(std::span<const Type> in) const {
  require_inputs(in, 1);
  Floats::result(in);
  const auto rank = static_cast<std::int64_t>(in[0].shape.rank());
  if (rank && !in[0].shape.back().is_fixed()) throw UserError(str("the last dimension must be fixed, got ", in[0]));
  if (rank) require_positions(in[0].shape.back(), "elements of a row");
  return {DType::i32, infer_reduce(in[0].shape, rank - 1, rank)};
}

Access Argmax::access(std::span<const Type> in, const Shape& result) const {
  const auto rank = static_cast<std::int64_t>(in[0].shape.rank());
  return access_of_reduction(rank - 1, rank, in[0].shape, result);
}

void Argmax::reference(Reference& r) const {
  const Array& x = *r.in[0];
  const std::int64_t cols = x.extents.back();
  for (std::size_t row = 0; row < r.out.data.size(); ++row) {
    const double* values = x.data.data() + static_cast<std::ptrdiff_t>(row) * cols;
    std::int64_t best = 0;
    for (std::int64_t i = 1; i < cols && !std::isnan(values[best]); ++i)
      if (std::isnan(values[i]) || values[i] > values[best]) best = i;
    r.out.data[row] = static_cast<double>(best);
  }
}

std::vector<Sample<Argmax>> Argmax::samples() {
  const Dim n = Dim::batch();
  return {{{}, {{{DType::f32, {n, 10}}}}}, {{}, {{{DType::f32, {n, 3, 21}}}}}, {{}, {{{DType::f32, {35}}}}}, {{}, {{{DType::f32, {n, 1}}}}}};
}

}  // namespace sinter::ir
