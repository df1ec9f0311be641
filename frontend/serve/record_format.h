// Records of a stream as fields: JSON, delimited text, or numbers.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/data/record_encoder.h"

namespace sinter::serve {

/// How a record is written.
enum class Format {
  json,       ///< an object by the names of the columns, or an array in their order
  delimited,  ///< fields between delimiters, in the order of the columns; quoted as RFC 4180 says
  raw         ///< numbers as f32, little-endian, in their order
};

/// "json", "csv", "raw".
std::string text_of(Format format);
/// Throws UserError for another name.
Format format_named(std::string_view name);

struct RecordFormat {
  Format format = Format::json;
  /// Names of the fields, in their order in a line or an array. Empty: those of the model's encoder, without its target; for delimited text, what
  /// RecordScorer::read_header was given.
  std::vector<std::string> columns = {};
  char delimiter = ',';
};

/// Takes records apart. For one thread at a time.
class RecordReader {
 public:
  virtual ~RecordReader() = default;
  /// One field for each of the columns, in their order; an empty text is a missing one. Valid until the next call, and as long as the record. Throws
  /// UserError for a record that is not of the format.
  virtual std::span<const data::Field> read(std::string_view record) = 0;
};

/// Reads records of JSON or delimited text with these columns. Of a JSON object the values of other names are skipped, and what it does not name is
/// missing, as is null; true and false are texts in the columns that `categories` names, and 1 and 0 in others. Throws UserError for Format::raw, a
/// name given twice and a delimiter that is a quote or a line break.
/// A delimited field is a text, but in a column that `numbers` names, if it is written as JSON writes numbers, a number: reading it once is faster.
std::unique_ptr<RecordReader> record_reader(const RecordFormat& format, std::vector<std::string> columns, std::vector<std::string> categories = {},
                                            std::span<const std::string> numbers = {});

/// The fields of one delimited record without columns: of a header. Throws UserError for what RFC 4180 does not allow.
std::vector<std::string> delimited_fields(std::string_view record, char delimiter = ',');

}  // namespace sinter::serve
