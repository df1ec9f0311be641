#include "ir/ops/along.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

#include "ir/graph.h"
#include "ir/positions.h"

namespace sinter::ir {

namespace {

std::int64_t checked(double index, std::int64_t cols) {
  if (!(index >= 0 && index < static_cast<double>(cols)))
    throw UserError(str("index ", static_cast<std::int64_t>(index), " is outside [0, ", cols, ")"));
  return static_cast<std::int64_t>(index);
}

void require_rows(const Type& type, const char* what) {
  if (type.shape.rank() == 0 || !type.shape.back().is_fixed()) throw UserError(str(what, " must have rows of a fixed size, got ", type));
}

/// Index [..., K] with rows [..., C].
void require_index(const Type& index, const Type& rows) {
  if (!is_index(index.dtype)) throw UserError(str("the index must be i32, u32 or u8, got ", index, "; convert it with cast"));
  require_rows(index, "the index");
  require_rows(rows, "the operand");
  if (index.shape.rank() != rows.shape.rank() || !std::equal(index.shape.begin(), index.shape.end() - 1, rows.shape.begin()))
    throw UserError(str("the index and the operand must be equal except in the last axis, got ", index, " and ", rows));
}

}  // namespace

// ---- cumsum ----

Type Cumsum::infer(std::span<const Type> in) const {
  require_inputs(in, 1);
  Numbers::result(in);
  if (axis < 0 || axis >= static_cast<std::int64_t>(in[0].shape.rank()))
    throw UserError(str("axis ", axis, " does not exist in ", in[0].shape, ", which has ", in[0].shape.rank(), " dimensions"));
  return in[0];
}

Access Cumsum::access(std::span<const Type>, const Shape& result) const {
  Access access = Access::over(result, 1);
  access.axes[static_cast<std::size_t>(axis)].kind = Axis::Kind::ordered;
  access.add_aligned(result.rank());
  return access;
}

void Cumsum::reference(Reference& r) const {
  const Array& x = *r.in[0];
  const auto a = static_cast<std::size_t>(axis);
  const std::int64_t inner = x.product(a + 1, x.extents.size()), along = x.extents[a], outer = x.product(0, a);
  for (std::int64_t o = 0; o < outer; ++o)
    for (std::int64_t i = 0; i < inner; ++i) {
      double total = 0;
      for (std::int64_t k = 0; k < along; ++k) {
        const auto at = static_cast<std::size_t>((o * along + (reverse ? along - 1 - k : k)) * inner + i);
        r.out.data[at] = total = combine(r.out.dtype, total, x.data[at], [](auto a, auto b) { return a + b; });
      }
    }
}

Values Cumsum::vjp(const Vjp& v) const { return {v.graph.add(Cumsum{axis, !reverse}, {v.dy})}; }

std::vector<Sample<Cumsum>> Cumsum::samples() {
  const Dim n = Dim::batch();
  const auto x = [](const Shape& shape) { return std::vector<SampleInput>{{{DType::f32, shape}}}; };
  return {{{1, false}, x({n, 9})},
          {{1, true}, x({n, 33})},
          {{0, false}, x({6, 21})},
          {{0, true}, x({30})},
          {{1, false}, x({n, 4, 18})},
          {{2, true}, x({n, 3, 7})},
          {{0, false}, x({n, 3})},
          {{1, true}, x({n, 3, 1})},
          {{0, false}, x({n})},
          {{1, false}, {{{DType::i32, {n, 19}}, -2e9, 2e9}}},
          {{0, true}, {{{DType::u32, {6, 3}}, 0, 4e9}}}};
}

// ---- exact_total ----

Type ExactTotal::infer(std::span<const Type> in) const {
  require_inputs(in, 2);
  if ((in[0].dtype != DType::i32 && in[0].dtype != DType::u32) || in[1] != Type{DType::f32, in[0].shape})
    throw UserError(str("needs a total of i32 or u32 and the same of f32, got ", in[0], " and ", in[1]));
  return in[0];
}

Access ExactTotal::access(std::span<const Type>, const Shape& result) const {
  Access access = Access::over(result, 1);
  access.add_aligned(result.rank());
  access.add_aligned(result.rank());
  return access;
}

void ExactTotal::reference(Reference& r) const {
  for (std::size_t i = 0; i < r.out.data.size(); ++i) {
    r.out.data[i] = r.in[0]->data[i];
    if (!(std::abs(r.in[1]->data[i] - r.in[0]->data[i]) < 0x1p31)) throw UserError(total_message(r.out.dtype));
  }
}

std::string total_message(DType dtype) { return str("the total does not fit ", dtype, "; sum cast(x, DType::f32), which rounds, or take the mean"); }

std::vector<Sample<ExactTotal>> ExactTotal::samples() {
  const auto totals = [](DType dtype, const Shape& shape, double low) {
    return std::vector<SampleInput>{{{dtype, shape}, low, 1e9}, {{DType::f32, shape}, low, 1e9}};
  };
  const Dim n = Dim::batch();
  return {{{}, totals(DType::i32, {n, 19}, -1e9)},
          {{}, totals(DType::i32, {}, -1e9)},
          {{}, totals(DType::u32, {n}, 0)},
          {{}, totals(DType::u32, {6, 3}, 0)}};
}

// ---- take_along ----

Type TakeAlong::infer(std::span<const Type> in) const {
  require_inputs(in, 2);
  require_index(in[1], in[0]);
  return {in[0].dtype, in[1].shape};
}

Access TakeAlong::access(std::span<const Type>, const Shape& result) const {
  Access access = Access::over(result);
  access.add_aligned(result.rank());
  access.operands[0].back() = {.through = 1};
  access.add_aligned(result.rank());
  return access;
}

void TakeAlong::reference(Reference& r) const {
  const std::int64_t cols = r.in[0]->extents.back(), count = r.in[1]->extents.back();
  for (std::int64_t i = 0; i < r.in[1]->elements(); ++i)
    r.out.data[static_cast<std::size_t>(i)] =
        r.in[0]->data[static_cast<std::size_t>(i / count * cols + checked(r.in[1]->data[static_cast<std::size_t>(i)], cols))];
}

Values TakeAlong::vjp(const Vjp& v) const { return {v.graph.add(ScatterAddAlong{v.x[0].shape().back().factor()}, {v.x[1], v.dy}), {}}; }

std::vector<Sample<TakeAlong>> TakeAlong::samples() {
  const Dim n = Dim::batch();
  return {{{}, {{{DType::f32, {n, 20}}}, {{DType::i32, {n, 3}}, 0, 20}}},
          {{}, {{{DType::f32, {n, 5}}}, {{DType::u8, {n, 33}}, 0, 5}}},
          {{}, {{{DType::f32, {n, 3, 7}}}, {{DType::u32, {n, 3, 1}}, 0, 7}}},
          {{}, {{{DType::f32, {40}}}, {{DType::i32, {6}}, 0, 40}}}};
}

// ---- scatter_add_along ----

Type ScatterAddAlong::infer(std::span<const Type> in) const {
  require_inputs(in, 2);
  require_dtype(in[1], DType::f32, "the updates");
  require_index(in[0], in[1]);
  if (in[0].shape.back() != in[1].shape.back()) throw UserError(str("needs one update per index, got ", in[0], " and ", in[1]));
  if (cols < 1) throw UserError(str("cols must be positive, got ", cols));
  return {DType::f32, in[1].shape.with(in[1].shape.rank() - 1, cols)};
}

Access ScatterAddAlong::access(std::span<const Type> in, const Shape& result) const {
  Access access = Access::over(result, 1);
  access.axes.back().kind = Axis::Kind::scattered;
  const std::size_t updates = access.reduce(in[0].shape.back());
  access.add_aligned(result.rank());
  access.operands[0].back() = along(updates);
  access.operands.push_back(access.operands[0]);
  return access;
}

void ScatterAddAlong::reference(Reference& r) const {
  const std::int64_t count = r.in[0]->extents.back();
  for (std::int64_t i = 0; i < r.in[0]->elements(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    r.out.data[static_cast<std::size_t>(i / count * cols + checked(r.in[0]->data[at], cols))] += r.in[1]->data[at];
  }
}

Values ScatterAddAlong::vjp(const Vjp& v) const { return {{}, v.graph.add(TakeAlong{}, {v.dy, v.x[0]})}; }

std::vector<Sample<ScatterAddAlong>> ScatterAddAlong::samples() {
  const Dim n = Dim::batch();
  return {{{20}, {{{DType::i32, {n, 3}}, 0, 20}, {{DType::f32, {n, 3}}}}},
          {{5}, {{{DType::u8, {n, 7}}, 0, 5}, {{DType::f32, {n, 7}}}}},
          {{1}, {{{DType::u32, {n, 3, 2}}, 0, 1}, {{DType::f32, {n, 3, 2}}}}},
          {{40}, {{{DType::i32, {6}}, 0, 40}, {{DType::f32, {6}}}}}};
}

// ---- top_k ----

Type TopK::infer(std::span<const Type> in) const {
  require_inputs(in, 1);
  Numbers::result(in);
  require_rows(in[0], "the operand");
  const std::int64_t cols = in[0].shape.back().factor();
  require_positions(in[0].shape.back(), "elements of a row");
  if (k < 1 || k > cols) throw UserError(str("k must be from 1 to the ", cols, " elements of a row, got ", k));
  return {DType::i32, in[0].shape.with(in[0].shape.rank() - 1, k)};
}

Access TopK::access(std::span<const Type> in, const Shape& result) const {
  Access access = Access::over(result, 1);
  const std::size_t all = access.reduce(in[0].shape.back());
  access.add_aligned(result.rank());
  access.operands[0].back() = along(all);
  return access;
}

void TopK::reference(Reference& r) const {
  const std::int64_t cols = r.in[0]->extents.back();
  std::vector<std::int64_t> order(static_cast<std::size_t>(cols));
  for (std::int64_t row = 0; row < r.out.elements() / k; ++row) {
    const double* x = r.in[0]->data.data() + row * cols;
    std::iota(order.begin(), order.end(), 0);
    const auto rank = [&](std::int64_t i) { return std::tuple(!std::isnan(x[i]), std::isnan(x[i]) ? 0 : -x[i], i); };
    std::sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) { return rank(a) < rank(b); });
    for (std::int64_t j = 0; j < k; ++j) r.out.data[static_cast<std::size_t>(row * k + j)] = static_cast<double>(order[static_cast<std::size_t>(j)]);
  }
}

std::vector<Sample<TopK>> TopK::samples() {
  const Dim n = Dim::batch();
  const auto x = [](const Shape& shape) { return std::vector<SampleInput>{{{DType::f32, shape}}}; };
  return {{{3}, x({n, 10})},
          {{1}, x({n, 70})},
          {{7}, x({n, 3, 7})},
          {{4}, x({35})},
          {{1}, x({n, 1})},
          {{5}, {{{DType::i32, {n, 9}}, -3, 3}}},
          {{2}, {{{DType::u32, {n, 3, 4}}, 0, 4e9}}}};
}

}  // namespace sinter::ir
