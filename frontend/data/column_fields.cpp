#include "frontend/data/column_fields.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ir/error.h"

namespace sinter::data {

ColumnFields::ColumnFields(const Table& table, std::size_t column, const CellRules& rules)
    : numbers(table.rows(), std::numeric_limits<double>::quiet_NaN()) {
  for (std::size_t r = 0; r < table.rows(); ++r) {
    const std::string_view field = table.field(r, column);
    if (rules.is_missing(field)) continue;
    ++present;
    if (const auto x = rules.number(field)) numbers[r] = *x;
    else wrong.push_back(r);
    resembling += std::isfinite(numbers[r]) || rules.resembles_number(field);
  }
}

std::string cells_text(const Table& table, std::size_t column, const std::vector<std::size_t>& rows) {
  constexpr std::size_t most = 5, most_bytes = 40;
  std::string text;
  for (std::size_t i = 0; i < std::min(rows.size(), most); ++i)
    text += str(i ? ", " : "", "line ", table.line(rows[i]), " '", table.field(rows[i], column).substr(0, most_bytes), "'");
  return rows.size() > most ? text + str(" and ", rows.size() - most, " more") : text;
}

void refuse(const Table& table, std::size_t column, const ColumnFields& fields, const std::string& advice) {
  throw UserError("encoder", str("column '", table.names[column], "' holds numbers, but ", fields.wrong.size(), " of its ", table.rows(),
                                 " fields cannot be read as numbers that f32 can hold: ", cells_text(table, column, fields.wrong), "; ", advice));
}

}  // namespace sinter::data
