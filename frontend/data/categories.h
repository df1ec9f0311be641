// The categories of a column.
#pragma once

#include <functional>
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
  std::optional<std::size_t> number(std::string_view text, CellMemory& memory) const;
  /// Of the category that this finite number is.
  std::optional<std::size_t> number(double value, CellMemory& memory) const;
  /// As first written.
  const std::vector<std::string>& names() const { return names_; }
  /// Numbers by value, then texts.
  std::vector<std::string> sorted() const;

 private:
  /// Finds strings by views of them.
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  std::optional<std::size_t> found(std::string_view text) const;

  const CellRules& rules_;
  std::vector<std::string> names_;
  std::unordered_map<std::string, std::size_t, Hash, std::equal_to<>> numbers_;  ///< by the text as written, and by CellRules::category
};

}  // namespace sinter::data
