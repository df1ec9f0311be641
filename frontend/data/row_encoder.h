// One row of a table, or one record of a stream, as features.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/data/categories.h"
#include "frontend/data/encoder.h"
#include "frontend/data/field_reader.h"
#include "frontend/data/record_encoder.h"
#include "frontend/data/row_filter.h"

namespace sinter::data {

/// What Encoder::features and RecordEncoder have in common. Allocates nothing after the first rows, but for a column's first unknown category.
class RowEncoder {
 public:
  /// For rows whose fields are of these columns. Throws UserError if one that the encoder reads is not among them.
  RowEncoder(const Encoder& encoder, std::span<const std::string> columns);
  RowEncoder(const RowEncoder&) = delete;
  RowEncoder& operator=(const RowEncoder&) = delete;

  /// Whether the encoder's conditions keep a row.
  template <class Field>
  RowFilter::Verdict judge(std::span<const Field> fields) {
    return filter_.judge(fields, reader_);
  }

  /// A field of a column of numbers that is none, or one that the scale makes too large for f32.
  struct Fault {
    std::size_t field;
    std::optional<double> number;  ///< too large
    std::string why;               ///< it is too large
  };
  /// Writes width() numbers, or returns the first fault. `fields` has one for each of the columns.
  template <class Field>
  std::optional<Fault> encode(std::span<const Field> fields, std::span<float> out);

  std::int64_t width() const { return width_; }
  /// The encoder's columns besides the target, and what the rows so far had in them.
  const std::vector<ColumnSummary>& summary() const { return summary_; }

 private:
  struct Source {
    const Encoder::Column* column;
    std::size_t field;  ///< of a row
    Categories categories;
  };
  template <class Field>
  std::optional<Fault> encode_field(const Source& source, ColumnSummary& summary, const Field& field, float* out);
  Encoder encoder_;
  std::int64_t width_;
  std::vector<Source> sources_;
  std::vector<ColumnSummary> summary_;
  FieldReader reader_;
  RowFilter filter_;
  std::vector<float> features_;  ///< before principal components take their place
};

}  // namespace sinter::data
