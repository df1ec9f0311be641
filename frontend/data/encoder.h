// Tables as tensors: numbers are scaled, categories become one-hot, and every later table is converted in the same way.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "frontend/core/tensor.h"
#include "frontend/core/warn.h"
#include "frontend/data/cell.h"
#include "frontend/data/condition.h"
#include "frontend/data/pca.h"
#include "frontend/data/scaler.h"
#include "frontend/data/table.h"
#include "frontend/train/dataset.h"

namespace sinter::data {

class Spread;

/// What becomes of a number x of a column.
enum class Scaling {
  standard,  ///< (x - mean) / standard deviation
  min_max,   ///< (x - least) / (greatest - least), in [0, 1]
  none       ///< x itself
};

/// "standard", "min_max", "none".
std::string text_of(Scaling scaling);
/// Throws UserError for another name.
Scaling scaling_named(std::string_view name);

struct EncoderOptions {
  std::string target = {};                    ///< column to predict; none if empty
  std::vector<std::string> columns = {};      ///< columns to use besides the target; all that are not to be ignored if empty
  std::vector<std::string> categorical = {};  ///< columns to treat as categories although they hold numbers; may include the target
  std::vector<std::string> ignore = {};       ///< columns that are left out
  std::vector<std::string> missing = {};      ///< texts that mean a missing value, besides the usual ones (CellRules)
  char decimal = '.';                         ///< decimal separator: '.' or ','
  std::string thousands = {};                 ///< separator of groups of three digits, as "," in 25,500.00
  std::vector<std::string> strip = {};        ///< texts around numbers that are dropped, as {"$", "EUR"} for $15.7 and 15.7 EUR
  /// Indices of the rows from which means, deviations and categories are learnt; empty: all. What a column holds and which classes the target has are
  /// decided by all rows that `keep` keeps.
  std::vector<std::size_t> rows = {};
  /// Conditions that all rows must meet, as "Class not empty": others are left out, now and of all later tables and records, by the encoder itself.
  std::vector<Condition> keep = {};
  /// Further conditions for rows to learn from, as "Class == 0" for a model of what is normal: others are encoded, but nothing is learnt from them,
  /// and training_rows() leaves them out.
  std::vector<Condition> train_on = {};
  /// No column to predict from is needed: what the target is predicted from is elsewhere, as a text that is ignored here.
  bool target_alone = false;
  Scaling scaling = Scaling::standard;                               ///< of all columns of numbers, the target among them
  std::vector<std::pair<std::string, Scaling>> column_scaling = {};  ///< of some columns, by their names
  std::optional<Norm> normalize = {};                                ///< then divide the features of each row by this norm of theirs (Normalizer)
  std::optional<PCAOptions> pca = {};                                ///< then use the principal components of the features in their place (PCA)
  Log log = {};                                                      ///< receives warnings; without it they go to stderr
};

/// A column as the encoder treats it, and what a table has in it.
struct ColumnSummary {
  std::string name;
  bool is_target = false, categorical = false;
  std::size_t categories = 0;     ///< known to the encoder
  std::size_t missing = 0;        ///< fields without a value
  std::size_t unseen = 0;         ///< fields with a category that the encoder does not know
  std::string first_unseen = {};  ///< the first of these
};

/// What was learnt from a table, to convert others in the same way. CellRules decide which fields are missing or numbers. A column is numeric
/// if at least half of the fields that are not missing resemble numbers; all of them must be numbers then. Numbers of the same value are one category
/// (1, 1.0 and 01). A column without a name (Table::unnamed) is left out if it has no fields, or if it is the first and numbers the rows.
///
/// Features, targets and summaries are of the rows that the conditions of `keep` keep, in their order: kept_rows() says which these are.
class Encoder {
 public:
  /// Throws UserError for names that are not in the table; a target that is to be ignored; a field of a numeric column that is no number or beyond
  /// f32, with line, column and text; a target with missing fields or a single class; a column without fields; and categories that are too many (more
  /// than 1000); no rows that meet the conditions. A column of categories of which at least half look like numbers (25,500.00, $15.7, many -) is an
  /// error if it is the target, and else a warning, unless `categorical` names it: both say which option reads them.
  static Encoder fit(const Table& table, const EncoderOptions& options);

