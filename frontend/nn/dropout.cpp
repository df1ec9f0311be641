#include "frontend/nn/dropout.h"

#include <cmath>

namespace sinter::nn {

void require_rate(const char* layer, double rate) {
  if (!(rate >= 0 && rate < 1)) throw UserError(layer, str("the rate must be in [0, 1), got ", rate));
}

Tensor drop(const Tensor& x, const Shape& mask, const Parameter& draws, std::uint64_t stream, double rate) {
  const Tensor bits = random_bits(mask, draws, stream);
  draws.assign(draws + 1);
  return where(bits >= std::floor(rate * 0x1p32), x * (1 / (1 - rate)), 0);
}

Dropout::Dropout(double rate) : Module("dropout"), rate_(rate), stream_(init::next_stream()) {
  require_rate("Dropout", rate);
  draws = add_state("draws", Tensor::zeros({DType::u32, {}}));
}

Tensor Dropout::forward(const Tensor& x) {
  if (rate_ > 0) note_not_training();
  if (!is_training() || rate_ == 0) return x;
  return drop(x, x.shape(), draws, stream_, rate_);
}

}  // namespace sinter::nn
