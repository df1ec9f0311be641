#include "frontend/nn/mask.h"

#include "frontend/core/operands.h"

namespace sinter::nn {

Tensor with_mask(const Tensor& x, const Tensor& mask, std::source_location where) {
  if (x.rank() < 2) fail(where, str("with_mask: x must be [N, T, features...], got ", x.type()));
  if (const Type wanted{DType::boolean, {x.dim(0), x.dim(1)}}; mask.type() != wanted)
    fail(where, str("with_mask: the mask of ", x.type(), " must be ", wanted, ", got ", mask.type()));
  return {x, std::make_shared<const Tensor>(mask)};
}

Tensor mask_of(const Tensor& x) { return x.mask() ? *x.mask() : Tensor(); }

Tensor where_exists(const Tensor& exists, const Tensor& x, double value) {
  std::vector<Dim> dims(exists.shape().begin(), exists.shape().end());
  dims.resize(x.rank(), 1);
  const Tensor each = reshape(exists, dims);
  return x.dtype() == DType::boolean ? logical_and(each, x) : where(each, x, value);
}

Tensor sequence_mask(const Tensor& lengths, Dim steps, std::source_location where) {
  if (lengths.rank() != 1 || !is_index(lengths.dtype())) fail(where, str("sequence_mask: lengths must be i32 or u32 [N], got ", lengths.type()));
  const Tensor step = cast(iota({1, steps}, where), DType::i32);
  return step < cast(reshape(lengths, {lengths.dim(0), 1}), DType::i32);
}

Tensor Masking::forward(const Tensor& x) {
  if (x.rank() != 3) throw UserError(label(), str("input must be [N, T, features], got ", x.type()));
  const Tensor exists = max(cast(not_equal(x, value_), DType::f32), {2}, true) > 0;  // [N, T, 1]
  return with_mask(where(exists, x, 0), reshape(exists, {x.dim(0), x.dim(1)}));
}

}  // namespace sinter::nn
