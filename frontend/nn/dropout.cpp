#include "frontend/nn/dropout.h"

#include <cmath>

namespace sinter::nn {

Dropout::Dropout(double rate) : Module("dropout"), rate_(rate), stream_(init::next_stream()) {
  if (!(rate >= 0 && rate < 1)) throw UserError("Dropout", str("the rate must be in [0, 1), got ", rate));
  draws = add_state("draws", Tensor::zeros({DType::u32, {}}));
}

Tensor Dropout::forward(const Tensor& x) {
  if (!is_training() || rate_ == 0) return x;
  const Tensor bits = random_bits(x.shape(), draws, stream_);
  draws.assign(draws + 1);
  return select(bits >= std::floor(rate_ * 0x1p32), x * (1 / (1 - rate_)), 0);
}

}  // namespace sinter::nn
