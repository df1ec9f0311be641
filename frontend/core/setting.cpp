#include "frontend/core/setting.h"

#include <algorithm>

namespace sinter {

Setting::Setting(std::string its_name, const std::vector<std::int64_t>& numbers) : name(std::move(its_name)) {
  const bool are_equal = std::all_of(numbers.begin(), numbers.end(), [&](std::int64_t n) { return n == numbers.front(); });
  for (std::size_t i = 0; i < (are_equal ? std::min<std::size_t>(1, numbers.size()) : numbers.size()); ++i) value += str(i ? "×" : "", numbers[i]);
}

std::string text_of(const std::vector<Setting>& settings) {
  std::string text;
  for (const Setting& setting : settings) text += str(text.empty() ? "" : ", ", setting.name, " ", setting.value);
  return text;
}

}  // namespace sinter
