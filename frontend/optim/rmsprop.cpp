#include "frontend/optim/optimizer.h"

namespace sinter::optim {

RMSprop::RMSprop(RMSpropOptions options) : Optimizer("rmsprop", options.learning_rate), rho_(options.rho), epsilon_(options.epsilon) {
  if (!(rho_ >= 0 && rho_ < 1)) throw UserError("rmsprop", str("rho must be in [0, 1), got ", rho_));
  if (!(epsilon_ > 0)) throw UserError("rmsprop", str("epsilon must be positive, got ", epsilon_));
}

void RMSprop::update_one(const Parameter& w, const Tensor& g) {
  const Parameter slot_v = slot(w, "v");
  const Tensor v = slot_v * rho_ + square(g) * (1 - rho_);
  slot_v.assign(v);
  w.assign(w - learning_rate() * g / sqrt(v + epsilon_));
}

}  // namespace sinter::optim
