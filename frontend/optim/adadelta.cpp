#include "frontend/optim/optimizer.h"

namespace sinter::optim {

Adadelta::Adadelta(AdadeltaOptions options) : Optimizer("adadelta", options.learning_rate, options.common), options_(options) {
  require_in_0_1("rho", options.rho);
  require_positive("epsilon", options.epsilon);
  require_at_least_0("weight_decay", options.weight_decay);
}

std::vector<Setting> Adadelta::own_settings() const {
  return {{"rho", options_.rho}, {"epsilon", options_.epsilon}, {"weight_decay", options_.weight_decay}};
}

void Adadelta::update_one(const Parameter& w, const Tensor& gradient) {
  const Tensor g = decayed(w, gradient, options_.weight_decay);
  const Parameter slot_v = slot(w, "v"), slot_u = slot(w, "u");
  const Tensor v = slot_v * options_.rho + square(g) * (1 - options_.rho);
  const Tensor delta = g * sqrt(slot_u + options_.epsilon) / sqrt(v + options_.epsilon);
  set(slot_v, v);
  set(slot_u, slot_u * options_.rho + square(delta) * (1 - options_.rho));
  set(w, w - rate() * delta);
}

}  // namespace sinter::optim
