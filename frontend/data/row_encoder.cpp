#include "frontend/data/row_encoder.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <variant>

#include "frontend/data/column_numbers.h"

namespace sinter::data {

namespace {

std::optional<double> number_of(std::string_view field, const CellRules& rules, CellMemory& memory) { return rules.number(field, memory); }
std::optional<double> number_of(double number, const CellRules&, CellMemory&) {
  return std::abs(number) <= static_cast<double>(std::numeric_limits<float>::max()) ? std::optional(number) : std::nullopt;
}

std::optional<std::size_t> category_in(const Categories& categories, std::string_view field, CellMemory& memory) {
  return categories.number(field, memory);
}
std::optional<std::size_t> category_in(const Categories& categories, double number, CellMemory& memory) {
  return std::isfinite(number) ? categories.number(number, memory) : std::nullopt;
}

}  // namespace

RowEncoder::RowEncoder(const Encoder& encoder, std::span<const std::string> columns) : encoder_(encoder), width_(encoder.width()) {
  const ColumnNumbers numbers(columns);
  for (std::size_t c = 0; c < encoder_.columns_.size(); ++c) {
    const Encoder::Column& column = encoder_.columns_[c];
    if (static_cast<std::ptrdiff_t>(c) == encoder_.target_) continue;
    sources_.push_back({&column, numbers[column.name], Categories(column.categories, encoder_.rules_)});
    summary_.push_back({column.name, false, column.categorical, column.categories.size()});
  }
  for (const std::string& text : encoder_.rules_.missing)
    if (const auto number = encoder_.rules_.number(text)) missing_numbers_.push_back(*number);
}

bool RowEncoder::is_missing(double number) const {
  return std::isnan(number) || std::find(missing_numbers_.begin(), missing_numbers_.end(), number) != missing_numbers_.end();
}

template <class Field>
std::optional<RowEncoder::Fault> RowEncoder::encode_field(const Source& source, ColumnSummary& summary, const Field& field, float* out) {
  const Encoder::Column& column = *source.column;
  if (column.categorical) {
    if (const auto category = category_in(source.categories, field, memory_)) out[*category] = 1;
    else if (is_missing(field)) ++summary.missing;
    else if (summary.unseen++ == 0) summary.first_unseen = str(field);
  } else if (is_missing(field)) {
    ++summary.missing;
    if (column.missing) out[1] = 1;
  } else {
    const auto number = number_of(field, encoder_.rules_, memory_);
    if (!number) return Fault{source.field, {}, {}};
    out[0] = column.scaled(*number);
    if (!std::isfinite(out[0])) return Fault{source.field, number, column.too_far()};
  }
  return {};
}

template <class Field>
std::optional<RowEncoder::Fault> RowEncoder::encode(std::span<const Field> fields, std::span<float> out) {
  std::fill(out.begin(), out.end(), 0.0f);
  float* place = out.data();
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    const auto encode_one = [&](const auto& field) { return encode_field(sources_[i], summary_[i], field, place); };
    const Field& field = fields[sources_[i].field];
    std::optional<Fault> fault;
    if constexpr (std::is_same_v<Field, data::Field>) fault = std::visit(encode_one, field);
    else fault = encode_one(field);
    if (fault) return fault;
    place += sources_[i].column->width();
  }
  return {};
}

template std::optional<RowEncoder::Fault> RowEncoder::encode(std::span<const std::string_view>, std::span<float>);
template std::optional<RowEncoder::Fault> RowEncoder::encode(std::span<const double>, std::span<float>);
template std::optional<RowEncoder::Fault> RowEncoder::encode(std::span<const data::Field>, std::span<float>);

}  // namespace sinter::data
