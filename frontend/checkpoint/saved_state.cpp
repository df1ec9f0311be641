#include "frontend/checkpoint/saved_state.h"

#include <cmath>

#include "frontend/core/name.h"

namespace sinter {

namespace {

template <class T>
const T& find(const std::map<std::string, T>& all, const std::string& name, const char* what) {
  const auto found = all.find(name);
  if (found == all.end())
    throw UserError("checkpoint", str("the saved state has no ", what, " '", name, "'; it was written by another program or version"));
  return found->second;
}

/// The entries whose names begin with the prefix, without it.
template <class T>
void take(const std::map<std::string, T>& from, const std::string& prefix, std::map<std::string, T>& to) {
  for (auto at = from.lower_bound(prefix); at != from.end() && at->first.starts_with(prefix); ++at)
    to.emplace(at->first.substr(prefix.size()), at->second);
}

}  // namespace

void SavedState::set(const std::string& name, std::vector<double> numbers) {
  require_name("checkpoint", name);
  numbers_[name] = std::move(numbers);
}

void SavedState::set(const std::string& name, const Tensor& tensor) {
  require_name("checkpoint", name);
  tensors_[name] = tensor;
}

const std::vector<double>& SavedState::numbers(const std::string& name) const { return find(numbers_, name, "numbers"); }
const Tensor& SavedState::tensor(const std::string& name) const { return find(tensors_, name, "tensor"); }

double SavedState::number(const std::string& name) const {
  const std::vector<double>& list = numbers(name);
  if (list.size() != 1) throw UserError("checkpoint", str("'", name, "' must be one number, there are ", list.size()));
  return list[0];
}

std::int64_t SavedState::integer(const std::string& name, std::int64_t low, std::int64_t high) const {
  const double value = number(name);
  if (!(value >= static_cast<double>(low) && value <= static_cast<double>(high)) || value != std::floor(value))
    throw UserError("checkpoint", str("'", name, "' must be a whole number in [", low, ", ", high, "], got ", value));
  return static_cast<std::int64_t>(value);
}

void SavedState::add(const std::string& prefix, const SavedState& other) {
  for (const auto& [name, list] : other.numbers_) numbers_[prefix + name] = list;
  for (const auto& [name, tensor] : other.tensors_) tensors_[prefix + name] = tensor;
}

SavedState SavedState::part(const std::string& prefix) const {
  SavedState result;
  take(numbers_, prefix, result.numbers_);
  take(tensors_, prefix, result.tensors_);
  return result;
}

}  // namespace sinter
