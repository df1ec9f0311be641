#include "ir/ops/contraction.h"

#include "ir/graph.h"

namespace sinter::ir {

namespace {

/// out[m,f] += a · b with either read transposed, of each pair of matrices; contraction in order.
void multiply(Reference& r, const Array& a, const Array& b, bool transpose_a, bool transpose_b) {
  const std::size_t lead = a.extents.size() - 2;
  const std::int64_t m = a.extents[lead + (transpose_a ? 1 : 0)], k = a.extents[lead + (transpose_a ? 0 : 1)],
                     f = b.extents[lead + (transpose_b ? 0 : 1)];
  for (std::int64_t matrix = 0; matrix < a.product(0, lead); ++matrix) {
    const double *left = a.data.data() + matrix * m * k, *right = b.data.data() + matrix * k * f;
    double* out = r.out.data.data() + matrix * m * f;
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t c = 0; c < k; ++c) {
        const double x = left[transpose_a ? c * m + i : i * k + c];
        for (std::int64_t j = 0; j < f; ++j) out[i * f + j] += x * right[transpose_b ? j * k + c : c * f + j];
      }
  }
}

}  // namespace

ProductExtents product_extents(const Matmul& op, const Shape& a, const Shape& b) {
  const std::size_t last = a.rank() - 1;
  return {a[op.transpose_a ? last : last - 1], a[op.transpose_a ? last - 1 : last], b[op.transpose_b ? last - 1 : last]};
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

Access Matmul::access(std::span<const Type> in, const Shape& result) const {
  Access access = Access::over(result, 2);
  const std::size_t k = access.reduce(product_extents(*this, in[0].shape, in[1].shape).k);
  Map a{along(0), along(k)}, b{along(k), along(1)};
  if (transpose_a) std::swap(a[0], a[1]);
  if (transpose_b) std::swap(b[0], b[1]);
  access.operands = {std::move(a), std::move(b)};
  return access;
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

Type BatchMatmul::infer(std::span<const Type> in) const {
  require_inputs(in, 2);
  Floats::result(in);
  const Shape &a = in[0].shape, &b = in[1].shape;
  const std::size_t rank = a.rank();
  if (rank < 3 || b.rank() != rank || !std::equal(a.begin(), a.end() - 2, b.begin()))
    throw UserError(str("needs matrices in the last two axes and equal leading axes, got ", in[0], " and ", in[1]));
  for (const Dim dim : {a[rank - 2], a[rank - 1], b[rank - 2], b[rank - 1]})
    if (!dim.is_fixed()) throw UserError(str(dim.is_batch() ? "N" : "T", " must be one of the leading axes, got ", in[0], " and ", in[1]));
  const Type product =
      Matmul{transpose_a, transpose_b}.infer(std::vector<Type>{{DType::f32, {a[rank - 2], a[rank - 1]}}, {DType::f32, {b[rank - 2], b[rank - 1]}}});
  return {DType::f32, a.with(rank - 2, product.shape[0]).with(rank - 1, product.shape[1])};
}

Access BatchMatmul::access(std::span<const Type> in, const Shape& result) const {
  const std::size_t rank = result.rank();
  Access access = Access::over(result, 2);
  const std::size_t k = access.reduce(in[0].shape[rank - (transpose_a ? 2 : 1)]);
  access.add_aligned(rank);
  access.add_aligned(rank);
  access.operands[0][rank - (transpose_a ? 1 : 2)] = along(rank - 2);
  access.operands[0][rank - (transpose_a ? 2 : 1)] = along(k);
  access.operands[1][rank - (transpose_b ? 1 : 2)] = along(k);
  access.operands[1][rank - (transpose_b ? 2 : 1)] = along(rank - 1);
  return access;
}

void BatchMatmul::reference(Reference& r) const { multiply(r, *r.in[0], *r.in[1], transpose_a, transpose_b); }

Values BatchMatmul::vjp(const Vjp& v) const {
  const Value a = v.x[0], b = v.x[1];
  const auto product = [&](Value x, Value y, bool transpose_x, bool transpose_y) {
    return v.graph.add(BatchMatmul{transpose_x, transpose_y}, {x, y});
  };
  return {transpose_a ? product(b, v.dy, transpose_b, true) : product(v.dy, b, false, !transpose_b),
          transpose_b ? product(v.dy, a, true, transpose_a) : product(a, v.dy, !transpose_a, false)};
}

std::vector<Sample<BatchMatmul>> BatchMatmul::samples() {
  const Dim n = Dim::batch();
  return {{{false, false}, {{{DType::f32, {n, 5, 7}}}, {{DType::f32, {n, 7, 18}}}}},
          {{true, false}, {{{DType::f32, {n, 7, 3}}}, {{DType::f32, {n, 7, 4}}}}},
          {{false, true}, {{{DType::f32, {n, 2, 6, 20}}}, {{DType::f32, {n, 2, 9, 20}}}}},
          {{true, true}, {{{DType::f32, {4, 5, 3}}}, {{DType::f32, {4, 17, 5}}}}},
          {{false, false}, {{{DType::f32, {3, n, 2, 1}}}, {{DType::f32, {3, n, 1, 6}}}}},
          {{false, false}, {{{DType::f32, {n, 4, 3}}}, {{DType::f32, {n, 3, 1}}}}}};
}

Type Dense::infer(std::span<const Type> in) const {
  require_inputs(in, 3);
  const Type product = Matmul{}.infer(in.first(2));
  Floats::result(in);
  if (in[2].shape != Shape{product.shape[1]}) throw UserError(str("the bias must be ", Shape{product.shape[1]}, ", got ", in[2].shape));
  return product;
}

Access Dense::access(std::span<const Type> in, const Shape& result) const {
  Access access = Matmul{}.access(in.first(2), result);
  access.operands.push_back({along(1)});
  return access;
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
