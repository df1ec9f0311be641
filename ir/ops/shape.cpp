#include "ir/ops/shape.h"

#include "ir/graph.h"

namespace sinter::ir {

Type Reshape::infer(std::span<const Type> in) const {
  require_inputs(in, 1);
  if (in[0].shape.elements() != shape.elements())
    throw UserError(str("cannot reshape ", in[0].shape, " (", in[0].shape.elements(), " elements) to ", shape, " (", shape.elements(), " elements)"));
  return {in[0].dtype, shape};
}

/// Row-major numbers: that of the result's element, divided into the operand's dimensions.
Access Reshape::access(std::span<const Type> in, const Shape& result) const {
  Access access = Access::over(result);
  const Shape& x = in[0].shape;
  Map& map = access.operands.emplace_back();
  for (std::size_t d = 0; d < x.rank(); ++d) {
    Index index;
    for (std::size_t axis = 0; axis < result.rank(); ++axis) index.terms.push_back({axis, result.product(axis + 1, result.rank())});
    index.divide = x.product(d + 1, x.rank());
    index.wrap = d == 0 ? Dim(0) : x[d];
    map.push_back(simplified(std::move(index), access.axes));
  }
  return access;
}

std::vector<Sample<Reshape>> Reshape::samples() {
  const Dim n = Dim::batch();
  return {{{{n, 12}}, {{{DType::f32, {n, 3, 4}}}}}, {{{n, 3, 20}}, {{{DType::f32, {n, 60}}}}},
          {{{n}}, {{{DType::f32, {n, 1}}}}},        {{{Dim::batch(3), 5}}, {{{DType::f32, {n, 3, 5}}}}},
          {{{1, 1}}, {{{DType::f32, {}}}}},         {{{6, 35}}, {{{DType::f32, {210}}}}},
          {{{1, 70}}, {{{DType::f32, {70}}}}}};
}

Type Broadcast::infer(std::span<const Type> in) const {
  require_inputs(in, 1);
  if (broadcast(in[0].shape, shape) != shape) throw UserError(str("cannot broadcast ", in[0].shape, " to ", shape));
  return {in[0].dtype, shape};
}

Access Broadcast::access(std::span<const Type> in, const Shape& result) const { return pointwise_access(in, result, 0); }

void Broadcast::reference(Reference& r) const {
  const Array& x = *r.in[0];
  const std::size_t lead = r.out.extents.size() - x.extents.size();
  for (std::int64_t i = 0; i < r.out.elements(); ++i) {
    std::int64_t rest = i, from = 0, step = 1;
    for (std::size_t axis = r.out.extents.size(); axis-- > lead;) {
      const std::int64_t at = rest % r.out.extents[axis];
      rest /= r.out.extents[axis];
      if (x.extents[axis - lead] != 1) from += at * step;
      step *= x.extents[axis - lead];
    }
    r.out.data[static_cast<std::size_t>(i)] = x.data[static_cast<std::size_t>(from)];
  }
}

std::vector<Sample<Broadcast>> Broadcast::samples() {
  const Dim n = Dim::batch();
  return {{{{n, 20}}, {{{DType::f32, {20}}}}},      {{{n, 20}}, {{{DType::f32, {n, 1}}}}}, {{{n, 3}}, {{{DType::f32, {}}}}},
          {{{n, 3, 18}}, {{{DType::f32, {3, 1}}}}}, {{{n}}, {{{DType::f32, {1}}}}},        {{{4, 5}}, {{{DType::f32, {}}}}}};
}

Type Transpose::infer(std::span<const Type> in) const {
  require_inputs(in, 1);
  const Shape& x = in[0].shape;
  if (x.rank() < 2) throw UserError(str("needs at least 2 dimensions, got ", x));
  std::vector<Dim> dims(x.begin(), x.end());
  std::swap(dims[x.rank() - 2], dims[x.rank() - 1]);
  return {in[0].dtype, Shape(std::span<const Dim>(dims))};
}

Access Transpose::access(std::span<const Type>, const Shape& result) const {
  Access access = Access::over(result);
  access.add_aligned(result.rank());
  std::swap(access.operands[0][result.rank() - 2], access.operands[0][result.rank() - 1]);
  return access;
}

void Transpose::reference(Reference& r) const {
  const Array& x = *r.in[0];
  const std::size_t rank = x.extents.size();
  const std::int64_t outer = x.product(0, rank - 2), rows = x.extents[rank - 2], cols = x.extents[rank - 1];
  for (std::int64_t o = 0; o < outer; ++o)
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < cols; ++j)
        r.out.data[static_cast<std::size_t>((o * cols + j) * rows + i)] = x.data[static_cast<std::size_t>((o * rows + i) * cols + j)];
}

std::vector<Sample<Transpose>> Transpose::samples() {
  const Dim n = Dim::batch();
  return {{{}, {{{DType::f32, {5, 18}}}}}, {{}, {{{DType::f32, {n, 7}}}}}, {{}, {{{DType::f32, {7, n}}}}}, {{}, {{{DType::f32, {n, 4, 19}}}}}};
}

Type Permute::infer(std::span<const Type> in) const {
  require_inputs(in, 1);
  const Shape& x = in[0].shape;
  std::vector<Dim> dims;
  std::vector<bool> used(x.rank());
  for (const Dim axis : axes) {
    const auto at = static_cast<std::size_t>(axis.factor());
    if (!axis.is_fixed() || at >= x.rank() || used[at]) throw UserError(str("needs each axis of ", x, " once, got ", axes));
    used[at] = true;
    dims.push_back(x[at]);
  }
  if (axes.rank() != x.rank()) throw UserError(str("needs each axis of ", x, " once, got ", axes));
  return {in[0].dtype, Shape(std::span<const Dim>(dims))};
}

Access Permute::access(std::span<const Type>, const Shape& result) const {
  Access access = Access::over(result);
  Map& map = access.operands.emplace_back(result.rank());
  for (std::size_t axis = 0; axis < result.rank(); ++axis) map[from(axis)] = along(axis);
  return access;
}

void Permute::reference(Reference& r) const {
  const Array& x = *r.in[0];
  const std::size_t rank = x.extents.size();
  for (std::size_t i = 0; i < r.out.data.size(); ++i) {
    std::int64_t rest = static_cast<std::int64_t>(i), element = 0;
    for (std::size_t axis = rank; axis-- > 0;) {
      element += rest % r.out.extents[axis] * x.product(from(axis) + 1, rank);
      rest /= r.out.extents[axis];
    }
    r.out.data[i] = x.data[static_cast<std::size_t>(element)];
  }
}

Permute Permute::inverse() const {
  std::vector<Dim> back(axes.rank());
  for (std::size_t axis = 0; axis < axes.rank(); ++axis) back[from(axis)] = static_cast<std::int64_t>(axis);
  return {Shape(std::span<const Dim>(back))};
}

Values Permute::vjp(const Vjp& v) const { return {v.graph.add(inverse(), {v.dy})}; }

std::vector<Sample<Permute>> Permute::samples() {
  const Dim n = Dim::batch();
  const auto x = [](const Shape& shape) { return std::vector<SampleInput>{{{DType::f32, shape}}}; };
  return {{{{0, 2, 1, 3}}, x({n, 5, 3, 18})}, {{{2, 0, 1}}, x({3, 4, 20})}, {{{1, 2, 0}}, x({n, 2, 17})},
          {{{3, 1, 0, 2}}, x({2, 1, 3, 16})}, {{{1, 0, 2}}, x({n, 3, 1})},  {{{0}}, x({7})}};
}

}  // namespace sinter::ir
