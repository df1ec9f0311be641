// The numbers of columns by their names.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "frontend/core/nearest.h"
#include "ir/error.h"

namespace sinter::data {

/// To look up many. The names must live as long.
class ColumnNumbers {
 public:
  explicit ColumnNumbers(std::span<const std::string> names) : names_(names) {
    for (std::size_t c = 0; c < names.size(); ++c) numbers_.emplace(names[c], c);
  }
  bool contains(std::string_view name) const { return numbers_.contains(name); }
  /// Throws UserError for an unknown name, with the nearest.
  std::size_t operator[](std::string_view name) const {
    const auto found = numbers_.find(name);
    if (found == numbers_.end())
      throw UserError("encoder", str("there is no column '", name, "'", nearest_hint(name, {names_.begin(), names_.end()})));
    return found->second;
  }

 private:
  std::span<const std::string> names_;
  std::unordered_map<std::string_view, std::size_t> numbers_;
};

}  // namespace sinter::data
