#include "ir/ops/softmax.h"

#include <algorithm>
#include <cmath>

namespace sinter::ir {

namespace {

Access access_of_rows(const Shape& result) {
  Access access = Access::over(result, 1);
  access.axes.back().kind = Axis::Kind::whole;
  access.add_aligned(result.rank());
  return access;
}

Type infer_rows(std::span<const Type> in) {
  require_inputs(in, 1);
  if (in[0].shape.rank() == 0) throw UserError("needs at least 1 dimension, got a scalar");
  if (!in[0].shape.back().is_fixed()) throw UserError(str("the last dimension must be fixed, got ", in[0]));
  return {Floats::result(in), in[0].shape};
}

/// Calls f(row's input, row's output, columns, greatest element, sum of exponentials); NaN spreads to the whole row.
template <class F>
void for_each_row(Reference& r, F&& f) {
  const std::int64_t cols = r.out.extents.back();
  for (std::int64_t at = 0; at < r.out.elements(); at += cols) {
    const double* x = r.in[0]->data.data() + at;
    double greatest = x[0], total = 0;
    for (std::int64_t i = 1; i < cols; ++i) greatest = std::isnan(x[i]) || x[i] > greatest ? x[i] : greatest;
    for (std::int64_t i = 0; i < cols; ++i) total += std::exp(x[i] - greatest);
    f(x, r.out.data.data() + at, cols, greatest, total);
  }
}

/// The sum over the last axis, kept as an axis of 1.
Value row_sum(Value x) {
  const std::size_t rank = x.shape().rank();
  return reshape(sum(x, rank - 1, rank), x.shape().with(rank - 1, 1));
}

template <class Op>
std::vector<Sample<Op>> row_samples() {
  const Dim n = Dim::batch();
  return {{{},
           {{{
                 DType::f32,
                 {n, 10},
             },
             -4,
             4}}},
          {{}, {{{DType::f32, {n, 3, 37}}, -4, 4}}},
          {{}, {{{DType::f32, {70}}, -4, 4}}}};
}

}  // namespace

Type Softmax::infer(std::span<const Type> in) const { return infer_rows(in); }

Access Softmax::access(std::span<const Type>, const Shape& result) const { return access_of_rows(result); }

void Softmax::reference(Reference& r) const {
  for_each_row(r, [](const double* x, double* y, std::int64_t cols, double greatest, double total) {
    for (std::int64_t i = 0; i < cols; ++i) y[i] = std::exp(x[i] - greatest) / total;
  });
}

Values Softmax::vjp(const Vjp& v) const { return {(v.dy - row_sum(v.dy * v.y)) * v.y}; }

std::vector<Sample<Softmax>> Softmax::samples() { return row_samples<Softmax>(); }

Type LogSoftmax::infer(std::span<const Type> in) const { return infer_rows(in); }

Access LogSoftmax::access(std::span<const Type>, const Shape& result) const { return access_of_rows(result); }

void LogSoftmax::reference(Reference& r) const {
  for_each_row(r, [](const double* x, double* y, std::int64_t cols, double greatest, double total) {
    for (std::int64_t i = 0; i < cols; ++i) y[i] = x[i] - greatest - std::log(total);
  });
}

Values LogSoftmax::vjp(const Vjp& v) const { return {v.dy - exp(v.y) * row_sum(v.dy)}; }

std::vector<Sample<LogSoftmax>> LogSoftmax::samples() { return row_samples<LogSoftmax>(); }

}  // namespace sinter::ir
