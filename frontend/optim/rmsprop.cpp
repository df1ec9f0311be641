#include "frontend/optim/optimizer.h"

namespace sinter::optim {

RMSprop::RMSprop(RMSpropOptions options) : Optimizer("rmsprop", options.learning_rate, options.common), options_(options) {
  require_in_0_1("rho", options.rho);
  require_in_0_1("momentum", options.momentum);
  require_positive("epsilon", options.epsilon);
  require_at_least_0("weight_decay", options.weight_decay);
}

std::vector<Setting> RMSprop::own_settings() const {
  return {{"rho", options_.rho},           {"epsilon", options_.epsilon},   {"epsilon_outside", options_.epsilon_outside},
          {"momentum", options_.momentum}, {"centered", options_.centered}, {"weight_decay", options_.weight_decay}};
}

void RMSprop::update_one(const Parameter& w, const Tensor& gradient) {
  const Tensor g = decayed(w, gradient, options_.weight_decay);
  const Parameter slot_v = slot(w, "v");
  const Tensor v = slot_v * options_.rho + square(g) * (1 - options_.rho);
  set(slot_v, v);
  Tensor variance = v;
  if (options_.centered) {
    const Parameter slot_mean = slot(w, "mean");
    const Tensor mean = slot_mean * options_.rho + g * (1 - options_.rho);
    set(slot_mean, mean);
    variance = maximum(v - square(mean), 0);  // rounding makes it negative where the gradient is constant
  }
  const Tensor root = options_.epsilon_outside ? sqrt(variance) + options_.epsilon : sqrt(variance + options_.epsilon);
  if (options_.momentum == 0) return set(w, w - rate() * g / root);
  const Parameter velocity = slot(w, "velocity");
  const Tensor kept = velocity * options_.momentum;
  const Tensor moved = options_.epsilon_outside ? kept + g / root : kept + rate() * g / root;
  set(velocity, moved);
  set(w, options_.epsilon_outside ? w - rate() * moved : w - moved);
}

}  // namespace sinter::optim
