#include "frontend/data/encoder.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <unordered_map>
#include <unordered_set>

#include "frontend/core/json_depth.h"
#include "ir/error.h"

namespace sinter::data {

namespace {

constexpr std::size_t most_categories = 1000;
constexpr std::size_t none = std::string::npos;
constexpr int deepest_description = 4;  // the description, its columns, a column, its categories

bool contains(const std::vector<std::string>& list, const std::string& name) { return std::find(list.begin(), list.end(), name) != list.end(); }

/// Maps categories to their numbers.
class CategoryIndex {
 public:
  explicit CategoryIndex(const std::vector<std::string>& categories) {
    for (std::size_t i = 0; i < categories.size(); ++i) places_.emplace(categories[i], i);
  }
  std::size_t place(std::string_view category) const {
    const auto found = places_.find(category);
    return found == places_.end() ? none : found->second;
  }

 private:
  std::unordered_map<std::string_view, std::size_t> places_;
};

/// "line 17 '-', line 30 '1.5 m' and 3 more".
std::string cells_text(const Table& table, std::size_t column, const std::vector<std::size_t>& rows) {
  constexpr std::size_t most = 5, most_bytes = 40;
  std::string text;
  for (std::size_t i = 0; i < std::min(rows.size(), most); ++i)
    text += str(i ? ", " : "", "line ", table.line(rows[i]), " '", table.field(rows[i], column).substr(0, most_bytes), "'");
  return rows.size() > most ? text + str(" and ", rows.size() - most, " more") : text;
}

/// The fields of a column as numbers, NaN where they are missing or none.
struct Numbers {
  std::vector<double> values;
  std::vector<std::size_t> wrong;           ///< rows with a field that is neither missing nor a number
  std::size_t present = 0, resembling = 0;  ///< fields that are not missing; those that resemble numbers
};

Numbers numbers_of(const Table& table, std::size_t column, const CellRules& rules) {
  Numbers result;
  result.values.assign(table.rows(), std::numeric_limits<double>::quiet_NaN());
  for (std::size_t r = 0; r < table.rows(); ++r) {
    const std::string_view field = table.field(r, column);
    if (rules.is_missing(field)) continue;
    ++result.present;
    if (const auto x = rules.number(field)) result.values[r] = *x;
    else result.wrong.push_back(r);
    result.resembling += std::isfinite(result.values[r]) || rules.resembles_number(field);
  }
  return result;
}

[[noreturn]] void refuse(const Table& table, std::size_t column, const Numbers& numbers, const char* advice) {
  throw UserError("encoder", str("column '", table.names[column], "' holds numbers, but ", numbers.wrong.size(), " of its ", table.rows(),
                                 " fields are not numbers that f32 can hold: ", cells_text(table, column, numbers.wrong), "; ", advice));
}

}  // namespace

Encoder Encoder::fit(const Table& table, const EncoderOptions& options) {
  for (const auto* names : {&options.categorical, &options.ignore})
    for (const std::string& name : *names) (void)table.column(name);
  if (!options.target.empty()) (void)table.column(options.target);
  for (const std::size_t row : options.rows)
    if (row >= table.rows()) throw UserError("encoder", str("row ", row, " is outside of [0, ", table.rows(), "), the rows of the table"));
  if (options.decimal != '.' && options.decimal != ',') throw UserError("encoder", str("decimal must be . or , but is ", options.decimal));
  Encoder encoder;
  encoder.rules_ = {options.missing, options.decimal};
  for (std::size_t c = 0; c < table.names.size(); ++c) {
    if (contains(options.ignore, table.names[c])) continue;
    if (table.names[c] == options.target) encoder.target_ = static_cast<std::ptrdiff_t>(encoder.columns_.size());
    encoder.columns_.push_back(encoder.learnt(table, c, options));
  }
  if (encoder.columns_.size() <= (encoder.has_target() ? 1u : 0u)) throw UserError("encoder", "there is no column to predict from");
  return encoder;
}

Encoder::Column Encoder::learnt(const Table& table, std::size_t number, const EncoderOptions& options) const {
  const std::string& name = table.names[number];
  const bool is_target = name == options.target;
  const Numbers numbers = numbers_of(table, number, rules_);
  if (numbers.present == 0) throw UserError("encoder", str("column '", name, "' has no fields; leave it out with ignore"));
  if (is_target && numbers.present != table.rows())
    throw UserError("encoder", str("the target '", name, "' is missing in ", table.rows() - numbers.present, " rows; leave those rows out"));
  std::vector<std::size_t> rows = options.rows;
  if (rows.empty()) {
    rows.resize(table.rows());
    std::iota(rows.begin(), rows.end(), std::size_t{0});
  }
  Column column;
  column.name = name;
  column.categorical = contains(options.categorical, name) || 2 * numbers.resembling < numbers.present;
  if (!column.categorical) {
    if (!numbers.wrong.empty())
      refuse(table, number, numbers, "fix them, say what they mean with missing or decimal, or name the column in categorical or ignore");
    // Mean and spread in one pass (Welford 1962).
    double mean = 0, spread = 0, count = 0;
    for (const std::size_t row : rows) {
      const double x = numbers.values[row], before = mean;
      column.missing = column.missing || std::isnan(x);
      if (std::isnan(x)) continue;
      mean += (x - mean) / ++count;
      spread += (x - before) * (x - mean);
    }
    column.mean = mean;
    column.deviation = spread > 0 ? std::sqrt(spread / count) : 1;
    return column;
  }
  if (is_target) {  // classes that only held-out rows have count too
    rows.resize(table.rows());
    std::iota(rows.begin(), rows.end(), std::size_t{0});
  }
  std::unordered_set<std::string_view> categories;
  for (const std::size_t row : rows)
    if (const std::string_view field = table.field(row, number); !rules_.is_missing(field)) categories.insert(field);
  if (categories.size() > most_categories)
    throw UserError("encoder", str("column '", name, "' has ", categories.size(), " different texts, more than ", most_categories,
                                   " categories; is it an identifier? leave it out with ignore"));
  if (is_target && categories.size() == 1)
    throw UserError("encoder", str("the target '", name, "' has a single class, '", *categories.begin(), "', so there is nothing to learn"));
  column.categories.assign(categories.begin(), categories.end());
  std::sort(column.categories.begin(), column.categories.end(), [&](const std::string& a, const std::string& b) {
    const auto x = rules_.number(a), y = rules_.number(b);
    if (x.has_value() != y.has_value()) return x.has_value();
    return x && *x != *y ? *x < *y : a < b;
  });
  return column;
}

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

float Encoder::standardized(const Table& table, std::size_t row, std::size_t number, const Column& column) const {
  const auto x = rules_.number(table.field(row, number));
  if (!x) refuse(table, number, numbers_of(table, number, rules_), "fix them");
  const auto result = static_cast<float>((*x - column.mean) / column.deviation);
  if (!std::isfinite(result))
    throw UserError("encoder", str("column '", column.name, "': line ", table.line(row), " has ", *x, ", which is too far from the mean ",
                                   column.mean, " for f32 at a deviation of ", column.deviation));
  return result;
}

Tensor Encoder::features(const Table& table) const {
  const std::int64_t cols = width();
  std::vector<float> data(table.rows() * static_cast<std::size_t>(cols));
  std::size_t first = 0;  // number of the column's first feature
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    const Column& column = columns_[c];
    if (static_cast<std::ptrdiff_t>(c) == target_) continue;
    const std::size_t number = table.column(column.name);
    const CategoryIndex categories(column.categories);
    for (std::size_t r = 0; r < table.rows(); ++r) {
      float* row = data.data() + r * static_cast<std::size_t>(cols) + first;
      const std::string_view field = table.field(r, number);
      if (column.categorical) {
        if (const std::size_t at = categories.place(field); at != none) row[at] = 1;
      } else if (!rules_.is_missing(field)) {
        row[0] = standardized(table, r, number, column);
      } else if (column.missing) {
        row[1] = 1;
      }
    }
    first += static_cast<std::size_t>(column.width());
  }
  return {data, {static_cast<std::int64_t>(table.rows()), cols}};
}

