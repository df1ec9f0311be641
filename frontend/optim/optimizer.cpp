#include "frontend/optim/optimizer.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "frontend/core/nearest.h"
#include "frontend/core/number.h"
#include "frontend/core/trace.h"

namespace sinter::optim {

namespace {
/// A loaded state; a count, which earlier versions kept in f32, as the u32 that it is now.
Tensor as_state(const Tensor& loaded, const Type& type) {
  const bool is_count = type == Type{DType::u32, {}} && loaded.type() == Type{};
  return is_count ? Tensor::filled(type, loaded.item()) : loaded;
}
}  // namespace

Optimizer::Optimizer(std::string name, double learning_rate, const Common& common) : name_(std::move(name)), common_(common) {
  require_at_least_0("the learning rate", learning_rate);
  if (common.accumulate < 1) throw UserError(name_, str("accumulate must be at least 1, got ", common.accumulate));
  if (common.average_decay != 0) require_in_0_1("average_decay", common.average_decay);
  (void)clip_gradients({}, common.clip);
  for (const Group& group : common.groups) {
    require_at_least_0("the rate of a group", group.rate);
    if (group.weight_decay) require_at_least_0("the weight_decay of a group", *group.weight_decay);
  }
  learning_rate_ = Parameter(name_ + "/learning_rate", Tensor(static_cast<float>(learning_rate)), false);
}

void Optimizer::require_in_0_1(const char* what, double value) const {
  if (!(value >= 0 && value < 1)) throw UserError(name_, str(what, " must be in [0, 1), got ", value));
}
void Optimizer::require_positive(const char* what, double value) const {
  if (const std::string rule = not_positive(value); !rule.empty()) throw UserError(name_, str(what, " ", rule, ", got ", value));
}
void Optimizer::require_at_least_0(const char* what, double value) const {
  if (!(value >= 0) || value > 3e38) throw UserError(name_, str(what, " must be a finite number of at least 0, got ", value));
}

void Optimizer::set_learning_rate(double rate) {
  require_at_least_0("the learning rate", rate);
  learning_rate_.assign(Tensor(static_cast<float>(rate)));
}

std::vector<Setting> Optimizer::settings() const {
  std::vector<Setting> list{{"learning_rate", learning_rate_.read().item()}};
  for (Setting& setting : own_settings()) list.push_back(std::move(setting));
  for (const auto& [what, limit] :
       {std::pair{"clip.value", common_.clip.value}, {"clip.norm", common_.clip.norm}, {"clip.global_norm", common_.clip.global_norm}})
    if (limit > 0) list.emplace_back(what, limit);
  if (common_.accumulate > 1) list.emplace_back("accumulate", common_.accumulate);
  if (common_.average_decay > 0) list.emplace_back("average_decay", common_.average_decay);
  if (common_.lazy) list.emplace_back("lazy", true);
  for (const Group& group : common_.groups) {
    std::string text = group.frozen ? "frozen" : str("rate ", group.rate);
    if (group.weight_decay && !group.frozen) text += str(" weight_decay ", *group.weight_decay);
    if (group.lazy && !group.frozen) text += " lazy";
    list.emplace_back(str("group '", group.pattern, "'"), std::move(text));
  }
  return list;
}

// ---- an update ----

void Optimizer::update(std::span<const Parameter> parameters, std::span<const Tensor> gradients) {
  if (parameters.size() != gradients.size())
    throw UserError(name_, str("needs one gradient per parameter, got ", gradients.size(), " gradients for ", parameters.size(), " parameters"));
  for (std::size_t i = 0; i < parameters.size(); ++i)
    if (gradients[i].shape() != parameters[i].shape())
      throw UserError(name_, str("the gradient of '", parameters[i].name(), "' must be ", parameters[i].shape(), ", got ", gradients[i].shape()));
  updates_ = changes_ = step_ = {};
  std::vector<Parameter> trained;
  std::vector<Tensor> used;
  std::vector<const Group*> groups;
  const std::vector<const Group*> all_groups = groups_of(parameters);
  for (std::size_t i = 0; i < parameters.size(); ++i)
    if (parameters[i].trainable() && !(all_groups[i] && all_groups[i]->frozen))
      trained.push_back(parameters[i]), used.push_back(gradients[i]), groups.push_back(all_groups[i]);
  if (trained.empty() && !parameters.empty()) return;
  if (common_.accumulate > 1) used = accumulated(trained, used);
  used = clip_gradients(used, common_.clip, trained);
  begin();
  for (std::size_t i = 0; i < trained.size(); ++i) {
    group_ = groups[i];
    if (common_.lazy || (group_ && group_->lazy)) changes_ = not_equal(used[i], 0);
    update_one(trained[i], used[i]);
    changes_ = {};
    if (common_.average_decay > 0) average(trained[i]);
  }
}

std::vector<const Group*> Optimizer::groups_of(std::span<const Parameter> parameters) const {
  std::vector<const Group*> result(parameters.size());
  std::vector<std::string> names;
  for (const Parameter& p : parameters) names.push_back(p.name());
  for (const Group& group : common_.groups) {
    bool any = false;
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (!matches(group.pattern, names[i])) continue;
      any = true;
      if (!result[i]) result[i] = &group;
    }
    if (!any && !parameters.empty())
      throw UserError(name_, str("no parameter matches the group '", group.pattern, "'", nearest_hint(group.pattern, names)));
  }
  return result;
}

