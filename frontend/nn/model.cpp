#include "frontend/nn/model.h"

namespace sinter::nn {

Tensor Model::forward(const Tensor& x) {
  std::vector<Tensor> out = forward_all({&x, 1});
  if (out.size() != 1) throw UserError(label(), str("gives ", out.size(), " outputs; call it with call_all"));
  return std::move(out[0]);
}

}  // namespace sinter::nn
