#include "frontend/nn/module.h"

#include <algorithm>

#include "frontend/core/name.h"
#include "frontend/core/nearest.h"
#include "frontend/core/publish.h"
#include "frontend/core/trace.h"
#include "frontend/nn/call_listener.h"
#include "frontend/nn/module_state.h"
#include "frontend/nn/summary.h"

namespace sinter::nn {

namespace {
thread_local bool training = false;

std::string joined(const std::string& path, const std::string& name) { return path.empty() ? name : path + "." + name; }
}  // namespace

TrainingScope::TrainingScope() : outer_(training) {
  training = true;
  if (Trace* trace = Trace::current()) trace->note_training();
}
TrainingScope::~TrainingScope() { training = outer_; }
bool is_training() { return training; }

Module::Module(std::string kind) : state_(std::make_shared<ModuleState>(ModuleState{kind, "", kind, true, {}, {}})) {
  require_name_in_path("Module", kind);
}

const std::string& Module::name() const { return state_->name; }
const std::string& Module::label() const { return state_->label(); }
void Module::set_name(const std::string& name) {
  require_name("Module", name);
  state_->rename(name, name);
}
const std::string& Module::kind() const { return state_->kind; }

Tensor Module::operator()(const Tensor& x) {
  const LayerScope scope(state_->label());
  Tensor y = with_mask_of(x, forward(x));
  CallListener::note(*this, {&y, 1});
  return y;
}

Tensor Module::with_mask_of(const Tensor& x, const Tensor& y) const { return x.mask() && passes_mask() ? Tensor(y, x.mask()) : y; }

std::vector<Tensor> Module::forward_all(std::span<const Tensor> in) {
  if (in.size() != 1) throw UserError(state_->label(), str("takes 1 input, got ", in.size(), "; derive a module of several inputs from nn::Model"));
  return {forward(in[0])};
}

std::vector<Tensor> Module::call_all(std::span<const Tensor> in) {
  const LayerScope scope(state_->label());
  std::vector<Tensor> out = forward_all(in);
  if (in.size() == 1 && out.size() == 1) out[0] = with_mask_of(in[0], out[0]);
  if (!out.empty()) CallListener::note(*this, out);
  return out;
}

Parameter Module::add(std::string name, const Tensor& initial, Penalty penalty) {
  if (!(penalty.l1 >= 0) || !(penalty.l2 >= 0))
    throw UserError(joined(state_->label(), name), str("penalties must be at least 0, got l1 = ", penalty.l1, " and l2 = ", penalty.l2));
  return add(std::move(name), initial, true, penalty);
}

Parameter Module::add_state(std::string name, const Tensor& initial) { return add(std::move(name), initial, false, {}); }

Parameter Module::add(std::string name, const Tensor& initial, bool trains, Penalty penalty) {
  require_name_in_path(state_->label(), name);
  for (const ModuleState::Own& own : state_->own)
    if (own.name == name) throw UserError(state_->label(), str("has a parameter '", name, "' already; give each its own name"));
  Parameter parameter(joined(state_->name, name), initial, trains && state_->trainable);
  parameter.cell()->qualified_name = joined(state_->qualified_name, name);
  state_->own.push_back({parameter, std::move(name), trains, penalty});
  return parameter;
}

void Module::add(const Module& child) {
  const std::vector<ModuleState*> below = child.state_->all();
  if (std::find(below.begin(), below.end(), state_.get()) != below.end())
    throw UserError(state_->label(), str("cannot be part of itself: '", child.state_->label(), "' is this module or contains it"));
  if (std::find(state_->children.begin(), state_->children.end(), child.state_) != state_->children.end()) return;
  const auto same = std::count_if(state_->children.begin(), state_->children.end(), [&](const auto& other) { return other->kind == child.kind(); });
  state_->children.push_back(child.state_);
  const std::string name = child.kind() + "_" + std::to_string(same + 1);
  child.state_->rename(joined(state_->name, name), joined(state_->qualified_name, name));
}

void ModuleState::rename(const std::string& path, const std::string& qualified_path) {
  struct Renamed {
    ModuleState* state;
    std::string path, former;
  };
  std::vector<Renamed> stack{{this, path, qualified_path}};
  while (!stack.empty()) {
    const auto [state, now, former] = std::move(stack.back());
    stack.pop_back();
    const std::size_t old = state->name.empty() ? 0 : state->name.size() + 1;
    for (const auto& child : state->children) {
      const std::string name = child->name.substr(old);
      stack.push_back({child.get(), joined(now, name), joined(former, name)});
    }
    state->name = now;
    state->qualified_name = former;
    for (Own& own : state->own) {  // of names that were checked, however deep
      own.parameter.cell()->name = joined(now, own.name);
      own.parameter.cell()->qualified_name = joined(former, own.name);
    }
  }
}

std::vector<ModuleState*> ModuleState::all() {
  std::vector<ModuleState*> result, stack{this};
  while (!stack.empty()) {
    ModuleState* state = stack.back();
    stack.pop_back();
    if (std::find(result.begin(), result.end(), state) != result.end()) continue;
    result.push_back(state);
    for (auto child = state->children.rbegin(); child != state->children.rend(); ++child) stack.push_back(child->get());
  }
  return result;
}

std::vector<Parameter> Module::parameters() const {
  std::vector<Parameter> result;
  for (const ModuleState* module : state_->all())
    for (const ModuleState::Own& own : module->own)
      if (std::find(result.begin(), result.end(), own.parameter) == result.end()) result.push_back(own.parameter);
  return result;
}

void Module::publish() const { sinter::publish(parameters()); }

std::vector<LayerParameters> Module::layers() const {
  std::vector<LayerParameters> result;
  for (const ModuleState* module : state_->all()) {
    LayerParameters layer{module->kind, module->label(), {}};
    for (const ModuleState::Own& own : module->own) layer.parameters.emplace_back(own.name, own.parameter);
    if (!layer.parameters.empty()) result.push_back(std::move(layer));
  }
  return result;
}

void Module::set_trainable(bool trainable) {
  for (ModuleState* module : state_->all()) {
    module->trainable = trainable;
    for (ModuleState::Own& own : module->own) own.parameter.set_trainable(trainable && own.trains);
  }
}

void Module::set_trainable(const std::string& pattern, bool trainable) {
  bool any = false;
  std::vector<std::string> known;
  for (ModuleState* module : state_->all()) {
    bool trains = false, matched = false;
    for (ModuleState::Own& own : module->own) {
      if (!own.trains) continue;
      known.push_back(own.parameter.name());
      if (matches(pattern, own.parameter.name())) {
        own.parameter.set_trainable(trainable);
        matched = true;
      }
      trains |= own.parameter.trainable();
    }
    if (matched) module->trainable = trains;
    any |= matched;
  }
  if (!any) throw UserError(state_->label(), str("no parameter matches '", pattern, "'", nearest_hint(pattern, known)));
}

bool Module::trainable() const {
  if (Trace* trace = Trace::current()) return trace->read_flag({state_, &state_->trainable});
  return state_->trainable;
}

void Module::note_not_training() const {
  Trace* trace = Trace::current();
  if (trace && !training && state_->trainable) trace->note_not_training(state_->label());
}

bool Module::has_penalty() const {
  for (const ModuleState* module : state_->all())
    for (const ModuleState::Own& own : module->own)
      if (own.penalty.l1 > 0 || own.penalty.l2 > 0) return true;
  return false;
}

Tensor Module::penalty() const {
  Tensor total;
  const auto add = [&](float factor, const Tensor& term) { total = total.defined() ? total + term * factor : term * factor; };
  for (const ModuleState* module : state_->all())
    for (const ModuleState::Own& own : module->own) {
      if (own.penalty.l1 > 0) add(own.penalty.l1, sum(abs(own.parameter)));
      if (own.penalty.l2 > 0) add(own.penalty.l2, sum(square(own.parameter)));
    }
  return total.defined() ? total : Arg(0.0).as(DType::f32);
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
  throw UserError(state_->label(), str("there is no parameter '", wanted, "'; there are ", known));
}

}  // namespace sinter::nn
