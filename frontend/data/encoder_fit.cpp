// What an encoder learns from a table.
#include "frontend/data/encoder.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <unordered_set>

#include "frontend/core/counted.h"
#include "frontend/core/warn.h"
#include "frontend/data/categories.h"
#include "frontend/data/column_fields.h"
#include "frontend/data/column_numbers.h"
#include "frontend/data/likeness.h"
#include "frontend/data/row_filter.h"
#include "frontend/data/spread.h"
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

/// Throws UserError for names that are not in the table, and for contradictions.
void check_names(const Table& table, const EncoderOptions& options) {
  const ColumnNumbers columns(table.names);
  for (const auto* names : {&options.columns, &options.categorical, &options.ignore})
    for (const std::string& name : *names) (void)columns[name];
  for (const auto& [name, scaling] : options.column_scaling) (void)columns[name];
  if (!options.target.empty()) (void)columns[options.target];
  const NameSet ignored(options.ignore);
  if (ignored.contains(options.target))
    throw UserError("encoder", str("the target '", options.target, "' is named in EncoderOptions::ignore too; name it in one of them"));
  for (const std::string& name : options.columns)
    if (ignored.contains(name))
      throw UserError("encoder", str("column '", name, "' is named in EncoderOptions::columns and EncoderOptions::ignore; name it in one of them"));
}

/// "Class not empty, Class == 0".
std::string conditions_text(const std::vector<Condition>& keep, const std::vector<Condition>& train_on) {
  std::string text;
  for (const auto* conditions : {&keep, &train_on})
    for (const Condition& condition : *conditions) text += (text.empty() ? "" : ", ") + condition.text();
  return text;
}

/// Those of `rows` that are wanted, `wanted` in ascending order.
std::vector<std::size_t> rows_to_learn_from(const Table& table, const std::vector<std::size_t>& wanted, const EncoderOptions& options) {
  std::vector<std::size_t> rows;
  for (const std::size_t row : options.rows)
    if (std::binary_search(wanted.begin(), wanted.end(), row)) rows.push_back(row);
  if (options.rows.empty()) rows = wanted;
  if (rows.empty() && !(options.keep.empty() && options.train_on.empty()))
    throw UserError("encoder", str("no row of ", options.rows.empty() ? table.rows() : options.rows.size(),
                                   " meets all conditions of EncoderOptions::keep and EncoderOptions::train_on: ",
                                   conditions_text(options.keep, options.train_on)));
  return rows;
}

Scaling scaling_of(const std::string& name, const EncoderOptions& options) {
  Scaling scaling = options.scaling;
  for (const auto& [column, own] : options.column_scaling)
    if (column == name) scaling = own;
  return scaling;
}

}  // namespace

Encoder Encoder::fit(const Table& table, const EncoderOptions& options) {
  check_names(table, options);
  for (const std::size_t row : options.rows)
    if (row >= table.rows()) throw UserError("encoder", str("row ", row, " is outside of [0, ", table.rows(), "), the rows of the table"));
  Encoder encoder;
  encoder.rules_ = {options.missing, options.decimal, options.thousands, options.strip};
  encoder.rules_.check("encoder");
  encoder.keep_ = options.keep;
  encoder.train_on_ = options.train_on;
  if (options.keep.empty()) {
    encoder.learn_columns(table, rows_to_learn_from(table, encoder.training_rows(table), options), options);
    return encoder;
  }
  // Rows that are left out decide nothing, as if they were not in the table.
  const std::vector<std::size_t> learnt_from = rows_to_learn_from(table, encoder.training_rows(table), options), kept = encoder.kept_rows(table);
  std::vector<std::size_t> rows;
  for (const std::size_t row : learnt_from) rows.push_back(static_cast<std::size_t>(std::lower_bound(kept.begin(), kept.end(), row) - kept.begin()));
  encoder.learn_columns(table.select(kept), rows, options);
  return encoder;
}

void Encoder::learn_columns(const Table& table, std::span<const std::size_t> rows, const EncoderOptions& options) {
  const NameSet ignored(options.ignore), used(options.columns), categorical(options.categorical), unnamed(table.unnamed);
  for (std::size_t c = 0; c < table.names.size(); ++c) {
    const std::string& name = table.names[c];
    const bool is_target = name == options.target, is_categorical = categorical.contains(name), is_asked_for = is_target || used.contains(name);
    if (ignored.contains(name) || (!options.columns.empty() && !is_asked_for)) continue;
    if (unnamed.contains(name) && !is_asked_for && !is_categorical && is_left_out(table, c, options)) continue;
    if (is_target) target_ = static_cast<std::ptrdiff_t>(columns_.size());
    columns_.push_back(learnt(table, c, rows, options, is_categorical));
  }
  if (columns_.size() <= (has_target() ? 1u : 0u) && !(options.target_alone && has_target()))
    throw UserError("encoder", "there is no column to predict from");
  if (options.normalize) normalizer_ = Normalizer(*options.normalize);
  if (options.pca) pca_ = PCA::fit(encoded(table, rows, [](const std::string&) {}), *options.pca);
}

Encoder::Column Encoder::learnt(const Table& table, std::size_t number, std::span<const std::size_t> rows, const EncoderOptions& options,
                                bool categorical) const {
  const std::string& name = table.names[number];
  const bool is_target = name == options.target;
  const ColumnFields fields(table, number, rules_);
  if (fields.present == 0) throw UserError("encoder", str("column '", name, "' has no fields; leave it out with EncoderOptions::ignore"));
  if (is_target && fields.present != table.rows())
    throw UserError("encoder", str("the target '", name, "' is missing in ", counted(table.rows() - fields.present, "row"), "; leave such rows out"));
  Column column;
  column.name = name;
  column.categorical = categorical || 2 * fields.resembling < fields.present;
  if (!column.categorical) {
    if (!fields.wrong.empty()) refuse(table, number, fields, advice(table, number, different_texts(table, number, rules_), rules_, is_target));
    Spread spread;
    for (const std::size_t row : rows) {
      if (std::isnan(fields.numbers[row])) column.missing = true;
      else spread.add(fields.numbers[row]);
    }
    column.scale(spread, scaling_of(name, options));
    return column;
  }
  std::vector<std::size_t> known(rows.begin(), rows.end());
  if (is_target) {  // classes that only held-out rows have count too
    known.resize(table.rows());
    std::iota(known.begin(), known.end(), std::size_t{0});
  }
  std::sort(known.begin(), known.end());
  Categories categories(rules_);
  for (const std::size_t row : known)
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

}  // namespace sinter::data
