// Tables as tensors: numbers are standardized, categories become one-hot, and every later table is converted in the same way.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "frontend/core/tensor.h"
#include "frontend/core/warn.h"
#include "frontend/data/cell.h"
#include "frontend/data/table.h"
#include "frontend/train/dataset.h"

namespace sinter::data {

struct EncoderOptions {
  std::string target = {};                    ///< column to predict; none if empty
  std::vector<std::string> categorical = {};  ///< columns to treat as categories although they hold numbers; may include the target
  std::vector<std::string> ignore = {};       ///< columns that are left out
  std::vector<std::string> missing = {};      ///< texts that mean a missing value, besides the usual ones (CellRules)
  char decimal = '.';                         ///< decimal separator: '.' or ','
  std::string thousands = {};                 ///< separator of groups of three digits, as "," in 25,500.00
  std::vector<std::string> strip = {};        ///< texts around numbers that are dropped, as {"$", "EUR"} for $15.7 and 15.7 EUR
  /// Indices of the rows from which means, deviations and categories are learnt; empty: all. What a column holds and which classes the target has are
  /// decided by all rows.
  std::vector<std::size_t> rows = {};
  Log log = {};  ///< receives warnings; without it they go to stderr
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
class Encoder {
 public:
  /// Throws UserError for names that are not in the table; a target that is to be ignored; a field of a numeric column that is no number or beyond
  /// f32, with line, column and text; a target with missing fields or a single class; a column without fields; and categories that are too many (more
  /// than 1000). A column of categories of which at least half look like numbers (25,500.00, $15.7, many -) is an error if it is the target, and else
  /// a warning, unless `categorical` names it: both say which option reads them.
  static Encoder fit(const Table& table, const EncoderOptions& options);

  /// [rows, width] f32. A number becomes (x - mean) / deviation, or 0 if it is missing; where the first table had missing ones, a 0/1 column
  /// marks them. A category becomes one-hot, all zeros if it is missing or was not in the first table; `log` (else stderr) gets a line for each
  /// column that has such ones, which counts them and names the first. Throws UserError for a table without one of the columns, and for a field of a
  /// numeric column that is no number, with line, column and text.
  Tensor features(const Table& table, const Log& log = {}) const;
  /// Class numbers (i32 [rows]), or standardized numbers (f32 [rows, 1]). Throws UserError for a class that the first table lacks.
  Tensor target(const Table& table) const;
  /// Features and targets.
  Dataset dataset(const Table& table) const { return {features(table), target(table)}; }
  /// The columns in the order of the first table, and what this one has in them; without the target if this one has none.
  std::vector<ColumnSummary> summary(const Table& table) const;

  bool has_target() const { return target_ >= 0; }
  bool is_classification() const { return has_target() && columns_[static_cast<std::size_t>(target_)].categorical; }
  /// Columns of features().
  std::int64_t width() const;
  /// The classes of the target, in the order of their numbers.
  const std::vector<std::string>& classes() const;
  /// A standardized number of the target in its original unit.
  double unscaled(double standardized) const;
  /// The original unit's difference for a difference of 1 between standardized numbers of the target: its deviation.
  double target_unit() const;
  const std::string& target_name() const;
  /// Names of the columns of features(): "age", "age missing", "city=Bonn".
  std::vector<std::string> feature_names() const;

  /// For saving. to_json throws UserError for names and categories that are not UTF-8.
  std::string to_json() const;
  static Encoder from_json(const std::string& text);

 private:
  struct Column {
    std::string name;
    bool categorical = false;
    double mean = 0, deviation = 1;
    bool missing = false;                 ///< the first table had missing numbers
    std::vector<std::string> categories;  ///< as first written, sorted; numbers by value
    /// A number of the column as a feature or target; not finite if that is beyond f32, for the reason that too_far() gives.
    float scaled(double number) const;
    std::string too_far() const;
    std::int64_t width() const { return categorical ? static_cast<std::int64_t>(categories.size()) : missing ? 2 : 1; }
  };
  friend class RowEncoder;
  const Column& target_column() const;
  Column learnt(const Table& table, std::size_t number, const EncoderOptions& options, bool categorical) const;

  CellRules rules_;
  std::vector<Column> columns_;  ///< in the order of the first table; the target among them
  std::ptrdiff_t target_ = -1;
};

}  // namespace sinter::data
