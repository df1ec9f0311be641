#include "frontend/nn/module.h"

#include <algorithm>

#include "frontend/core/trace.h"

namespace sinter::nn {

Tensor Module::operator()(const Tensor& x) {
  const LayerScope scope(name_);
  return forward(x);
}

Parameter Module::add(std::string name, const Tensor& initial, bool trainable) {
  own_.emplace_back(name_ + "." + name, initial, trainable);
  own_names_.push_back(std::move(name));
  return own_.back();
}

void Module::add(Module& child) {
  const auto same = std::count_if(children_.begin(), children_.end(), [&](const Module* other) { return other->kind_ == child.kind_; });
  children_.push_back(&child);
  child.rename((name_.empty() ? "" : name_ + ".") + child.kind_ + "_" + std::to_string(same + 1));
}

void Module::rename(const std::string& path) {
  const std::string old = name_;
  name_ = path;
  for (std::size_t i = 0; i < own_.size(); ++i) own_[i].set_name(path + "." + own_names_[i]);
  for (Module* child : children_) {
    const std::string last = child->name_.substr(old.empty() ? 0 : old.size() + 1);
    child->rename(path + "." + last);
  }
}

std::vector<Parameter> Module::parameters() const {
  std::vector<Parameter> result;
  std::vector<const Module*> stack{this};
  while (!stack.empty()) {
    const Module* module = stack.back();
    stack.pop_back();
    for (const Parameter& parameter : module->own_)
      if (std::find(result.begin(), result.end(), parameter) == result.end()) result.push_back(parameter);
    stack.insert(stack.end(), module->children_.rbegin(), module->children_.rend());
  }
  return result;
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
