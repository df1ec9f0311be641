#include "frontend/data/encoder.h"

#include <cmath>

#include "frontend/core/warn.h"
#include "frontend/data/categories.h"
#include "frontend/data/column_fields.h"
#include "frontend/data/column_numbers.h"
#include "frontend/data/row_encoder.h"
#include "ir/error.h"

namespace sinter::data {

const Encoder::Column& Encoder::target_column() const {
  if (!has_target()) throw UserError("encoder", "was made without a target");
  return columns_[static_cast<std::size_t>(target_)];
}

std::int64_t Encoder::width() const {
  std::int64_t result = 0;
  for (std::size_t c = 0; c < columns_.size(); ++c) result += static_cast<std::ptrdiff_t>(c) == target_ ? 0 : columns_[c].width();
  return result;
}

std::vector<std::string> Encoder::feature_names() const {
  std::vector<std::string> names;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    const Column& column = columns_[c];
    if (static_cast<std::ptrdiff_t>(c) == target_) continue;
    if (!column.categorical) names.push_back(column.name);
    if (column.missing) names.push_back(column.name + " missing");
    for (const std::string& category : column.categories) names.push_back(column.name + "=" + category);
  }
  return names;
}

float Encoder::Column::scaled(double number) const { return static_cast<float>((number - mean) / deviation); }

std::string Encoder::Column::too_far() const { return str("which is too far from the mean ", mean, " for f32 at a deviation of ", deviation); }

Tensor Encoder::features(const Table& table, const Log& log) const {
  RowEncoder encoder(*this, table.names);
  const auto rows = table.rows(), cols = static_cast<std::size_t>(width());
  std::vector<float> data(rows * cols);
  std::vector<std::string_view> fields(table.names.size());
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t c = 0; c < fields.size(); ++c) fields[c] = table.field(r, c);
    const auto fault = encoder.encode(std::span<const std::string_view>(fields), std::span(data).subspan(r * cols, cols));
    if (!fault) continue;
    if (!fault->number) refuse(table, fault->field, ColumnFields(table, fault->field, rules_), "fix them");
    throw UserError("encoder", str("column '", table.names[fault->field], "': line ", table.line(r), " has ", *fault->number, ", ", fault->why));
  }
  for (const ColumnSummary& column : encoder.summary())
    if (column.unseen)
      warn(log, str("column '", column.name, "': unknown categories in ", column.unseen, " of ", rows, " rows, '", column.first_unseen,
                    "' first; they count as missing"));
  return {data, {static_cast<std::int64_t>(rows), static_cast<std::int64_t>(cols)}};
}

Tensor Encoder::target(const Table& table) const {
  const Column& column = target_column();
  const std::size_t number = table.column(column.name);
  const auto rows = static_cast<std::int64_t>(table.rows());
  CellMemory memory;
  if (column.categorical) {
    const Categories categories(column.categories, rules_);
    std::vector<std::int32_t> classes;
    for (std::size_t r = 0; r < table.rows(); ++r) {
      const auto at = categories.number(table.field(r, number), memory);
      if (!at)
        throw UserError("encoder", str("line ", table.line(r), ": '", table.field(r, number), "' is not one of the ", column.categories.size(),
                                       " classes of '", column.name, "'"));
      classes.push_back(static_cast<std::int32_t>(*at));
    }
    return {classes, {rows}};
  }
  std::vector<float> numbers;
  for (std::size_t r = 0; r < table.rows(); ++r) {
    const std::string_view field = table.field(r, number);
    if (rules_.is_missing(field))
      throw UserError("encoder", str("the target '", column.name, "' has no value in line ", table.line(r), "; leave such rows out, or the column"));
    const auto x = rules_.number(field, memory);
    if (!x) refuse(table, number, ColumnFields(table, number, rules_), "fix them");
    numbers.push_back(column.scaled(*x));
    if (!std::isfinite(numbers.back()))
      throw UserError("encoder", str("column '", column.name, "': line ", table.line(r), " has ", *x, ", ", column.too_far()));
  }
  return {numbers, {rows, 1}};
}

std::vector<ColumnSummary> Encoder::summary(const Table& table) const {
  std::vector<ColumnSummary> result;
  const ColumnNumbers columns(table.names);
  CellMemory memory;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    const Column& column = columns_[c];
    const bool is_target = static_cast<std::ptrdiff_t>(c) == target_;
    if (is_target && !columns.contains(column.name)) continue;
    ColumnSummary summary{column.name, is_target, column.categorical, column.categories.size()};
    const std::size_t number = columns[column.name];
    const Categories categories(column.categories, rules_);
    for (std::size_t r = 0; r < table.rows(); ++r) {
      const std::string_view field = table.field(r, number);
      if (column.categorical && categories.number(field, memory)) continue;
      if (rules_.is_missing(field)) ++summary.missing;
      else if (column.categorical && summary.unseen++ == 0) summary.first_unseen = field;
    }
    result.push_back(std::move(summary));
  }
  return result;
}

const std::vector<std::string>& Encoder::classes() const { return target_column().categories; }
double Encoder::unscaled(double standardized) const { return standardized * target_unit() + target_column().mean; }
double Encoder::target_unit() const { return target_column().deviation; }
const std::string& Encoder::target_name() const { return target_column().name; }

}  // namespace sinter::data
