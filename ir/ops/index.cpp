#include "ir/ops/index.h"

#include <algorithm>

#include "ir/graph.h"
#include "ir/positions.h"

namespace sinter::ir {

namespace {

void require_index(const Type& type) {
  if (!is_index(type.dtype)) throw UserError(str("the index must be i32, u32 or u8, got ", type, "; convert it with cast"));
}

std::int64_t checked_index(double index, std::int64_t rows) {
  if (index < 0 || index >= static_cast<double>(rows))
    throw UserError(str("index ", static_cast<std::int64_t>(index), " is outside [0, ", rows, ")"));
  return static_cast<std::int64_t>(index);
}

Shape concatenate(const Shape& a, const Shape& b, std::size_t from) {
  std::vector<Dim> dims(a.begin(), a.end());
  dims.insert(dims.end(), b.begin() + from, b.end());
  return Shape(std::span<const Dim>(dims));
}

}  // namespace

Type GatherRows::infer(std::span<const Type> in) const {
  require_inputs(in, 2);
  require_index(in[1]);
  if (in[0].shape.rank() == 0) throw UserError(str("the table needs at least 1 dimension, got ", in[0]));
  if (in[0].shape[0].is_batch()) throw UserError(str("the table's rows cannot be the batch, got ", in[0], "; declare the input a table"));
  return {in[0].dtype, concatenate(in[1].shape, in[0].shape, 1)};
}

Access GatherRows::access(std::span<const Type> in, const Shape& result) const {
  Access access = Access::over(result);
  access.add_aligned(in[0].shape.rank() - 1, in[1].shape.rank());
  access.operands[0].insert(access.operands[0].begin(), {.through = 1});
  access.add_aligned(in[1].shape.rank());
  return access;
}

void GatherRows::reference(Reference& r) const {
  const Array &table = *r.in[0], &index = *r.in[1];
  const std::int64_t width = table.product(1, table.extents.size());
  for (std::int64_t i = 0; i < index.elements(); ++i) {
    const std::int64_t row = checked_index(index.data[static_cast<std::size_t>(i)], table.extents[0]);
    std::copy_n(table.data.begin() + row * width, width, r.out.data.begin() + i * width);
  }
}

Values GatherRows::vjp(const Vjp& v) const {
  const Dim rows = v.x[0].shape()[0];
  if (rows.is_rows()) return {{}, {}};  // a table input: data, not a parameter
  return {v.graph.add(ScatterAddRows{rows.factor()}, {v.x[1], v.dy}), {}};
}

std::vector<Sample<GatherRows>> GatherRows::samples() {
  const Dim n = Dim::batch();
  return {{{}, {{{DType::f32, {11, 20}}}, {{DType::i32, {n}}, 0, 11}}},
          {{}, {{{DType::f32, {5, 3}}}, {{DType::u8, {n, 4}}, 0, 5}}},
          {{}, {{{DType::f32, {9}}}, {{DType::u32, {n}}, 0, 9}}},
          {{}, {{{DType::i32, {6, 2}}, 0, 50}, {{DType::i32, {n}}, 0, 6}}},
          {{}, {{{DType::f32, {4, n, 3}}}, {{DType::i32, {}}, 0, 4}}}};
}

Type ScatterAddRows::infer(std::span<const Type> in) const {
  require_inputs(in, 2);
  require_index(in[0]);
  require_dtype(in[1], DType::f32, "the updates");
  if (rows < 0) throw UserError(str("rows must not be negative, got ", rows));
  require_positions(rows, "rows of a table");
  const Shape &index = in[0].shape, &updates = in[1].shape;
  if (updates.rank() < index.rank() || !std::equal(index.begin(), index.end(), updates.begin()))
    throw UserError(str("the updates must lead with the index's dimensions ", index, ", got ", updates));
  return {DType::f32, concatenate(Shape{rows}, updates, index.rank())};
}

Access ScatterAddRows::access(std::span<const Type> in, const Shape& result) const {
  Access access = Access::over(result, 1);
  access.axes[0].kind = Axis::Kind::scattered;
  Map index;
  for (const Dim extent : in[0].shape) index.push_back(along(access.reduce(extent)));
  Map updates = index;
  for (std::size_t axis = 1; axis < result.rank(); ++axis) updates.push_back(along(axis));
  access.operands = {std::move(index), std::move(updates)};
  return access;
}

void ScatterAddRows::reference(Reference& r) const {
  const Array &index = *r.in[0], &updates = *r.in[1];
  const std::int64_t width = r.out.product(1, r.out.extents.size());
  for (std::int64_t i = 0; i < index.elements(); ++i) {
    const std::int64_t row = checked_index(index.data[static_cast<std::size_t>(i)], rows);
    for (std::int64_t j = 0; j < width; ++j)
      r.out.data[static_cast<std::size_t>(row * width + j)] += updates.data[static_cast<std::size_t>(i * width + j)];
  }
}

Values ScatterAddRows::vjp(const Vjp& v) const { return {{}, v.graph.add(GatherRows{}, {v.dy, v.x[0]})}; }

std::vector<Sample<ScatterAddRows>> ScatterAddRows::samples() {
  const Dim n = Dim::batch();
  return {{{7}, {{{DType::i32, {n}}, 0, 7}, {{DType::f32, {n, 20}}}}}, {{4}, {{{DType::u8, {n, 2}}, 0, 4}, {{DType::f32, {n, 2, 3}}}}},
          {{5}, {{{DType::i32, {n}}, 0, 5}, {{DType::f32, {n}}}}},     {{3}, {{{DType::i32, {n}}, 0, 3}, {{DType::f32, {n, 4, 6, 1}}}}},
          {{6}, {{{DType::i32, {}}, 0, 6}, {{DType::f32, {n, 5}}}}},   {{17}, {{{DType::u8, {}}, 0, 17}, {{DType::f32, {n, 1}}}}}};
}

Type OneHot::infer(std::span<const Type> in) const {
  require_inputs(in, 1);
  require_index(in[0]);
  if (depth < 1) throw UserError(str("depth must be positive, got ", depth));
  return {DType::f32, in[0].shape.insert(in[0].shape.rank(), depth)};
}

Access OneHot::access(std::span<const Type> in, const Shape& result) const {
  Access access = Access::over(result, 1);
  access.axes.back().kind = Axis::Kind::scattered;
  access.add_aligned(in[0].shape.rank());
  return access;
}

void OneHot::reference(Reference& r) const {
  for (std::int64_t i = 0; i < r.in[0]->elements(); ++i)
    r.out.data[static_cast<std::size_t>(i * depth + checked_index(r.in[0]->data[static_cast<std::size_t>(i)], depth))] = 1;
}

std::vector<Sample<OneHot>> OneHot::samples() {
  const Dim n = Dim::batch();
  return {{{10}, {{{DType::i32, {n}}, 0, 10}}}, {{37}, {{{DType::u8, {n, 3}}, 0, 37}}}, {{4}, {{{DType::u32, {5}}, 0, 4}}}};
}

}  // namespace sinter::ir
