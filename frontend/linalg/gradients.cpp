#include "frontend/linalg/gradients.h"

#include <cmath>
#include <limits>

#include "frontend/core/ops.h"
#include "frontend/linalg/solve.h"

namespace sinter::linalg {

namespace {

using Tensors = std::vector<Tensor>;
using Span = std::span<const Tensor>;

Tensor t(const Tensor& x) { return transpose(x); }

/// A vector as one column, which scales the rows of a matrix; a matrix as it is.
Tensor columns(const Tensor& x) { return x.rank() == 1 ? reshape(x, {x.dim(0), 1}) : x; }

/// [n, n]: `below` below the diagonal, `on` on it, 0 above.
Tensor lower(Dim n, float below, float on) {
  const std::int64_t extent = n.factor();
  std::vector<float> elements(static_cast<std::size_t>(extent * extent));
  for (std::int64_t r = 0; r < extent; ++r)
    for (std::int64_t c = 0; c <= r; ++c) elements[static_cast<std::size_t>(r * extent + c)] = c == r ? on : below;
  return {elements, {n, n}};
}

Tensor identity(Dim n) { return lower(n, 0, 1); }

/// 1 / x, 0 where x is 0.
Tensor reciprocal(const Tensor& x) { return where(x == 0, 0, 1 / where(x == 0, 1, x)); }

/// 1 / gaps between values, 0 on the diagonal. Throws UserError where the loss depends on how vectors of equal values rotate into
/// each other.
Tensor reciprocal_gaps(const Call& call, const Tensor& gaps, const Tensor& rotations) {
  const std::int64_t n = gaps.dim(0).factor();
  const std::vector<float> gap = gaps.to_vector<float>(), rotation = rotations.to_vector<float>();
  for (std::int64_t i = 0; i < n * n; ++i)
    if (i / n != i % n && gap[static_cast<std::size_t>(i)] == 0 && rotation[static_cast<std::size_t>(i)] != 0)
      call.fail(str("needs values that differ, but those of vectors ", i / n, " and ", i % n,
                    " are equal; the vectors have no gradient there, the values do"));
  return reciprocal(gaps);
}

/// x / s by columns, for vectors of singular values s. Throws UserError for a column that is not 0 where s is 0.
Tensor over_values(const Call& call, const Tensor& x, const Tensor& s) {
  const std::vector<float> value = s.to_vector<float>(), weight = sum(abs(x), {0}).to_vector<float>();
  for (std::size_t i = 0; i < value.size(); ++i)
    if (value[i] == 0 && weight[i] != 0) call.fail(str("needs singular values above 0, but value ", i, " is 0; its vectors have no gradient"));
  return x * reciprocal(s);
}

Call gradient_of(const Call& call) { return {"gradient of " + call.name, call.where}; }

/// Of a = q r with at least as many rows as columns: Walter and Lehmann 2010. Throws UserError for linearly dependent columns.
Tensor tall_qr_gradient(const Call& call, const Tensor& q, const Tensor& r, const Tensor& dq, const Tensor& dr) {
  const std::int64_t n = r.dim(0).factor();
  const std::vector<float> elements = r.to_vector<float>(), lengths = sqrt(sum(square(r), {0})).to_vector<float>();
  for (std::int64_t i = 0; i < n; ++i)
    if (const float rest = std::abs(elements[static_cast<std::size_t>(i * n + i)]), length = lengths[static_cast<std::size_t>(i)];
        rest <= static_cast<float>(n) * std::numeric_limits<float>::epsilon() * length)
      call.fail(str("needs columns that are linearly independent, but column ", i, ", of norm ", length, ", is within ", rest,
                    " of the span of those before it"));
  const Tensor m = matmul(r, dr, false, true) - matmul(dq, q, true);
  const Tensor symmetric = m * lower(r.dim(0), 1, 1) + t(m * lower(r.dim(0), 1, 0));
  return t(solve(call, r, t(dq + matmul(q, symmetric))));
}

}  // namespace

GradientRule solve_gradient(const Call& call) {
  return [call = gradient_of(call)](Span in, Span out, Span gradients) {
    const Tensor db = solve(call, t(in[0]), gradients[0]);
    return Tensors{-matmul(columns(db), columns(out[0]), false, true), db};
  };
}

GradientRule inv_gradient() {
  return [](Span, Span out, Span gradients) { return Tensors{-matmul(out[0], matmul(gradients[0], out[0], false, true), true)}; };
}

GradientRule det_gradient(const Call& call) {
  return [call = gradient_of(call)](Span in, Span out, Span gradients) { return Tensors{gradients[0] * out[0] * t(inv(call, in[0]))}; };
}

// Golub and Pereyra 1973: dp = -p da p + p pᵀ daᵀ (1 - a p) + (1 - p a) daᵀ pᵀ p, where the rank does not change.
GradientRule pinv_gradient() {
  return [](Span in, Span out, Span gradients) {
    const Tensor &a = in[0], &p = out[0], g = t(gradients[0]);
    const Tensor first = matmul(p, matmul(gradients[0], p, false, true), true);
    const Tensor second = matmul(matmul(g - matmul(a, matmul(p, g)), p), p, false, true);
    const Tensor third = matmul(p, matmul(p, g - matmul(matmul(g, p), a)), true);
    return Tensors{second + third - first};
  };
}

// The same for p b with its gradient dx: no product is larger than a.
GradientRule lstsq_gradient(const Call& call, std::optional<double> rcond) {
  return [call = gradient_of(call), rcond](Span in, Span out, Span gradients) {
    const Tensor &a = in[0], p = pinv(call, a, rcond), b = columns(in[1]), x = columns(out[0]), dx = columns(gradients[0]);
    const Tensor db = matmul(p, dx, true);
    const Tensor residual = b - matmul(a, x), rest = dx - matmul(p, matmul(a, dx));
    const Tensor da = matmul(residual, matmul(p, db), false, true) + matmul(matmul(p, x, true), rest, false, true) - matmul(db, x, false, true);
    return Tensors{da, reshape(db, {in[1].shape().begin(), in[1].shape().end()})};
  };
}

GradientRule qr_gradient(const Call& call) {
  return [call = gradient_of(call)](Span in, Span out, Span gradients) {
    const Tensor &a = in[0], &q = out[0], &r = out[1], &dq = gradients[0], &dr = gradients[1];
    const std::int64_t rows = a.dim(0).factor(), cols = a.dim(1).factor();
    if (rows >= cols) return Tensors{tall_qr_gradient(call, q, r, dq, dr)};
    // a = [x y] = q [u v]: q and u are those of x, and v = qᵀ y.
    const Tensor y = slice(a, 1, rows, cols), dv = slice(dr, 1, rows, cols);
    const Tensor dx = tall_qr_gradient(call, q, slice(r, 1, 0, rows), dq + matmul(y, dv, false, true), slice(dr, 1, 0, rows));
    return Tensors{concat({dx, matmul(q, dv)}, 1)};
  };
}

// Townsend 2016.
GradientRule svd_gradient(const Call& call) {
  return [call = gradient_of(call)](Span in, Span out, Span gradients) {
    const Tensor &u = out[0], &s = out[1], &vh = out[2], &du = gradients[0], &ds = gradients[1], dv = t(gradients[2]), v = t(vh);
    const Dim k = s.dim(0);
    const Tensor rotation_u = matmul(u, du, true), rotation_v = matmul(v, dv, true);
    const Tensor gaps = reciprocal_gaps(call, (s - columns(s)) * (s + columns(s)), abs(rotation_u) + abs(rotation_v));  // 1 / (s_j² - s_i²)
    const Tensor inner = gaps * (rotation_u - t(rotation_u)) * s + columns(s) * (gaps * (rotation_v - t(rotation_v))) + identity(k) * ds;
    Tensor da = matmul(matmul(u, inner), vh);
    // The parts orthogonal to the spaces of u and v.
    if (in[0].dim(0) != k) da = da + matmul(over_values(call, du - matmul(u, rotation_u), s), vh);
    if (in[0].dim(1) != k) da = da + matmul(u, over_values(call, dv - matmul(v, rotation_v), s), false, true);
    return Tensors{da};
  };
}

GradientRule eigh_gradient(const Call& call) {
  return [call = gradient_of(call)](Span, Span out, Span gradients) {
    const Tensor &values = out[0], &vectors = out[1], rotation = matmul(vectors, gradients[1], true);
    const Tensor inner = identity(values.dim(0)) * gradients[0] + reciprocal_gaps(call, values - columns(values), rotation) * rotation;
    const Tensor da = matmul(matmul(vectors, inner), vectors, false, true);
    return Tensors{(da + t(da)) / 2};
  };
}

// Murray 2016.
GradientRule cholesky_gradient(const Call& call) {
  return [call = gradient_of(call)](Span, Span out, Span gradients) {
    const Tensor &l = out[0], inner = matmul(l, gradients[0], true) * lower(l.dim(0), 1, 0.5f);
    const Tensor da = solve(call, t(l), t(solve(call, t(l), t(inner))));
    return Tensors{(da + t(da)) / 2};
  };
}

}  // namespace sinter::linalg
