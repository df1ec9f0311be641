#include "ir/ops/contraction.h"

namespace sinter::ir {

namespace {

/// out[m,f] += a · b with either read transposed; contraction in order.
void multiply(Reference& r, const Array& a, const Array& b, bool transpose_a, bool transpose_b) {
  const std::int64_t m = a.extents[transpose_a ? 1 : 0], k = a.extents[transpose_a ? 0 : 1], f = b.extents[transpose_b ? 0 : 1];
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t c = 0; c < k; ++c) {
      const double x = a.data[static_cast<std::size_t>(transpose_a ? c * m + i : i * k + c)];
      for (std::int64_t j = 0; j < f; ++j)
        r.out.data[static_cast<std::size_t>(i * f + j)] += x * b.data[static_cast<std::size_t>(transpose_b ? j * k + c : c * f + j)];
    }
}

}  // namespace

ProductExtents product_extents(const Matmul& op, const Shape& a, const Shape& b) {
  return {a[op.transpose_a ? 1 : 0], a[op.transpose_a ? 0 : 1], b[op.transpose_b ? 0 : 1]};
}

Type Matmul::infer(std::span<const Type> in) const {
  require_inputs(in, 2);
  Floats::result(in);
  for (const Type& t : in)
    if (t.shape.rank() != 2) throw UserError(str("needs two matrices, got ", in[0], " and ", in[1], "; reshape them to 2 dimensions"));
  const auto [m, k, f] = product_extents(*this, in[0].shape, in[1].shape);
  const Dim other = in[1].shape[transpose_b ? 1 : 0];
  if (k != other)
    throw UserError(str("the contracted dimensions differ: ", k, " of ", in[0].shape, transpose_a ? " (transposed)" : "", " against ", other, " of ",
                        in[1].shape, transpose_b ? " (transposed)" : ""));
  return {DType::f32, Shape{m, f}};
}

void Matmul::reference(Reference& r) const { multiply(r, *r.in[0], *r.in[1], transpose_a, transpose_b); }

Values Matmul::vjp(const Vjp& v) const {
  const Value a = v.x[0], b = v.x[1];
  // d(op(a) op(b)): the gradient of a transposed operand is the transposed gradient, which swaps the factors.
  const Value da = transpose_a ? matmul(b, v.dy, transpose_b, true) : matmul(v.dy, b, false, !transpose_b);
  const Value db = transpose_b ? matmul(v.dy, a, true, transpose_a) : matmul(a, v.dy, !transpose_a, false);
  return {da, db};
}

std::vector<Sample<Matmul>> Matmul::samples() {
  const Dim n = Dim::batch();
  return {{{false, false}, {{{DType::f32, {n, 19}}}, {{DType::f32, {19, 33}}}}},
          {{true, false}, {{{DType::f32, {n, 21}}}, {{DType::f32, {n, 6}}}}},
          {{false, true}, {{{DType::f32, {n, 7}}}, {{DType::f32, {70, 7}}}}},
          {{true, true}, {{{DType::f32, {19, n}}}, {{DType::f32, {5, 19}}}}},
          {{false, false}, {{{DType::f32, {3, 4}}}, {{DType::f32, {4, 1}}}}},
          {{false, false}, {{{DType::f32, {n, 1}}}, {{DType::f32, {1, 1}}}}},
          {{false, true}, {{{DType::f32, {6, 5}}}, {{DType::f32, {n, 5}}}}},
          {{false, false}, {{{DType::f32, {Dim::batch(2), 9}}}, {{DType::f32, {9, 17}}}}}};
}

Type Dense::infer(std::span<const Type> in) const {
  require_inputs(in, 3);
  const Type product = Matmul{}.infer(in.first(2));
  Floats::result(in);
  if (in[2].shape != Shape{product.shape[1]}) throw UserError(str("the bias must be ", Shape{product.shape[1]}, ", got ", in[2].shape));
  return product;
}

void Dense::reference(Reference& r) const {
  const std::size_t cols = static_cast<std::size_t>(r.out.extents[1]);
  multiply(r, *r.in[0], *r.in[1], false, false);
  for (std::size_t i = 0; i < r.out.data.size(); ++i) r.out.data[i] += r.in[2]->data[i % cols];
}

Values Dense::vjp(const Vjp& v) const { return {matmul(v.dy, v.x[1], false, true), matmul(v.x[0], v.dy, true, false), sum_to(v.dy, v.x[2].shape())}; }

std::vector<Sample<Dense>> Dense::samples() {
  const Dim n = Dim::batch();
  return {{{}, {{{DType::f32, {n, 19}}}, {{DType::f32, {19, 70}}}, {{DType::f32, {70}}}}},
          {{}, {{{DType::f32, {n, 4}}}, {{DType::f32, {4, 4}}}, {{DType::f32, {4}}}}},
          {{}, {{{DType::f32, {6, 30}}}, {{DType::f32, {30, 1}}}, {{DType::f32, {1}}}}}};
}

}  // namespace sinter::ir
