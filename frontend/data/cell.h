// The meaning of a table's fields: a number, a category, or missing.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sinter::data {

/// A field is missing if it is empty or NA, N/A, NaN, nan, null, NULL, None or ?, or one of `missing`. It is a number if written as in C++ or JSON,
/// with an optional sign and `decimal` ('.' or ',') as the decimal separator.
struct CellRules {
  std::vector<std::string> missing = {};
  char decimal = '.';

  bool is_missing(std::string_view field) const;
  /// The field as a number that f32 can hold; empty for infinity and NaN.
  std::optional<double> number(std::string_view field) const;
  /// Whether a number was probably meant: one by these rules, with the other decimal separator, beyond f32, infinity or NaN.
  bool resembles_number(std::string_view field) const;

  bool operator==(const CellRules&) const = default;
};

}  // namespace sinter::data
