#include "frontend/optim/optimizer.h"

namespace sinter::optim {

SGD::SGD(SGDOptions options) : Optimizer("sgd", options.learning_rate, options.common), options_(options) {
  require_in_0_1("momentum", options.momentum);
  require_at_least_0("weight_decay", options.weight_decay);
  if (options.nesterov && options.momentum == 0) throw UserError("sgd", "nesterov needs a momentum above 0");
}

std::vector<Setting> SGD::own_settings() const {
  return {{"momentum", options_.momentum}, {"nesterov", options_.nesterov}, {"weight_decay", options_.weight_decay}};
}

void SGD::update_one(const Parameter& w, const Tensor& gradient) {
  const Tensor step = rate() * decayed(w, gradient, options_.weight_decay);
  if (options_.momentum == 0) return set(w, w - step);
  const Parameter velocity = slot(w, "velocity");
  const Tensor v = velocity * options_.momentum - step;
  set(velocity, v);
  set(w, options_.nesterov ? w + v * options_.momentum - step : w + v);
}

}  // namespace sinter::optim
