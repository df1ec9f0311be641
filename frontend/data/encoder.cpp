#include "frontend/data/encoder.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "frontend/core/warn.h"
#include "frontend/data/categories.h"
#include "frontend/data/column_fields.h"
#include "frontend/data/column_numbers.h"
#include "frontend/data/row_encoder.h"
#include "frontend/data/row_filter.h"
#include "frontend/data/spread.h"
#include "ir/error.h"

namespace sinter::data {

namespace {

constexpr std::array<const char*, 3> names_of_scalings{"standard", "min_max", "none"};

}  // namespace

std::string text_of(Scaling scaling) { return names_of_scalings[static_cast<std::size_t>(scaling)]; }

Scaling scaling_named(std::string_view name) {
  const auto found = std::find(names_of_scalings.begin(), names_of_scalings.end(), name);
  if (found == names_of_scalings.end()) throw UserError("encoder", str("scaling must be standard, min_max or none, got '", name, "'"));
  return static_cast<Scaling>(found - names_of_scalings.begin());
}

const Encoder::Column& Encoder::target_column() const {
  if (!has_target()) throw UserError("encoder", "was made without a target");
  return columns_[static_cast<std::size_t>(target_)];
}

std::int64_t Encoder::columns_width() const {
  std::int64_t result = 0;
  for (std::size_t c = 0; c < columns_.size(); ++c) result += static_cast<std::ptrdiff_t>(c) == target_ ? 0 : columns_[c].width();
  return result;
}

std::int64_t Encoder::width() const { return pca_ ? pca_->count() : columns_width(); }

std::vector<std::string> Encoder::feature_names() const {
  std::vector<std::string> names;
  for (std::int64_t i = 1; pca_ && i <= pca_->count(); ++i) names.push_back(str("pca_", i));
  for (std::size_t c = 0; !pca_ && c < columns_.size(); ++c) {
    const Column& column = columns_[c];
    if (static_cast<std::ptrdiff_t>(c) == target_) continue;
    if (!column.categorical) names.push_back(column.name);
    if (column.missing) names.push_back(column.name + " missing");
    for (const std::string& category : column.categories) names.push_back(column.name + "=" + category);
  }
  return names;
}

float Encoder::Column::scaled(double number) const { return static_cast<float>((number - offset) / unit); }

std::string Encoder::Column::too_far() const {
  return scaling == Scaling::standard ? str("which is too far from the mean ", offset, " for f32 at a deviation of ", unit)
                                      : str("which is too far from the least number ", offset, " for f32 at a range of ", unit);
}

void Encoder::Column::scale(const Spread& spread, Scaling by) {
  scaling = by;
  if (spread.count() == 0 || by == Scaling::none) missing_value = spread.mean();
  else if (by == Scaling::standard) offset = spread.mean(), unit = divisor(std::sqrt(spread.variance()));
  else offset = spread.least(), unit = divisor(spread.greatest() - spread.least()), missing_value = (spread.mean() - offset) / unit;
}

std::vector<std::size_t> Encoder::kept_rows(const Table& table) const { return rows_where(table, keep_, rules_); }

std::vector<std::size_t> Encoder::training_rows(const Table& table) const {
  std::vector<Condition> all = keep_;
  all.insert(all.end(), train_on_.begin(), train_on_.end());
  return rows_where(table, all, rules_);
}

Tensor Encoder::features(const Table& table, const Log& log) const { return encoded(table, kept_rows(table), log); }

Tensor Encoder::encoded(const Table& table, std::span<const std::size_t> rows, const Log& log) const {
  RowEncoder encoder(*this, table.names);
  const auto cols = static_cast<std::size_t>(width());
  std::vector<float> data(rows.size() * cols);
  std::vector<std::string_view> fields(table.names.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t c = 0; c < fields.size(); ++c) fields[c] = table.field(rows[i], c);
    const auto fault = encoder.encode(std::span<const std::string_view>(fields), std::span(data).subspan(i * cols, cols));
    if (!fault) continue;
    if (!fault->number) refuse(table, fault->field, ColumnFields(table, fault->field, rules_), "fix them");
    throw UserError("encoder",
                    str("column '", table.names[fault->field], "': line ", table.line(rows[i]), " has ", *fault->number, ", ", fault->why));
  }
  for (const ColumnSummary& column : encoder.summary())
    if (column.unseen)
      warn(log, str("column '", column.name, "': unknown categories in ", column.unseen, " of ", rows.size(), " rows, '", column.first_unseen,
                    "' first; they count as missing"));
  return {data, {static_cast<std::int64_t>(rows.size()), static_cast<std::int64_t>(cols)}};
}

