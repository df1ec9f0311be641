// Comma-separated values (RFC 4180).
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace sinter::data {

/// A table of text, by columns.
struct Table {
  std::vector<std::string> names;                 ///< of the columns
  std::vector<std::vector<std::string>> columns;  ///< as many, each with a field a row

  std::size_t rows() const { return columns.empty() ? 0 : columns.front().size(); }
  /// Throws UserError for a name that is not there, with the nearest.
  std::size_t column(const std::string& name) const;
};

struct CsvOptions {
  char delimiter = ',';
  bool header = true;  ///< the first row has the names; else columns are called column_1, column_2, …
};

/// Fields may be quoted, quotes in them doubled; space around unquoted fields is dropped, as are empty lines. Throws UserError `[file] …` for a
/// missing file, a file without rows, a row with another number of fields than the first, a name that is empty or there twice, and open quotes.
Table read_csv(const std::filesystem::path& path, const CsvOptions& options = {});

/// With a header; fields are quoted where they must be. The file whole or not at all. Throws UserError.
void write_csv(const std::filesystem::path& path, const Table& table, char delimiter = ',');

}  // namespace sinter::data
