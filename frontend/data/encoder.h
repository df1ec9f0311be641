// Tables as tensors: numbers are standardized, categories become one-hot, and the same is done to every later table.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "frontend/core/tensor.h"
#include "frontend/data/csv.h"
#include "frontend/train/dataset.h"

namespace sinter::data {

struct EncoderOptions {
  std::string target = {};                    ///< column to predict; none if empty
  std::vector<std::string> categorical = {};  ///< columns of categories although all their fields are numbers; may hold the target
  std::vector<std::string> ignore = {};       ///< columns that are left out
};

/// What was learnt of a table, so that others become tensors in the same way. Fields are missing if they are empty or NA, N/A, NaN, null, None or ?.
/// A column is numeric if each field that is not missing is a number; NaN and infinity as numbers are refused.
class Encoder {
 public:
  /// Throws UserError for names that are not in the table, a target with missing fields, a column without fields, and categories that are too many
  /// (more than 1000).
  static Encoder fit(const Table& table, const EncoderOptions& options);

  /// [rows, width] f32. A number becomes (x - mean) / deviation, and 0 if it is missing; where the first table had missing ones, a column of 0 and 1
  /// that says so follows. A category becomes one-hot, all zeros if it is missing or was not there before. Throws UserError for a table without one
  /// of the columns, and for a field of a numeric column that is no number (with its row).
  Tensor features(const Table& table) const;
  /// Class numbers (i32 [rows]), or standardized numbers (f32 [rows, 1]). Throws UserError for a class that was not there before.
  Tensor target(const Table& table) const;
  /// Both.
  Dataset dataset(const Table& table) const { return {features(table), target(table)}; }

  bool has_target() const { return target_ >= 0; }
  bool is_classification() const { return has_target() && columns_[static_cast<std::size_t>(target_)].categorical; }
  /// Numbers a row of features() has.
  std::int64_t width() const;
  /// The classes of the target, in the order of their numbers.
  const std::vector<std::string>& classes() const;
  /// A standardized number of the target as it was.
  double unscaled(double standardized) const;
  const std::string& target_name() const;
  /// Names of the numbers of a row: "age", "age missing", "city=Bonn".
  std::vector<std::string> feature_names() const;

  /// For files.
  std::string to_json() const;
  static Encoder from_json(const std::string& text);

 private:
  struct Column {
    std::string name;
    bool categorical = false;
    double mean = 0, deviation = 1;
    bool missing = false;                 ///< the first table had missing numbers
    std::vector<std::string> categories;  ///< sorted; numbers by value
  };
  const Column& target_column() const;

  std::vector<Column> columns_;  ///< in the order of the first table; the target among them
  std::ptrdiff_t target_ = -1;
};

}  // namespace sinter::data