Tensor Encoder::target(const Table& table) const {
  const Column& column = target_column();
  const std::size_t number = table.column(column.name);
  const auto rows = static_cast<std::int64_t>(table.rows());
  if (column.categorical) {
    const CategoryIndex categories(column.categories);
    std::vector<std::int32_t> classes;
    for (std::size_t r = 0; r < table.rows(); ++r) {
      const std::size_t at = categories.place(table.field(r, number));
      if (at == none)
        throw UserError("encoder", str("line ", table.line(r), ": '", table.field(r, number), "' is not one of the ", column.categories.size(),
                                       " classes of '", column.name, "'"));
      classes.push_back(static_cast<std::int32_t>(at));
    }
    return {classes, {rows}};
  }
  std::vector<float> numbers;
  for (std::size_t r = 0; r < table.rows(); ++r) {
    if (rules_.is_missing(table.field(r, number)))
      throw UserError("encoder", str("the target '", column.name, "' has no value in line ", table.line(r), "; leave such rows out, or the column"));
    numbers.push_back(standardized(table, r, number, column));
  }
  return {numbers, {rows, 1}};
}

std::vector<ColumnSummary> Encoder::summary(const Table& table) const {
  std::vector<ColumnSummary> result;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    const Column& column = columns_[c];
    const bool is_target = static_cast<std::ptrdiff_t>(c) == target_;
    if (is_target && !table.has_column(column.name)) continue;
    ColumnSummary summary{column.name, is_target, column.categorical, column.categories.size()};
    const std::size_t number = table.column(column.name);
    const CategoryIndex categories(column.categories);
    for (std::size_t r = 0; r < table.rows(); ++r) {
      const std::string_view field = table.field(r, number);
      if (column.categorical && categories.place(field) != none) continue;
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

std::string Encoder::to_json() const {
  nlohmann::ordered_json json{{"version", 1}, {"target", target_}, {"columns", nlohmann::ordered_json::array()}};
  for (const Column& c : columns_)
    json["columns"].push_back({{"name", c.name},
                               {"categorical", c.categorical},
                               {"mean", c.mean},
                               {"deviation", c.deviation},
                               {"missing", c.missing},
                               {"categories", c.categories}});
  if (rules_ != CellRules{}) json["missing"] = rules_.missing, json["decimal"] = std::string(1, rules_.decimal);
  try {
    return json.dump();
  } catch (const nlohmann::json::exception& error) {
    throw UserError("encoder", str("names and categories must be UTF-8 (", error.what(), ")"));
  }
}

Encoder Encoder::from_json(const std::string& text) {
  Encoder encoder;
  try {
    check_json_depth(text, deepest_description, "encoder");
    const auto json = nlohmann::json::parse(text);
    if (json.at("version") != 1)
      throw UserError("encoder", str("version ", json.at("version").dump(), " is not known; it needs a newer version of Sinter"));
    for (const auto& c : json.at("columns"))
      encoder.columns_.push_back({c.at("name"), c.at("categorical"), c.at("mean"), c.at("deviation"), c.at("missing"), c.at("categories")});
    const auto& target = json.at("target");
    if (!target.is_number_integer()) throw UserError("encoder", str("the description is damaged: target ", target.dump(), " is no whole number"));
    encoder.target_ = target.get<std::ptrdiff_t>();
    const std::string decimal = json.value("decimal", ".");
    if (decimal != "." && decimal != ",") throw UserError("encoder", str("the description is damaged: decimal is '", decimal, "'"));
    encoder.rules_ = {json.value("missing", std::vector<std::string>{}), decimal[0]};
  } catch (const nlohmann::json::exception& error) {
    throw UserError("encoder", str("the description is damaged (", error.what(), ")"));
  }
  const auto count = static_cast<std::ptrdiff_t>(encoder.columns_.size());
  if (encoder.target_ < -1 || encoder.target_ >= count)
    throw UserError("encoder", str("the description is damaged: target ", encoder.target_, " of ", count, " columns"));
  for (const Column& c : encoder.columns_) {
    if (c.categorical ? c.missing : !c.categories.empty())
      throw UserError("encoder", str("the description is damaged: column '", c.name, "' holds both numbers and categories"));
    if (!std::isfinite(c.mean) || !(c.deviation > 0) || !std::isfinite(c.deviation))
      throw UserError("encoder", str("the description is damaged: column '", c.name, "' has mean ", c.mean, " and deviation ", c.deviation));
  }
  return encoder;
}

}  // namespace sinter::data
