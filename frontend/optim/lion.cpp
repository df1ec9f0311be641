#include "frontend/optim/optimizer.h"

namespace sinter::optim {

Lion::Lion(LionOptions options) : Optimizer("lion", options.learning_rate, options.common), options_(options) {
  require_in_0_1("beta1", options.beta1);
  require_in_0_1("beta2", options.beta2);
  require_at_least_0("weight_decay", options.weight_decay);
}

std::vector<Setting> Lion::own_settings() const {
  return {{"beta1", options_.beta1}, {"beta2", options_.beta2}, {"weight_decay", options_.weight_decay}};
}

void Lion::update_one(const Parameter& w, const Tensor& g) {
  const Parameter slot_m = slot(w, "m");
  Tensor direction = sign(slot_m * options_.beta1 + g * (1 - options_.beta1));
  if (const double d = decay(options_.weight_decay); d > 0) direction = direction + w * d;
  set(w, w - rate() * direction);
  set(slot_m, slot_m * options_.beta2 + g * (1 - options_.beta2));
}

}  // namespace sinter::optim
