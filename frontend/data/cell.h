// What the text of a table's field says.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sinter::data {

/// A field is missing if it is empty or NA, N/A, NaN, nan, null, NULL, None or ?, or one of `missing`. It is a number if it is one as C++ or JSON
/// writes them, with `decimal` ('.' or ',') before the decimals, a sign or none.
struct CellRules {
  std::vector<std::string> missing = {};
  char decimal = '.';

  bool is_missing(std::string_view field) const;
  /// A number that f32 can hold; none for infinity and NaN.
  std::optional<double> number(std::string_view field) const;
  /// Whether someone meant a number: one by these rules, or with the other decimal sign, or one beyond f32, infinity or NaN.
  bool resembles_number(std::string_view field) const;

  bool operator==(const CellRules&) const = default;
};

}  // namespace sinter::data
