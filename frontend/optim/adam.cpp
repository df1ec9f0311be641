// Adam, AdamW and NAdam.
#include <cmath>

#include "frontend/optim/optimizer.h"

namespace sinter::optim {

Adam::Adam(const char* name, bool decoupled, AdamOptions options)
    : Optimizer(name, options.learning_rate, options.common), options_(options), decoupled_(decoupled) {
  require_in_0_1("beta1", options.beta1);
  require_in_0_1("beta2", options.beta2);
  require_positive("epsilon", options.epsilon);
  require_at_least_0("weight_decay", options.weight_decay);
}

std::vector<Setting> Adam::own_settings() const {
  return {{"beta1", options_.beta1},
          {"beta2", options_.beta2},
          {"epsilon", options_.epsilon},
          {"amsgrad", options_.amsgrad},
          {"weight_decay", options_.weight_decay}};
}

void Adam::update_one(const Parameter& w, const Tensor& gradient) {
  const Tensor g = decoupled_ ? gradient : decayed(w, gradient, options_.weight_decay);
  const Parameter slot_m = slot(w, "m"), slot_v = slot(w, "v");
  const Tensor m = slot_m * options_.beta1 + g * (1 - options_.beta1), v = slot_v * options_.beta2 + square(g) * (1 - options_.beta2);
  set(slot_m, m);
  set(slot_v, v);
  Tensor variance = v;
  if (options_.amsgrad) {
    const Parameter slot_greatest = slot(w, "v_max");
    variance = maximum(slot_greatest, v);
    set(slot_greatest, variance);
  }
  const Tensor step = rate() / bias_correction(options_.beta1), root = rsqrt(bias_correction(options_.beta2));
  const Tensor kept = decoupled_ && decay(options_.weight_decay) > 0 ? w * (1 - rate() * decay(options_.weight_decay)) : w.read();
  set(w, kept - step * m / (sqrt(variance) * root + options_.epsilon));
}

NAdam::NAdam(NAdamOptions options) : Optimizer("nadam", options.learning_rate, options.common), options_(options) {
  require_in_0_1("beta1", options.beta1);
  require_in_0_1("beta2", options.beta2);
  require_positive("epsilon", options.epsilon);
  require_at_least_0("momentum_decay", options.momentum_decay);
  require_at_least_0("weight_decay", options.weight_decay);
}

void NAdam::begin() {
  const auto mu = [&](const Tensor& t) { return options_.beta1 * (1 - 0.5 * exp(t * (options_.momentum_decay * std::log(0.96)))); };
  now_ = mu(step_number());
  next_ = mu(step_number() + 1);
  const Parameter product = scalar("mu_product", 1);
  product_ = product * now_;
  set(product, product_);
}

std::vector<Setting> NAdam::own_settings() const {
  return {{"beta1", options_.beta1},
          {"beta2", options_.beta2},
          {"epsilon", options_.epsilon},
          {"momentum_decay", options_.momentum_decay},
          {"weight_decay", options_.weight_decay}};
}

void NAdam::update_one(const Parameter& w, const Tensor& gradient) {
  const Tensor g = decayed(w, gradient, options_.weight_decay);
  const Parameter slot_m = slot(w, "m"), slot_v = slot(w, "v");
  const Tensor m = slot_m * options_.beta1 + g * (1 - options_.beta1), v = slot_v * options_.beta2 + square(g) * (1 - options_.beta2);
  set(slot_m, m);
  set(slot_v, v);
  const Tensor root = sqrt(v) * rsqrt(bias_correction(options_.beta2)) + options_.epsilon;
  set(w, w - rate() * ((1 - now_) / (1 - product_) * g + next_ / (1 - product_ * next_) * m) / root);
}

}  // namespace sinter::optim
