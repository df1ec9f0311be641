#include "frontend/core/ops/product.h"

#include "frontend/core/operands.h"
#include "frontend/core/ops.h"

namespace sinter {

namespace {

/// The dimensions before the matrices.
Shape leading(const Shape& shape) { return shape.erase(shape.rank() - 2, shape.rank()); }

/// The matrices of x, repeated along the leading axes.
Tensor repeated(const Tensor& x, Shape lead, const std::source_location& where) {
  for (std::size_t axis = x.rank() - 2; axis < x.rank(); ++axis) lead = lead.insert(lead.rank(), x.shape()[axis]);
  return broadcast_to({x, where}, lead);
}

/// Matrices a by one matrix b: all rows form one matrix.
Tensor by_one_matrix(const Tensor& a, const Tensor& b, bool transpose_a, bool transpose_b, const std::source_location& where) {
  const Tensor left = transpose_a ? transpose({a, where}) : a;
  const std::size_t last = left.rank() - 1;
  const Tensor rows = reshape({left, where}, {left.shape().product(0, last), left.shape()[last]});
  const Tensor product = binary(ir::Matmul{false, transpose_b}, {rows, where}, {b, where});
  const Shape shape = left.shape().with(last, product.shape()[1]);
  return reshape({product, where}, {shape.begin(), shape.end()});
}

Tensor product_of(const Tensor& a, const Tensor& b, bool transpose_a, bool transpose_b, const std::source_location& where) {
  if (a.rank() == 2 && b.rank() == 2) return binary(ir::Matmul{transpose_a, transpose_b}, {a, where}, {b, where});
  const Dim k = a.shape()[a.rank() - (transpose_a ? 2 : 1)], other = b.shape()[b.rank() - (transpose_b ? 1 : 2)];
  if (k != other)
    fail(where, str("matmul: the contracted dimensions differ: ", k, " of ", a.type(), transpose_a ? " (transposed)" : "", " against ", other, " of ",
                    b.type(), transpose_b ? " (transposed)" : ""));
  if (b.rank() == 2) return by_one_matrix(a, b, transpose_a, transpose_b, where);
  const Shape lead = with_origin(Arg(a, where), [&] { return broadcast(leading(a.shape()), leading(b.shape())); });
  return binary(ir::BatchMatmul{transpose_a, transpose_b}, {repeated(a, lead, where), where}, {repeated(b, lead, where), where});
}

}  // namespace

Tensor dot(const Arg& a, const Arg& b) {
  const Tensor x = a.as(DType::f32), y = b.as(DType::f32);
  if (x.rank() != 1 || y.shape() != x.shape())
    fail(a.where(), str("dot needs two vectors of one length, got ", x.type(), " and ", y.type(), "; matmul takes matrices"));
  return sum({Arg(x, a.where()) * Arg(y, a.where()), a.where()});
}

Tensor matmul(const Arg& a, const Arg& b, bool transpose_a, bool transpose_b) {
  const std::source_location& where = a.where();
  Tensor x = a.as(DType::f32), y = b.as(DType::f32);
  if (x.rank() == 0 || y.rank() == 0) fail(where, str("matmul needs vectors or matrices, got ", x.type(), " and ", y.type(), "; a * b scales"));
  const bool row = x.rank() == 1, column = y.rank() == 1;
  if ((row && transpose_a) || (column && transpose_b))
    fail(where, str("matmul cannot transpose a vector, got ", x.type(), " and ", y.type(), "; a vector is a row on the left, a column on the right"));
  if (row) x = reshape({x, where}, {1, x.dim(0)});
  if (column) y = reshape({y, where}, {y.dim(0), 1});
  const Tensor product = product_of(x, y, transpose_a, transpose_b, where);
  Shape shape = product.shape();
  if (column) shape = shape.erase(shape.rank() - 1, shape.rank());
  if (row) shape = shape.erase(shape.rank() - (column ? 1 : 2), shape.rank() - (column ? 0 : 1));
  return reshape({product, where}, {shape.begin(), shape.end()});
}

}  // namespace sinter
