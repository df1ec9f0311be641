#include "frontend/nn/shape.h"

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

Tensor Add::forward(const Tensor& x) {
  std::vector<Tensor> results = run(x);
  Tensor total = results[0];
  for (std::size_t i = 1; i < results.size(); ++i) total = total + results[i];
  return total;
}

Tensor Concat::forward(const Tensor& x) { return concat(run(x), -1); }

}  // namespace sinter::nn
