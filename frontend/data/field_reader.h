// Reads the fields of rows, texts or numbers, by the rules of an encoder.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/data/categories.h"
#include "frontend/data/cell.h"

namespace sinter::data {

/// What is a number, a category or missing, alike for texts and for numbers that need no reading. Allocates nothing after the first fields.
class FieldReader {
 public:
  explicit FieldReader(const CellRules& rules) : rules_(rules) {
    for (const std::string& text : rules_.missing)
      if (const auto number = rules_.number(text)) missing_numbers_.push_back(*number);
  }

  const CellRules& rules() const { return rules_; }
  bool is_missing(std::string_view field) const { return rules_.is_missing(field); }
  bool is_missing(double number) const {
    return std::isnan(number) || std::find(missing_numbers_.begin(), missing_numbers_.end(), number) != missing_numbers_.end();
  }
  /// One that f32 can hold.
  std::optional<double> number(std::string_view field) { return rules_.number(field, memory_); }
  std::optional<double> number(double number) {
    return std::abs(number) <= static_cast<double>(std::numeric_limits<float>::max()) ? std::optional(number) : std::nullopt;
  }
  /// CellRules::category of a field that is not missing.
  std::string_view category(std::string_view field) { return rules_.category(field, memory_); }
  std::string_view category(double number) { return std::isfinite(number) ? category_of(number, memory_) : "inf"; }
  std::optional<std::size_t> number_in(const Categories& categories, std::string_view field) { return categories.number(field, memory_); }
  std::optional<std::size_t> number_in(const Categories& categories, double number) {
    return std::isfinite(number) ? categories.number(number, memory_) : std::nullopt;
  }

 private:
  CellRules rules_;
  std::vector<double> missing_numbers_;  ///< texts that mean a missing value and are numbers
  CellMemory memory_;
};

}  // namespace sinter::data
