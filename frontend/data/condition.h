// Conditions that say which rows of a table are used.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/data/cell.h"
#include "frontend/data/table.h"

namespace sinter::data {

/// How a field is compared with the value of a condition. A missing field meets none but `empty`.
enum class Comparison { equal, not_equal, less, less_equal, greater, greater_equal, empty, not_empty };

/// A column, a comparison and a value. As text: `Class == 0`, `town != Bonn`, `age >= 18`, `Class not empty`, `Class is empty`; names and values that
/// have operators, quotes or spaces around them stand in quotes, as in `'a < b' == " x "`, where `''` is a quote. `Class == ''` is `Class is empty`,
/// and `Class != ''` is `Class not empty`. Numbers are equal by value (1 and 1.0), and only numbers are less or greater than others; both are read by
/// the encoder's CellRules.
struct Condition {
  /// Throws UserError for a text that is no condition.
  Condition(std::string_view text);
  Condition(const char* text) : Condition(std::string_view(text)) {}
  Condition(const std::string& text) : Condition(std::string_view(text)) {}

  std::string column;
  Comparison comparison;
  std::string value = {};  ///< none for `empty` and `not_empty`

  /// The condition as text, from which it can be read again.
  std::string text() const;
  /// Throws UserError if the order of numbers is asked of a value that is none.
  void check(const CellRules& rules) const;
};

/// The numbers of the rows of a table that meet all conditions. Throws UserError for conditions on columns that it lacks, and for a field whose order
/// is asked, but which is no number, with its line.
std::vector<std::size_t> rows_where(const Table& table, std::span<const Condition> conditions, const CellRules& rules = {});

}  // namespace sinter::data
