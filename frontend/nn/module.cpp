#include "frontend/nn/module.h"

#include <algorithm>

#include "frontend/core/publish.h"
#include "frontend/core/trace.h"
#include "frontend/nn/summary.h"

namespace sinter::nn {

namespace {
thread_local bool training = false;
}  // namespace

TrainingScope::TrainingScope() : outer_(training) { training = true; }
TrainingScope::~TrainingScope() { training = outer_; }
bool is_training() { return training; }

Tensor Module::operator()(const Tensor& x) {
  const LayerScope scope(name_);
  Tensor y = forward(x);
  note_call(*this, y);
  return y;
}

std::vector<Tensor> Module::forward_all(std::span<const Tensor> in) {
  if (in.size() != 1) throw UserError(name_, str("takes 1 input, got ", in.size(), "; derive a module of several inputs from nn::Model"));
  return {forward(in[0])};
}

std::vector<Tensor> Module::call_all(std::span<const Tensor> in) {
  const LayerScope scope(name_);
  std::vector<Tensor> out = forward_all(in);
  if (!out.empty()) note_call(*this, out[0]);
  return out;
}

Parameter Module::add(std::string name, const Tensor& initial, Penalty penalty) {
  if (!(penalty.l1 >= 0) || !(penalty.l2 >= 0))
    throw UserError(name_ + "." + name, str("penalties must be at least 0, got l1 = ", penalty.l1, " and l2 = ", penalty.l2));
  own_.push_back({Parameter(name_ + "." + name, initial), name, true, penalty});
  return own_.back().parameter;
}

Parameter Module::add_state(std::string name, const Tensor& initial) {
  own_.push_back({Parameter(name_ + "." + name, initial, false), name, false, {}});
  return own_.back().parameter;
}

void Module::add(Module& child) {
  const auto same = std::count_if(children_.begin(), children_.end(), [&](const Module* other) { return other->kind_ == child.kind_; });
  children_.push_back(&child);
  child.rename((name_.empty() ? "" : name_ + ".") + child.kind_ + "_" + std::to_string(same + 1));
}

void Module::rename(const std::string& path) {
  const std::string old = name_;
  name_ = path;
  for (Own& own : own_) own.parameter.set_name(path + "." + own.name);
  for (Module* child : children_) {
    const std::string last = child->name_.substr(old.empty() ? 0 : old.size() + 1);
    child->rename(path + "." + last);
  }
}

std::vector<const Module*> Module::all() const {
  std::vector<const Module*> result, stack{this};
  while (!stack.empty()) {
    result.push_back(stack.back());
    stack.pop_back();
    stack.insert(stack.end(), result.back()->children_.rbegin(), result.back()->children_.rend());
  }
  return result;
}

std::vector<Parameter> Module::parameters() const {
  std::vector<Parameter> result;
  for (const Module* module : all())
    for (const Own& own : module->own_)
      if (std::find(result.begin(), result.end(), own.parameter) == result.end()) result.push_back(own.parameter);
  return result;
}

void Module::publish() const { sinter::publish(parameters()); }

std::vector<Module::Layer> Module::layers() const {
  std::vector<Layer> result;
  for (const Module* module : all()) {
    Layer layer{module->kind_, module->name_, {}};
    for (const Own& own : module->own_) layer.parameters.emplace_back(own.name, own.parameter);
    if (!layer.parameters.empty()) result.push_back(std::move(layer));
  }
  return result;
}

void Module::set_trainable(bool trainable) {
  std::vector<Module*> stack{this};
  while (!stack.empty()) {
    Module* module = stack.back();
    stack.pop_back();
    *module->trainable_ = trainable;
    for (Own& own : module->own_) own.parameter.set_trainable(trainable && own.trains);
    stack.insert(stack.end(), module->children_.begin(), module->children_.end());
  }
}

Tensor Module::penalty() const {
  Tensor total;
  const auto add = [&](float factor, const Tensor& term) {
    if (factor > 0) total = total.defined() ? total + term * factor : term * factor;
  };
  for (const Module* module : all())
    for (const Own& own : module->own_) {
      if (own.penalty.l1 > 0) add(own.penalty.l1, sum(abs(own.parameter)));
      if (own.penalty.l2 > 0) add(own.penalty.l2, sum(square(own.parameter)));
    }
  return total;
}

std::vector<Parameter> Module::trainable_parameters() const {
  std::vector<Parameter> result = parameters();
  std::erase_if(result, [](const Parameter& p) { return !p.trainable(); });
  return result;
}

Parameter Module::parameter(std::string_view wanted) const {
  std::string known;
  for (const Parameter& parameter : parameters()) {
    if (parameter.name() == wanted) return parameter;
    known += (known.empty() ? "" : ", ") + parameter.name();
  }
  throw UserError(name_, str("there is no parameter '", wanted, "'; there are ", known));
}

}  // namespace sinter::nn
