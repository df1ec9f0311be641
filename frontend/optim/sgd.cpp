#include "frontend/optim/optimizer.h"

namespace sinter::optim {

SGD::SGD(SGDOptions options) : Optimizer("sgd", options.learning_rate), momentum_(options.momentum) {
  if (!(momentum_ >= 0 && momentum_ < 1)) throw UserError("sgd", str("momentum must be in [0, 1), got ", momentum_));
}

void SGD::update_one(const Parameter& w, const Tensor& g) {
  if (momentum_ == 0) return w.assign(w - learning_rate() * g);
  const Parameter velocity = slot(w, "velocity");
  const Tensor v = velocity * momentum_ - learning_rate() * g;
  velocity.assign(v);
  w.assign(w + v);
}

}  // namespace sinter::optim
