// From the bytes of a record to the numbers that a model takes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/data/cell.h"
#include "frontend/data/record_encoder.h"
#include "frontend/serve/record_format.h"
#include "frontend/serve/served_model.h"

namespace sinter::serve {

/// Names of the columns of records that do not name them: those that the model's encoder reads, or column_1, column_2, …; none of delimited text.
std::vector<std::string> default_columns(const ServedModel& model, Format format);

/// For one model and one thread at a time.
class FeatureReader {
 public:
  /// Throws UserError if the model cannot take records of these columns.
  FeatureReader(const ServedModel& model, const RecordFormat& format, std::vector<std::string> columns);

  /// Writes the numbers of a record. False if the encoder leaves it out. Throws UserError for one that is wrong.
  [[nodiscard]] bool read(std::string_view record, std::span<float> row);
  const std::vector<std::string>& columns() const { return columns_; }
  /// What the records so far had in the columns of the encoder; empty without one.
  std::vector<data::ColumnSummary> summary() const;

 private:
  enum class Content : std::uint8_t { texts, numbers };
  /// The columns of numbers, or all others: categories, and what only conditions read. There, true is a text.
  std::vector<std::string> columns_of(Content content) const;
  void read_raw(std::string_view record, std::span<float> row) const;
  float number_of(std::string_view field, const std::string& column);
  static float number_of(double field, const std::string& column);

  std::vector<std::string> columns_;
  std::optional<data::RecordEncoder> encoder_;  ///< of a model that has one
  std::unique_ptr<RecordReader> reader_;        ///< none for raw records
  data::CellRules rules_;                       ///< of numbers in texts, for a model without encoder
  data::CellMemory memory_;
};

}  // namespace sinter::serve
