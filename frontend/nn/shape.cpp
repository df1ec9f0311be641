#include "frontend/nn/shape.h"

#include "frontend/nn/mask.h"

namespace sinter::nn {

Tensor Flatten::forward(const Tensor& x) {
  if (x.rank() < 1) throw UserError(label(), str("input must be [batch, ...], got ", x.type()));
  return x.rank() == 2 ? x : reshape(x, {x.dim(0), -1});
}

Tensor Reshape::forward(const Tensor& x) {
  if (x.rank() < 1) throw UserError(label(), str("input must be [batch, ...], got ", x.type()));
  std::vector<Dim> dims{x.dim(0)};
  dims.insert(dims.end(), dims_.begin(), dims_.end());
  return reshape(x, dims);
}

std::vector<Tensor> Branches::run(const Tensor& x) {
  std::vector<Tensor> results;
  for (const auto& layer : list()) results.push_back((*layer)(x));
  return results;
}

Tensor Branches::with_common_mask(const Tensor& combined, const std::vector<Tensor>& results) {
  Tensor mask = mask_of(results[0]);
  for (const Tensor& result : results) {
    if (!result.mask() || !mask.defined()) return combined;
    if (result.mask() != results[0].mask()) mask = logical_and(mask, *result.mask());
  }
  return with_mask(combined, mask);
}

Tensor Add::forward(const Tensor& x) {
  std::vector<Tensor> results = run(x);
  Tensor total = results[0];
  for (std::size_t i = 1; i < results.size(); ++i) total = total + results[i];
  return with_common_mask(total, results);
}

Tensor Concat::forward(const Tensor& x) {
  const std::vector<Tensor> results = run(x);
  return with_common_mask(concat(results, -1), results);
}

}  // namespace sinter::nn
