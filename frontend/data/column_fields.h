// The fields of a table's column as numbers, and what is said of those that are none.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "frontend/data/cell.h"
#include "frontend/data/table.h"

namespace sinter::data {

/// The fields of a column as numbers, NaN where they are missing or none.
struct ColumnFields {
  ColumnFields(const Table& table, std::size_t column, const CellRules& rules);

  std::vector<double> numbers;
  std::vector<std::size_t> wrong;           ///< rows with a field that is neither missing nor a number
  std::size_t present = 0, resembling = 0;  ///< fields that are not missing; those that resemble numbers
};

/// "line 17 '-', line 30 '1.5 m' and 3 more".
std::string cells_text(const Table& table, std::size_t column, const std::vector<std::size_t>& rows);

/// Throws UserError for the fields of a column of numbers that are none.
[[noreturn]] void refuse(const Table& table, std::size_t column, const ColumnFields& fields, const std::string& advice);

}  // namespace sinter::data