Tensor Encoder::target(const Table& table) const {
  const Column& column = target_column();
  const std::size_t number = table.column(column.name);
  const std::vector<std::size_t> rows = kept_rows(table);
  const auto count = static_cast<std::int64_t>(rows.size());
  CellMemory memory;
  if (column.categorical) {
    const Categories categories(column.categories, rules_);
    std::vector<std::int32_t> classes;
    for (const std::size_t r : rows) {
      const auto at = categories.number(table.field(r, number), memory);
      if (!at)
        throw UserError("encoder", str("line ", table.line(r), ": '", table.field(r, number), "' is not one of the ", column.categories.size(),
                                       " classes of '", column.name, "'"));
      classes.push_back(static_cast<std::int32_t>(*at));
    }
    return {classes, {count}};
  }
  std::vector<float> numbers;
  for (const std::size_t r : rows) {
    const std::string_view field = table.field(r, number);
    if (rules_.is_missing(field))
      throw UserError("encoder", str("the target '", column.name, "' has no value in line ", table.line(r), "; leave such rows out, or the column"));
    const auto x = rules_.number(field, memory);
    if (!x) refuse(table, number, ColumnFields(table, number, rules_), "fix them");
    numbers.push_back(column.scaled(*x));
    if (!std::isfinite(numbers.back()))
      throw UserError("encoder", str("column '", column.name, "': line ", table.line(r), " has ", *x, ", ", column.too_far()));
  }
  return {numbers, {count, 1}};
}

std::vector<ColumnSummary> Encoder::summary(const Table& table) const {
  std::vector<ColumnSummary> result;
  const ColumnNumbers columns(table.names);
  const std::vector<std::size_t> rows = kept_rows(table);
  CellMemory memory;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    const Column& column = columns_[c];
    const bool is_target = static_cast<std::ptrdiff_t>(c) == target_;
    if (is_target && !columns.contains(column.name)) continue;
    ColumnSummary summary{column.name, is_target, column.categorical, column.categories.size()};
    const std::size_t number = columns[column.name];
    const Categories categories(column.categories, rules_);
    for (const std::size_t r : rows) {
      const std::string_view field = table.field(r, number);
      if (column.categorical && categories.number(field, memory)) continue;
      if (rules_.is_missing(field)) ++summary.missing;
      else if (column.categorical && summary.unseen++ == 0) summary.first_unseen = field;
    }
    result.push_back(std::move(summary));
  }
  return result;
}

std::vector<std::string> Encoder::columns_read() const {
  std::vector<std::string> result;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    const auto is_compared = [&](const Condition& condition) { return condition.column == columns_[c].name; };
    if (static_cast<std::ptrdiff_t>(c) != target_ || std::any_of(keep_.begin(), keep_.end(), is_compared)) result.push_back(columns_[c].name);
  }
  for (const Condition& condition : keep_)
    if (std::find(result.begin(), result.end(), condition.column) == result.end()) result.push_back(condition.column);
  return result;
}

const std::vector<std::string>& Encoder::classes() const { return target_column().categories; }
double Encoder::unscaled(double scaled) const { return scaled * target_unit() + target_column().offset; }
double Encoder::target_unit() const { return target_column().unit; }
const std::string& Encoder::target_name() const { return target_column().name; }

}  // namespace sinter::data
