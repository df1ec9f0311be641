#include "frontend/data/categories.h"

#include <algorithm>

namespace sinter::data {

Categories::Categories(const std::vector<std::string>& names, const CellRules& rules) : rules_(rules), names_(names) {
  for (std::size_t i = 0; i < names.size(); ++i) numbers_.emplace(names[i], i);  // first, for files whose numbers were told apart as texts
  for (std::size_t i = 0; i < names.size(); ++i) numbers_.emplace(rules.category(names[i]), i);
}

void Categories::add(std::string_view text) {
  std::string written(text);
  if (numbers_.contains(written)) return;
  const auto [place, is_new] = numbers_.emplace(rules_.category(text), names_.size());
  const std::size_t number = place->second;
  if (is_new) names_.push_back(written);
  numbers_.emplace(std::move(written), number);
}

std::optional<std::size_t> Categories::found(std::string_view text) const {
  const auto place = numbers_.find(text);
  return place == numbers_.end() ? std::nullopt : std::optional(place->second);
}

std::optional<std::size_t> Categories::number(std::string_view text, CellMemory& memory) const {
  const auto as_written = found(text);
  return as_written ? as_written : found(rules_.category(text, memory));
}

std::optional<std::size_t> Categories::number(double value, CellMemory& memory) const { return found(category_of(value, memory)); }

std::vector<std::string> Categories::sorted() const {
  std::vector<std::string> result = names_;
  std::sort(result.begin(), result.end(), [&](const std::string& a, const std::string& b) {
    const auto x = rules_.number(a), y = rules_.number(b);
    if (x.has_value() != y.has_value()) return x.has_value();
    return x && *x != *y ? *x < *y : a < b;
  });
  return result;
}

}  // namespace sinter::data