Tensor Optimizer::rate() const { return group_ && group_->rate != 1 ? learning_rate_ * group_->rate : learning_rate_.read(); }
double Optimizer::decay(double usual) const { return group_ && group_->weight_decay ? *group_->weight_decay : usual; }

std::vector<Tensor> Optimizer::accumulated(std::span<const Parameter> parameters, std::span<const Tensor> gradients) {
  const Parameter calls = counter("accumulated");
  const Tensor count = calls + 1;
  updates_ = equal(count, common_.accumulate);
  calls.assign(where(updates_, 0, count));
  std::vector<Tensor> result;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const Parameter total = slot(parameters[i], "accumulated");
    const Tensor sum = total + gradients[i];
    total.assign(where(updates_, 0, sum));
    result.push_back(sum * (1.0 / common_.accumulate));
  }
  return result;
}

void Optimizer::average(const Parameter& w) {
  const Parameter mean = slot(w, "average");
  // The first average is the first value.
  const Tensor kept = where(equal(step_number(), 1), 0, common_.average_decay);
  set(mean, mean * kept + w * (1 - kept));
}

void Optimizer::set(const Parameter& parameter, const Tensor& value) {
  set_all(parameter, changes_.defined() ? where(changes_, value, parameter) : value);
}

void Optimizer::set_all(const Parameter& parameter, const Tensor& value) {
  parameter.assign(updates_.defined() ? where(updates_, value, parameter) : value);
}

Tensor Optimizer::step_number() {
  if (!step_.defined()) {
    const Parameter steps = counter("step");
    const Tensor now = minimum(steps, std::numeric_limits<std::uint32_t>::max() - 1) + 1;
    set_all(steps, now);
    step_ = cast(now, DType::f32);
  }
  return step_;
}

Tensor Optimizer::bias_correction(double base) { return -expm1(step_number() * std::log(base)); }

Tensor Optimizer::decayed(const Parameter& w, const Tensor& g, double usual) const { return decay(usual) > 0 ? g + w * decay(usual) : g; }

// ---- state ----

void Optimizer::name_slots() const {
  std::map<std::string, std::vector<const Cell*>> owners;  // of one name, in the order of their first slots
  for (const Slot& slot : *slots_) {
    std::string full_name = name_ + "/" + slot.name, qualified_name;
    if (slot.owner) {
      std::vector<const Cell*>& same = owners[slot.owner->name];
      const auto place = std::find(same.begin(), same.end(), slot.owner.get());
      const auto number = place - same.begin() + 1;
      if (place == same.end()) same.push_back(slot.owner.get());
      full_name = str(name_, "/", slot.owner->name, number > 1 ? str("#", number) : "", "/", slot.name);
      if (!slot.owner->qualified_name.empty()) qualified_name = str(name_, "/", slot.owner->qualified_name, "/", slot.name);
    }
    slot.value.cell()->name = std::move(full_name);
    slot.value.cell()->qualified_name = std::move(qualified_name);
  }
}

Parameter Optimizer::find(const std::shared_ptr<Cell>& owner, const std::string& slot_name, const Type& type, double initial) {
  for (const Slot& slot : *slots_)
    if (slot.owner == owner && slot.name == slot_name) return slot.value;
  slots_->push_back({owner, slot_name, Parameter(slot_name, Tensor::filled(type, initial), false)});
  const Parameter created = slots_->back().value;
  name_slots();
  const auto loaded = [&](const std::string& name) {
    return std::find_if(loaded_->begin(), loaded_->end(), [&](const Parameter& p) { return p.name() == name; });
  };
  const auto found = loaded(created.name_in_file([&](const std::string& name) { return loaded(name) != loaded_->end(); }));
  if (found == loaded_->end()) return created;
  const Tensor value = as_state(Tensor(found->cell()->type, found->cell()->buffer), type);
  if (value.type() != type) {
    slots_->pop_back();
    throw UserError(name_, str("the loaded state '", found->name(), "' must be ", type, ", got ", found->type()));
  }
  slots_->back().value = found->type() == type ? *found : Parameter(created.name(), value, false);
  loaded_->erase(found);
  return slots_->back().value;
}