  /// [rows, width] f32. Numbers are scaled (EncoderOptions::scaling); a missing one becomes what the mean does, 0 if that is the standard scaling.
  /// Where the first table had missing ones, a 0/1 column marks them. A category becomes one-hot, all zeros if it is missing or was not in the first
  /// table; `log` (else stderr) gets a line for each column that has such ones, which counts them and names the first. Throws UserError for a table
  /// without one of the columns, and for a field of a numeric column that is no number, with line, column and text.
  Tensor features(const Table& table, const Log& log = {}) const;
  /// Class numbers (i32 [rows]), or scaled numbers (f32 [rows, 1]). Throws UserError for a class that the first table lacks.
  Tensor target(const Table& table) const;
  /// Features and targets.
  Dataset dataset(const Table& table) const { return {features(table), target(table)}; }
  /// The columns in the order of the first table, and what this one has in them; without the target if this one has none.
  std::vector<ColumnSummary> summary(const Table& table) const;

  /// The rows of a table that `keep` keeps, to which features() and target() belong, and those of them that `train_on` wants: indices of its rows.
  std::vector<std::size_t> kept_rows(const Table& table) const;
  std::vector<std::size_t> training_rows(const Table& table) const;
  /// The conditions.
  const std::vector<Condition>& keep() const { return keep_; }
  const std::vector<Condition>& train_on() const { return train_on_; }

  /// How fields are read.
  const CellRules& rules() const { return rules_; }

  bool has_target() const { return target_ >= 0; }
  bool is_classification() const { return has_target() && columns_[static_cast<std::size_t>(target_)].categorical; }
  /// Columns of features().
  std::int64_t width() const;
  /// The classes of the target, in the order of their numbers.
  const std::vector<std::string>& classes() const;
  /// A scaled number of the target in its original unit.
  double unscaled(double scaled) const;
  /// The original unit's difference for a difference of 1 between scaled numbers of the target: its deviation, its range, or 1 (Scaling).
  double target_unit() const;
  const std::string& target_name() const;
  /// Names of the columns of features(): "age", "age missing", "city=Bonn"; with principal components "pca_1", "pca_2".
  std::vector<std::string> feature_names() const;
  /// The columns that features() and the conditions of `keep` read, in the order of the first table; the target is among them only for a condition.
  std::vector<std::string> columns_read() const;

  /// For saving. to_json throws UserError for names and categories that are not UTF-8.
  std::string to_json() const;
  static Encoder from_json(const std::string& text);

 private:
  struct Column {
    std::string name;
    bool categorical = false;
    Scaling scaling = Scaling::standard;
    double offset = 0, unit = 1;               ///< a number x becomes (x - offset) / unit
    double missing_value = 0;                  ///< and one that is missing becomes this
    bool missing = false;                      ///< the first table had missing numbers
    std::vector<std::string> categories = {};  ///< as first written, sorted; numbers by value
    /// A number of the column as a feature or target; not finite if that is beyond f32, for the reason that too_far() gives.
    float scaled(double number) const;
    std::string too_far() const;
    void scale(const Spread& spread, Scaling scaling);
    std::int64_t width() const { return categorical ? static_cast<std::int64_t>(categories.size()) : missing ? 2 : 1; }
  };
  friend class RowEncoder;
  const Column& target_column() const;
  void learn_columns(const Table& table, std::span<const std::size_t> rows, const EncoderOptions& options);
  Column learnt(const Table& table, std::size_t number, std::span<const std::size_t> rows, const EncoderOptions& options, bool categorical) const;
  Tensor encoded(const Table& table, std::span<const std::size_t> rows, const Log& log) const;
  /// Features before principal components take their place.
  std::int64_t columns_width() const;

  CellRules rules_;
  std::vector<Column> columns_;  ///< in the order of the first table; the target among them
  std::ptrdiff_t target_ = -1;
  std::vector<Condition> keep_, train_on_;
  std::optional<Normalizer> normalizer_;
  std::optional<PCA> pca_;
};

}  // namespace sinter::data
