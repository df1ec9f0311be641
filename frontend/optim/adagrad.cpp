#include "frontend/optim/optimizer.h"

namespace sinter::optim {

Adagrad::Adagrad(AdagradOptions options) : Optimizer("adagrad", options.learning_rate, options.common), options_(options) {
  require_positive("epsilon", options.epsilon);
  require_at_least_0("initial_sum", options.initial_sum);
  require_at_least_0("weight_decay", options.weight_decay);
}

std::vector<Setting> Adagrad::own_settings() const {
  return {{"epsilon", options_.epsilon}, {"initial_sum", options_.initial_sum}, {"weight_decay", options_.weight_decay}};
}

void Adagrad::update_one(const Parameter& w, const Tensor& gradient) {
  const Tensor g = decayed(w, gradient, options_.weight_decay);
  const Parameter total = slot(w, "sum", options_.initial_sum);
  const Tensor squares = total + square(g);
  set(total, squares);
  set(w, w - rate() * g / (sqrt(squares) + options_.epsilon));
}

}  // namespace sinter::optim
