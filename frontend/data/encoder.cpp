#include "frontend/data/encoder.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <unordered_map>
#include <unordered_set>

#include "frontend/core/counted.h"
#include "frontend/core/warn.h"
#include "frontend/data/categories.h"
#include "frontend/data/likeness.h"
#include "ir/error.h"

namespace sinter::data {

namespace {

constexpr std::size_t most_categories = 1000;

/// Names to look up many times.
class NameSet {
 public:
  explicit NameSet(const std::vector<std::string>& names) : names_(names.begin(), names.end()) {}
  bool contains(std::string_view name) const { return names_.contains(name); }

 private:
  std::unordered_set<std::string_view> names_;
};

/// The same for the columns of a table.
class ColumnNumbers {
 public:
  explicit ColumnNumbers(const Table& table) : table_(table) {
    for (std::size_t c = 0; c < table.names.size(); ++c) numbers_.emplace(table.names[c], c);
  }
  bool contains(std::string_view name) const { return numbers_.contains(name); }
  std::size_t operator[](const std::string& name) const {
    const auto found = numbers_.find(name);
    return found == numbers_.end() ? table_.column(name) : found->second;  // which says what there is
  }

 private:
  const Table& table_;
  std::unordered_map<std::string_view, std::size_t> numbers_;
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

/// The first row of each different text of a column that is not missing.
std::vector<std::size_t> different_texts(const Table& table, std::size_t column, const CellRules& rules) {
  std::unordered_set<std::string_view> seen;
  std::vector<std::size_t> rows;
  for (std::size_t r = 0; r < table.rows(); ++r)
    if (const std::string_view field = table.field(r, column); !rules.is_missing(field) && seen.insert(field).second) rows.push_back(r);
  return rows;
}

/// What to do about texts that were probably meant as numbers.
std::string advice(const Table& table, std::size_t column, const std::vector<std::size_t>& rows, const CellRules& rules, bool is_target) {
  std::vector<std::string_view> texts;
  for (const std::size_t row : rows) texts.push_back(table.field(row, column));
  const std::string reading = reading_advice(texts, rules);
  return str(reading.empty() ? "fix them" : "read them with ", reading, ", or name the column in EncoderOptions::categorical",
             is_target ? ", if they are classes" : " or EncoderOptions::ignore");
}

[[noreturn]] void refuse(const Table& table, std::size_t column, const Numbers& numbers, const std::string& advice) {
  throw UserError("encoder", str("column '", table.names[column], "' holds numbers, but ", numbers.wrong.size(), " of its ", table.rows(),
                                 " fields cannot be read as numbers that f32 can hold: ", cells_text(table, column, numbers.wrong), "; ", advice));
}

/// Why a column of categories was probably meant to be numbers: at least half of its different texts look like some. Empty if not.
std::string likeness(const Table& table, std::size_t column, const CellRules& rules, bool is_target) {
  const std::vector<std::size_t> rows = different_texts(table, column, rules);
  std::vector<std::size_t> alike;
  for (const std::size_t row : rows)
    if (const std::string_view field = table.field(row, column); rules.number(field) || looks_like_number(field)) alike.push_back(row);
  if (alike.size() < 2 || 2 * alike.size() < rows.size()) return "";
  return str(is_target ? "the target '" : "column '", table.names[column], "' is taken for ", rows.size(), is_target ? " classes" : " categories",
             ", but ", alike.size(), " of them look like numbers: ", cells_text(table, column, alike), "; ",
             advice(table, column, rows, rules, is_target));
}

/// Whether a column that has no name in the file counts the rows, as the index of a data frame does.
bool is_row_index(const Table& table, std::size_t column) {
  std::unordered_set<std::string_view> seen;
  for (std::size_t r = 0; r < table.rows(); ++r) {
    const std::string_view field = table.field(r, column);
    if (field.empty() || field.find_first_not_of("0123456789") != std::string_view::npos || !seen.insert(field).second) return false;
  }
  return column == 0;
}

bool is_empty(const Table& table, std::size_t column) {
  for (std::size_t r = 0; r < table.rows(); ++r)
    if (!table.field(r, column).empty()) return false;
  return true;
}

/// Columns without a name are used if they hold data. Says what becomes of them.
bool is_left_out(const Table& table, std::size_t column, const EncoderOptions& options) {
  const std::string& name = table.names[column];
  const bool empty = is_empty(table, column), index = is_row_index(table, column);
  warn(options.log, str("column ", column + 1, " has no name",
                        empty   ? " and no fields: it is left out"
                        : index ? " and a different whole number in each row: it is taken for row numbers and left out"
                                : str(": it is called ", name)));
  return empty || index;
}

}  // namespace

Encoder Encoder::fit(const Table& table, const EncoderOptions& options) {
  const ColumnNumbers columns(table);
  for (const auto* names : {&options.categorical, &options.ignore})
    for (const std::string& name : *names) (void)columns[name];
  if (!options.target.empty()) (void)columns[options.target];
  const NameSet ignored(options.ignore), categorical(options.categorical), unnamed(table.unnamed);
  if (ignored.contains(options.target))
    throw UserError("encoder", str("the target '", options.target, "' is named in EncoderOptions::ignore too; name it in one of them"));
  for (const std::size_t row : options.rows)
    if (row >= table.rows()) throw UserError("encoder", str("row ", row, " is outside of [0, ", table.rows(), "), the rows of the table"));
  Encoder encoder;
  encoder.rules_ = {options.missing, options.decimal, options.thousands, options.strip};
  encoder.rules_.check("encoder");
  for (std::size_t c = 0; c < table.names.size(); ++c) {
    const std::string& name = table.names[c];
    const bool is_target = name == options.target, is_categorical = categorical.contains(name);
    if (ignored.contains(name)) continue;
    if (unnamed.contains(name) && !is_target && !is_categorical && is_left_out(table, c, options)) continue;
    if (is_target) encoder.target_ = static_cast<std::ptrdiff_t>(encoder.columns_.size());
    encoder.columns_.push_back(encoder.learnt(table, c, options, is_categorical));
  }
  if (encoder.columns_.size() <= (encoder.has_target() ? 1u : 0u)) throw UserError("encoder", "there is no column to predict from");
  return encoder;
}

Encoder::Column Encoder::learnt(const Table& table, std::size_t number, const EncoderOptions& options, bool categorical) const {
  const std::string& name = table.names[number];
  const bool is_target = name == options.target;
  const Numbers numbers = numbers_of(table, number, rules_);
  if (numbers.present == 0) throw UserError("encoder", str("column '", name, "' has no fields; leave it out with EncoderOptions::ignore"));
  if (is_target && numbers.present != table.rows())
    throw UserError("encoder",
                    str("the target '", name, "' is missing in ", counted(table.rows() - numbers.present, "row"), "; leave such rows out"));
  std::vector<std::size_t> rows = options.rows;
  if (rows.empty()) {
    rows.resize(table.rows());
    std::iota(rows.begin(), rows.end(), std::size_t{0});
  }
  Column column;
  column.name = name;
  column.categorical = categorical || 2 * numbers.resembling < numbers.present;
  if (!column.categorical) {
    if (!numbers.wrong.empty()) refuse(table, number, numbers, advice(table, number, different_texts(table, number, rules_), rules_, is_target));
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
  std::sort(rows.begin(), rows.end());
  Categories categories(rules_);
  for (const std::size_t row : rows)
    if (const std::string_view field = table.field(row, number); !rules_.is_missing(field)) categories.add(field);
  const std::size_t count = categories.names().size();
  if (const std::string why = categorical ? "" : likeness(table, number, rules_, is_target); !why.empty()) {
    if (is_target || count > most_categories) throw UserError("encoder", why);
    warn(options.log, why);
  }
  if (count > most_categories)
    throw UserError("encoder", str("column '", name, "' has ", count, " different texts, more than ", most_categories,
                                   " categories; is it an identifier? leave it out with EncoderOptions::ignore"));
  if (is_target && count == 1)
    throw UserError("encoder", str("the target '", name, "' has a single class, '", categories.names()[0], "', so there is nothing to learn"));
  column.categories = categories.sorted();
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

Tensor Encoder::features(const Table& table, const Log& log) const {
  const std::int64_t cols = width();
  std::vector<float> data(table.rows() * static_cast<std::size_t>(cols));
  const ColumnNumbers columns(table);
  std::size_t first = 0;  // number of the column's first feature
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    const Column& column = columns_[c];
    if (static_cast<std::ptrdiff_t>(c) == target_) continue;
    const std::size_t number = columns[column.name];
    const Categories categories(column.categories, rules_);
    ColumnSummary here;
    for (std::size_t r = 0; r < table.rows(); ++r) {
      float* row = data.data() + r * static_cast<std::size_t>(cols) + first;
      const std::string_view field = table.field(r, number);
      if (column.categorical) {
        if (const auto category = categories.number(field)) row[*category] = 1;
        else if (!rules_.is_missing(field) && here.unseen++ == 0) here.first_unseen = field;
      } else if (!rules_.is_missing(field)) {
        row[0] = standardized(table, r, number, column);
      } else if (column.missing) {
        row[1] = 1;
      }
    }
    first += static_cast<std::size_t>(column.width());
    if (here.unseen)
      warn(log, str("column '", column.name, "': unknown categories in ", here.unseen, " of ", table.rows(), " rows, '", here.first_unseen,
                    "' first; they count as missing"));
  }
  return {data, {static_cast<std::int64_t>(table.rows()), cols}};
}

Tensor Encoder::target(const Table& table) const {
  const Column& column = target_column();
  const std::size_t number = table.column(column.name);
  const auto rows = static_cast<std::int64_t>(table.rows());
  if (column.categorical) {
    const Categories categories(column.categories, rules_);
    std::vector<std::int32_t> classes;
    for (std::size_t r = 0; r < table.rows(); ++r) {
      const auto at = categories.number(table.field(r, number));
      if (!at)
        throw UserError("encoder", str("line ", table.line(r), ": '", table.field(r, number), "' is not one of the ", column.categories.size(),
                                       " classes of '", column.name, "'"));
      classes.push_back(static_cast<std::int32_t>(*at));
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
  const ColumnNumbers columns(table);
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    const Column& column = columns_[c];
    const bool is_target = static_cast<std::ptrdiff_t>(c) == target_;
    if (is_target && !columns.contains(column.name)) continue;
    ColumnSummary summary{column.name, is_target, column.categorical, column.categories.size()};
    const std::size_t number = columns[column.name];
    const Categories categories(column.categories, rules_);
    for (std::size_t r = 0; r < table.rows(); ++r) {
      const std::string_view field = table.field(r, number);
      if (column.categorical && categories.number(field)) continue;
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
