// Which rows meet conditions.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "frontend/data/column_numbers.h"
#include "frontend/data/condition.h"
#include "frontend/data/field_reader.h"

namespace sinter::data {

class RowFilter {
 public:
  /// For rows whose fields are of these columns. Throws UserError for a condition on another column, or on the order of a text.
  RowFilter(std::span<const Condition> conditions, const CellRules& rules, const ColumnNumbers& columns);

  struct Verdict {
    bool holds = true;                      ///< all conditions
    std::optional<std::size_t> wrong = {};  ///< a field that is not missing, but no number to compare
  };
  template <class Field>
  Verdict judge(std::span<const Field> fields, FieldReader& reader) const;

 private:
  struct Test {
    std::size_t field;
    Comparison comparison;
    std::string category;  ///< of the value
    std::optional<double> number;
  };
  template <class Field>
  static std::optional<bool> holds(const Test& test, const Field& field, FieldReader& reader);

  std::vector<Test> tests_;
};

}  // namespace sinter::data
