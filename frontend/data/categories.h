// The categories of a column.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "frontend/data/cell.h"

namespace sinter::data {

/// Categories and their numbers, 0, 1, 2, … Texts that are numbers of the same value are one category: 1, 1.0 and 01.
class Categories {
 public:
  explicit Categories(const CellRules& rules) : rules_(rules) {}
  Categories(const std::vector<std::string>& names, const CellRules& rules);

  /// Adds a category that is new.
  void add(std::string_view text);
  std::optional<std::size_t> number(std::string_view text) const;
  /// As first written.
  const std::vector<std::string>& names() const { return names_; }
  /// Numbers by value, then texts.
  std::vector<std::string> sorted() const;

 private:
  const CellRules& rules_;
  std::vector<std::string> names_;
  std::unordered_map<std::string, std::size_t> numbers_;  ///< by the text as written, and by CellRules::category
};

}  // namespace sinter::data
