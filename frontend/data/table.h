// A table of text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sinter::data {

/// Rows of fields under named columns. Takes 8 bytes per field and per row besides the text.
class Table {
 public:
  Table() = default;
  explicit Table(std::vector<std::string> column_names) : names(std::move(column_names)) {}
  /// From columns. Throws UserError if there is not one for each name, or one has another number of fields than the first.
  Table(std::vector<std::string> column_names, const std::vector<std::vector<std::string>>& columns);

  std::vector<std::string> names;         ///< of the columns; as many as a row has fields
  std::vector<std::string> unnamed = {};  ///< those that read_csv gave to columns without a name

  std::size_t rows() const { return lines_.size(); }
  /// Throws UserError for an unknown name, with the nearest.
  std::size_t column(const std::string& name) const;
  bool has_column(const std::string& name) const;
  /// Valid until the table changes.
  std::string_view field(std::size_t row, std::size_t column) const;
  /// All fields of a column.
  std::vector<std::string_view> fields(std::size_t column) const;
  /// The rows with these numbers, in this order, with their lines, copied. Throws UserError for a number outside of [0, rows()).
  Table select(std::span<const std::size_t> rows) const;
  /// The line of the file in which a row begins, from 1; for a table that was not read from a file, the number of the row.
  std::size_t line(std::size_t row) const { return lines_[row]; }

  /// Appends a row field by field. end_row throws UserError if there is not one for each name.
  void add_field(std::string_view text);
  void end_row() { end_row(rows() + 1); }
  void end_row(std::size_t line);
  void add_row(const std::vector<std::string>& fields);
  /// Fields that have been appended since the last row ended.
  std::size_t open_fields() const { return ends_.size() - rows() * names.size(); }
  /// Reserves memory for so many bytes of text, so that they need not be moved.
  void reserve_text(std::size_t bytes) { text_.reserve(bytes); }

 private:
  std::string text_;                ///< all fields, row by row
  std::deque<std::uint64_t> ends_;  ///< of the fields in it; deques, so that nothing is copied when a large table grows
  std::deque<std::uint64_t> lines_;
};

}  // namespace sinter::data
