// Records of JSON that look like those before them: read in one go, without a parser.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "frontend/data/record_encoder.h"

namespace sinter::serve {

/// Reads an object or an array of plain values: numbers, true, false, null, and texts of ASCII without escapes. It knows the names that a record had
/// before, in their order. What is anything else, right or wrong, it leaves to a parser.
class FlatRecord {
 public:
  static constexpr std::size_t no_column = static_cast<std::size_t>(-1);

  /// In columns that have texts, true and false are texts, and whole numbers that are too long for a double are left to the parser.
  explicit FlatRecord(std::vector<bool> has_texts) : has_texts_(std::move(has_texts)) {}

  /// A name that a record has, and its column or none; with end_names() the next records are expected to have those since begin_names().
  void begin_names() { learnt_.clear(); }
  void add_name(std::string_view name, std::size_t column);
  void end_names() { names_.swap(learnt_); }

  /// The fields of the record in [begin, end), behind which 64 bytes are 0; false, with any fields, if that is not one.
  bool read(const char* begin, const char* end, std::span<data::Field> fields) const;

 private:
  struct Name {
    std::string text;  ///< with its quotes
    std::size_t column;
  };
  const char* read_object(const char* at, std::span<data::Field> fields) const;
  const char* read_array(const char* at, std::span<data::Field> fields) const;
  const char* read_value(const char* at, std::size_t column, std::span<data::Field> fields) const;
  const char* read_word(const char* at, std::size_t column, std::span<data::Field> fields) const;

  std::vector<bool> has_texts_;
  std::vector<Name> names_, learnt_;
};

}  // namespace sinter::serve
