#include "frontend/data/table.h"

#include <algorithm>

#include "frontend/core/counted.h"
#include "frontend/core/nearest.h"
#include "ir/error.h"

namespace sinter::data {

Table::Table(std::vector<std::string> column_names, const std::vector<std::vector<std::string>>& columns) : names(std::move(column_names)) {
  const std::size_t rows = columns.empty() ? 0 : columns[0].size();
  const auto fits = [&](const std::vector<std::string>& column) { return column.size() == rows; };
  if (columns.size() != names.size() || !std::all_of(columns.begin(), columns.end(), fits))
    throw UserError("table",
                    str("needs a column for each of ", names.size(), " names, all with as many fields, got ", counted(columns.size(), "column")));
  for (std::size_t row = 0; row < rows; ++row) {
    for (const std::vector<std::string>& column : columns) add_field(column[row]);
    end_row();
  }
}

std::size_t Table::column(const std::string& name) const {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) throw UserError("table", str("there is no column '", name, "'", nearest_hint(name, names)));
  return static_cast<std::size_t>(found - names.begin());
}

bool Table::has_column(const std::string& name) const { return std::find(names.begin(), names.end(), name) != names.end(); }

std::string_view Table::field(std::size_t row, std::size_t column) const {
  const std::size_t i = row * names.size() + column;
  const std::uint64_t begin = i ? ends_[i - 1] : 0;
  return std::string_view(text_).substr(begin, ends_[i] - begin);
}

std::vector<std::string_view> Table::fields(std::size_t column) const {
  std::vector<std::string_view> result;
  result.reserve(rows());
  for (std::size_t row = 0; row < rows(); ++row) result.push_back(field(row, column));
  return result;
}

Table Table::select(std::span<const std::size_t> numbers) const {
  Table result(names);
  result.unnamed = unnamed;
  for (const std::size_t row : numbers) {
    if (row >= rows()) throw UserError("table", str("row ", row, " is outside of [0, ", rows(), ")"));
    for (std::size_t c = 0; c < names.size(); ++c) result.add_field(field(row, c));
    result.end_row(line(row));
  }
  return result;
}

void Table::add_field(std::string_view text) {
  text_ += text;
  ends_.push_back(text_.size());
}

void Table::end_row(std::size_t line) {
  if (open_fields() != names.size())
    throw UserError("table", str("a row needs a field for each of ", names.size(), " columns, got ", counted(open_fields(), "field")));
  lines_.push_back(line);
}

void Table::add_row(const std::vector<std::string>& fields) {
  for (const std::string& field : fields) add_field(field);
  end_row();
}

}  // namespace sinter::data
