#include "frontend/optim/optimizer.h"

#include <cmath>

namespace sinter::optim {

namespace {

void require_rate(const std::string& name, float rate) {
  if (!(rate >= 0) || !std::isfinite(rate)) throw UserError(name, str("the learning rate must be a finite number of at least 0, got ", rate));
}

}  // namespace

Optimizer::Optimizer(std::string name, float learning_rate) : name_(std::move(name)) {
  require_rate(name_, learning_rate);
  learning_rate_ = Parameter(name_ + "/learning_rate", Tensor(learning_rate), false);
}

void Optimizer::set_learning_rate(float rate) {
  require_rate(name_, rate);
  learning_rate_.assign(Tensor(rate));
}

void Optimizer::update(std::span<const Parameter> parameters, std::span<const Tensor> gradients) {
  if (parameters.size() != gradients.size())
    throw UserError(name_, str("needs one gradient a parameter, got ", gradients.size(), " gradients for ", parameters.size(), " parameters"));
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (gradients[i].shape() != parameters[i].shape())
      throw UserError(name_, str("the gradient of '", parameters[i].name(), "' must be ", parameters[i].shape(), ", got ", gradients[i].shape()));
    update_one(parameters[i], gradients[i]);
  }
}

Parameter Optimizer::slot(const Parameter& parameter, const std::string& slot_name) {
  for (const Slot& slot : slots_)
    if (slot.owner == parameter.cell() && slot.name == slot_name) return slot.value;
  slots_.push_back(
      {parameter.cell(), slot_name, Parameter(name_ + "/" + parameter.name() + "/" + slot_name, Tensor::zeros(parameter.type()), false)});
  return slots_.back().value;
}

std::vector<Parameter> Optimizer::state() const {
  std::vector<Parameter> result{learning_rate_};
  for (const Slot& slot : slots_) result.push_back(slot.value);
  return result;
}

}  // namespace sinter::optim