Parameter Optimizer::slot(const Parameter& parameter, const std::string& slot_name, double initial) {
  return find(parameter.cell(), slot_name, parameter.type(), initial);
}

Parameter Optimizer::scalar(const std::string& scalar_name, double initial) { return find(nullptr, scalar_name, {}, initial); }

std::vector<Parameter> Optimizer::created_state() const {
  name_slots();
  std::vector<Parameter> result{learning_rate_};
  for (const Slot& slot : *slots_) result.push_back(slot.value);
  return result;
}

Parameter Optimizer::counter(const std::string& counter_name) { return find(nullptr, counter_name, {DType::u32, {}}, 0); }

std::vector<Parameter> Optimizer::state() const {
  std::vector<Parameter> result = created_state();
  result.insert(result.end(), loaded_->begin(), loaded_->end());
  return result;
}

void Optimizer::load_state(std::span<const std::pair<std::string, Tensor>> state) const {
  if (Trace::current()) throw UserError(name_, "load_state() cannot be traced; call it between steps");
  std::map<std::string, Tensor> rest;
  for (const auto& [name, tensor] : state) {
    if (!name.starts_with(name_ + "/"))
      throw UserError(name_, str("'", name, "' is no state of this optimizer, whose names begin with ", name_, "/"));
    rest.insert_or_assign(name, tensor.detach());
  }
  const std::vector<Parameter> known = created_state();
  for (const Parameter& p : known) {
    if (auto former = rest.extract(p.name_in_file([&](const std::string& name) { return rest.contains(name); })); !former.empty()) {
      former.key() = p.name();
      rest.insert(std::move(former));
    }
    const auto found = rest.find(p.name());
    if (found == rest.end()) throw UserError(name_, str("the state '", p.name(), "' is missing"));
    found->second = as_state(found->second, p.type());
    if (found->second.type() != p.type()) throw UserError(name_, str("the state '", p.name(), "' is ", p.type(), ", got ", found->second.type()));
  }
  std::vector<std::pair<Parameter, Tensor>> values;
  for (const Parameter& p : known) {
    values.emplace_back(p, rest.at(p.name()));
    rest.erase(p.name());
  }
  std::vector<Parameter> later;
  for (const auto& [name, tensor] : rest) later.emplace_back(name, tensor, false);
  for (const auto& [parameter, value] : values) parameter.assign(value);
  *loaded_ = std::move(later);
}

void Optimizer::exchange_averages() {
  if (Trace::current()) throw UserError(name_, "exchange_averages() cannot be traced; call it between steps");
  bool any = false;
  for (const Slot& slot : *slots_) {
    if (!slot.owner || slot.name != "average") continue;
    std::swap(slot.owner->buffer, slot.value.cell()->buffer);
    slot.owner->changed();
    slot.value.cell()->changed();
    any = true;
  }
  if (!any) throw UserError(name_, "there are no moving averages; set common.average_decay and update once");
}

// ---- clipping ----

std::vector<Tensor> clip_gradients(std::span<const Tensor> gradients, const Clip& limits, std::span<const Parameter> of) {
  for (const auto& [what, limit] : {std::pair{"value", limits.value}, {"norm", limits.norm}, {"global_norm", limits.global_norm}})
    if (limit != 0 && !not_positive(limit).empty())
      throw UserError("clip", str(what, " must be 0, for no limit, or a number that f32 holds, from 1.18e-38 to 3.40e38, got ", limit));
  std::vector<Tensor> result(gradients.begin(), gradients.end());
  if (result.empty()) return result;
  // Scales by limit / norm where the norm is above the limit.
  const auto scale = [](const Tensor& squares, double limit) { return limit / maximum(sqrt(squares), limit); };
  for (Tensor& g : result) {
    if (limits.value > 0) g = clip(g, static_cast<float>(-limits.value), static_cast<float>(limits.value));
    if (limits.norm > 0) g = g * scale(sum(square(g)), limits.norm);
  }
  if (limits.global_norm > 0) {
    Tensor squares;
    const auto squares_of = [&](std::size_t i) {
      const LayerScope scope(of.empty() ? current_layer() : of[i].name());  // by which with_frozen finds them
      return sum(square(result[i]));
    };
    for (std::size_t i = 0; i < result.size(); ++i) squares = i ? squares + squares_of(i) : squares_of(i);
    const Tensor factor = scale(squares, limits.global_norm);
    for (Tensor& g : result) g = g * factor;
  }
  return result;
}

}  // namespace sinter::optim
