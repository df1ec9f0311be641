// Records of a stream as features, one at a time: what Encoder::features does with a table.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "frontend/data/encoder.h"

namespace sinter::data {

/// A field of a record: a text, read by the rules of the encoder (CellRules), or a number, which needs no reading. NaN is a missing number.
using Field = std::variant<std::string_view, double>;

/// Encodes records whose fields are of these columns, in this order; the numbers of columns are looked up once. Results are those of
/// Encoder::features for the same row, bit for bit. encode allocates nothing after its first calls, but for the first unknown category of a column.
/// Keeps a copy of the encoder. For one thread at a time: give each thread its own.
class RecordEncoder {
 public:
  /// Columns that the encoder does not read are ignored; the target need not be there. Throws UserError if one that it reads is not there, with the
  /// nearest, or a name is given twice.
  RecordEncoder(const Encoder& encoder, std::vector<std::string> columns);
  ~RecordEncoder();
  RecordEncoder(RecordEncoder&&) noexcept;
  RecordEncoder& operator=(RecordEncoder&&) noexcept;

  /// Numbers that encode writes.
  std::int64_t width() const;
  const std::vector<std::string>& columns() const { return columns_; }

  /// Writes width() numbers. False if the encoder leaves the record out, by its conditions: then `out` holds nothing of use. Categories that it does
  /// not know count as missing, in summary() too. Throws UserError for another number of fields than of columns, an `out` of another size than
  /// width(), and, with column and text, a field of a numeric column that is no number.
  [[nodiscard]] bool encode(std::span<const std::string_view> fields, std::span<float> out);
  /// The same for texts and numbers. A number that `missing` lists (EncoderOptions) is missing.
  [[nodiscard]] bool encode(std::span<const Field> fields, std::span<float> out);
  /// The same for numbers only.
  [[nodiscard]] bool encode(std::span<const double> numbers, std::span<float> out);

  /// The encoder's columns besides the target, and what the records so far had in them: missing fields and unknown categories.
  const std::vector<ColumnSummary>& summary() const;

 private:
  template <class Fields>
  bool encode_fields(const Fields& fields, std::span<float> out);

  std::vector<std::string> columns_;
  std::unique_ptr<class RowEncoder> rows_;
};

}  // namespace sinter::data
