// The meaning of a table's fields: a number, a category, or missing.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sinter::data {

/// Memory for reading fields: kept from one to the next, so that nothing is allocated for most.
struct CellMemory {
  std::string plain = {}, category = {};
};

/// A field is missing if it is empty or NA, N/A, NaN, nan, null, NULL, None or ?, or one of `missing`. It is a number if written as in C++ or JSON,
/// with an optional sign, `decimal` ('.' or ',') as the decimal separator, `thousands` between all groups of three digits of the whole part or none,
/// and any texts of `strip` before and behind it, with or without spaces: "," and {"$", "EUR"} read 25,500.00, -$15.7 and 15.7 EUR.
struct CellRules {
  std::vector<std::string> missing = {};
  char decimal = '.';
  std::string thousands = {};
  std::vector<std::string> strip = {};

  /// Throws UserError `[where] …` for separators that are the same or not to be told from digits and signs, and for texts to strip that have digits.
  void check(const std::string& where) const;
  bool is_missing(std::string_view field) const;
  /// The field as a number that f32 can hold; empty for infinity and NaN.
  std::optional<double> number(std::string_view field, CellMemory& memory) const;
  std::optional<double> number(std::string_view field) const;
  /// Whether a number was probably meant: one by these rules, with the other decimal separator, beyond f32, infinity or NaN.
  bool resembles_number(std::string_view field) const;
  /// A text that is the same for numbers of the same value (1, 1.0 and 01), exactly, and the field itself if it is no number.
  std::string category(std::string_view field) const;
  /// The same, in `memory` or the field's own.
  std::string_view category(std::string_view field, CellMemory& memory) const;

  bool operator==(const CellRules&) const = default;

 private:
  /// The field as C++ writes numbers, if it is a number by these rules; else a text that is none. `memory` may hold it.
  std::string_view plain(std::string_view field, std::string& memory) const;
};

/// What CellRules::category gives for the text of this finite number, in `memory`.
std::string_view category_of(double number, CellMemory& memory);

/// Without spaces around it, of any width and kind.
std::string_view trimmed(std::string_view text);

}  // namespace sinter::data
