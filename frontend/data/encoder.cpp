#include "frontend/data/encoder.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "ir/error.h"

namespace sinter::data {

namespace {

constexpr std::array<std::string_view, 9> missing_fields{"", "NA", "N/A", "NaN", "nan", "null", "NULL", "None", "?"};
constexpr std::size_t most_categories = 1000;

bool is_missing(std::string_view field) { return std::find(missing_fields.begin(), missing_fields.end(), field) != missing_fields.end(); }

std::optional<double> number(std::string_view field) {
  if (field.starts_with('+')) field.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
  if (error != std::errc{} || end != field.data() + field.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

bool contains(const std::vector<std::string>& list, const std::string& name) { return std::find(list.begin(), list.end(), name) != list.end(); }

/// Place of a category among the sorted ones; npos if it is not there.
std::size_t place(const std::vector<std::string>& categories, const std::string& category) {
  const auto found = std::find(categories.begin(), categories.end(), category);
  return found == categories.end() ? std::string::npos : static_cast<std::size_t>(found - categories.begin());
}

}  // namespace

Encoder Encoder::fit(const Table& table, const EncoderOptions& options) {
  for (const auto* names : {&options.categorical, &options.ignore})
    for (const std::string& name : *names) (void)table.column(name);
  if (!options.target.empty()) (void)table.column(options.target);
  Encoder encoder;
  for (std::size_t c = 0; c < table.names.size(); ++c) {
    const std::string& name = table.names[c];
    if (contains(options.ignore, name)) continue;
    Column column;
    column.name = name;
    column.categorical = contains(options.categorical, name);
    std::vector<std::string> present;
    for (const std::string& field : table.columns[c])
      if (!is_missing(field)) present.push_back(field);
    const bool is_target = name == options.target;
    if (present.empty()) throw UserError("encoder", str("column '", name, "' has no fields; leave it out with ignore"));
    if (is_target && present.size() != table.rows())
      throw UserError("encoder", str("the target '", name, "' is missing in ", table.rows() - present.size(), " rows; leave those rows out"));
    column.categorical =
        column.categorical || !std::all_of(present.begin(), present.end(), [](const std::string& f) { return number(f).has_value(); });
    if (column.categorical) {
      column.categories = present;
      std::sort(column.categories.begin(), column.categories.end(), [](const std::string& a, const std::string& b) {
        const auto x = number(a), y = number(b);
        return x && y && *x != *y ? *x < *y : a < b;
      });
      column.categories.erase(std::unique(column.categories.begin(), column.categories.end()), column.categories.end());
      if (column.categories.size() > most_categories)
        throw UserError("encoder", str("column '", name, "' has ", column.categories.size(), " different texts, more than ", most_categories,
                                       " categories; is it an identifier? leave it out with ignore"));
    } else {
      // Mean and spread in one pass (Welford 1962).
      double mean = 0, spread = 0, count = 0;
      for (const std::string& field : present) {
        const double x = *number(field), before = mean;
        mean += (x - mean) / ++count;
        spread += (x - before) * (x - mean);
      }
      column.mean = mean;
      column.deviation = spread > 0 ? std::sqrt(spread / count) : 1;
      column.missing = present.size() != table.rows();
    }
    if (is_target) encoder.target_ = static_cast<std::ptrdiff_t>(encoder.columns_.size());
    encoder.columns_.push_back(std::move(column));
  }
  if (encoder.columns_.size() <= (encoder.has_target() ? 1u : 0u)) throw UserError("encoder", "there is no column to predict from");
  return encoder;
}

const Encoder::Column& Encoder::target_column() const {
  if (!has_target()) throw UserError("encoder", "was made without a target");
  return columns_[static_cast<std::size_t>(target_)];
}

std::int64_t Encoder::width() const { return static_cast<std::int64_t>(feature_names().size()); }

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

Tensor Encoder::features(const Table& table) const {
  const std::int64_t cols = width();
  std::vector<float> data(table.rows() * static_cast<std::size_t>(cols));
  std::size_t first = 0;  // number of the column's first feature
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    const Column& column = columns_[c];
    if (static_cast<std::ptrdiff_t>(c) == target_) continue;
    const auto& fields = table.columns[table.column(column.name)];
    for (std::size_t r = 0; r < fields.size(); ++r) {
      float* row = data.data() + r * static_cast<std::size_t>(cols) + first;
      if (column.categorical) {
        if (const std::size_t at = place(column.categories, fields[r]); at != std::string::npos) row[at] = 1;
      } else if (is_missing(fields[r])) {
        if (column.missing) row[1] = 1;
      } else {
        const auto x = number(fields[r]);
        if (!x) throw UserError("encoder", str("column '", column.name, "' holds numbers, but row ", r + 1, " has '", fields[r], "'"));
        row[0] = static_cast<float>((*x - column.mean) / column.deviation);
      }
    }
    first += column.categorical ? column.categories.size() : column.missing ? 2 : 1;
  }
  return {data, {static_cast<std::int64_t>(table.rows()), cols}};
}

Tensor Encoder::target(const Table& table) const {
  const Column& column = target_column();
  const auto& fields = table.columns[table.column(column.name)];
  const auto rows = static_cast<std::int64_t>(fields.size());
  if (column.categorical) {
    std::vector<std::int32_t> classes;
    for (const std::string& field : fields) {
      const std::size_t at = place(column.categories, field);
      if (at == std::string::npos)
        throw UserError("encoder", str("'", field, "' is none of the ", column.categories.size(), " classes of '", column.name, "'"));
      classes.push_back(static_cast<std::int32_t>(at));
    }
    return {classes, {rows}};
  }
  std::vector<float> numbers;
  for (std::size_t r = 0; r < fields.size(); ++r) {
    const auto y = number(fields[r]);
    if (!y) throw UserError("encoder", str("the target '", column.name, "' must be a number, but row ", r + 1, " has '", fields[r], "'"));
    numbers.push_back(static_cast<float>((*y - column.mean) / column.deviation));
  }
  return {numbers, {rows, 1}};
}

const std::vector<std::string>& Encoder::classes() const { return target_column().categories; }
double Encoder::unscaled(double standardized) const { return standardized * target_column().deviation + target_column().mean; }
const std::string& Encoder::target_name() const { return target_column().name; }

std::string Encoder::to_json() const {
  nlohmann::ordered_json json{{"version", 1}, {"target", target_}, {"columns", nlohmann::ordered_json::array()}};
  for (const Column& c : columns_)
    json["columns"].push_back({{"name", c.name},
                               {"categorical", c.categorical},
                               {"mean", c.mean},
                               {"deviation", c.deviation},
                               {"missing", c.missing},
                               {"categories", c.categories}});
  return json.dump();
}

Encoder Encoder::from_json(const std::string& text) {
  Encoder encoder;
  try {
    const auto json = nlohmann::json::parse(text);
    if (json.at("version") != 1)
      throw UserError("encoder", str("version ", json.at("version").dump(), " is not known; it needs a newer version of Sinter"));
    for (const auto& c : json.at("columns"))
      encoder.columns_.push_back({c.at("name"), c.at("categorical"), c.at("mean"), c.at("deviation"), c.at("missing"), c.at("categories")});
    const auto& target = json.at("target");
    if (!target.is_number_integer()) throw UserError("encoder", str("the description is damaged: target ", target.dump(), " is no whole number"));
    encoder.target_ = target.get<std::ptrdiff_t>();
  } catch (const nlohmann::json::exception& error) {
    throw UserError("encoder", str("the description is damaged (", error.what(), ")"));
  }
  const auto count = static_cast<std::ptrdiff_t>(encoder.columns_.size());
  if (encoder.target_ < -1 || encoder.target_ >= count)
    throw UserError("encoder", str("the description is damaged: target ", encoder.target_, " of ", count, " columns"));
  for (const Column& c : encoder.columns_)
    if (!std::isfinite(c.mean) || !(c.deviation > 0) || !std::isfinite(c.deviation))
      throw UserError("encoder", str("the description is damaged: column '", c.name, "' has mean ", c.mean, " and deviation ", c.deviation));
  return encoder;
}

}  // namespace sinter::data
