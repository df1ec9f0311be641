// Comma-separated values (RFC 4180).
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "frontend/data/table.h"

namespace sinter::data {

struct CsvOptions {
  char delimiter = ',';
  bool header = true;                   ///< the first row has the names; columns without one are called by their number: column_1
  bool quotes = true;                   ///< fields may be quoted; otherwise quotes are characters like others, as in most files with tabs
  std::vector<std::string> names = {};  ///< of the columns of a file without a header
  std::string encoding = "utf-8";       ///< of the file, by a name that iconv knows: latin1, cp1252, utf-16; UTF-8 may have a byte-order mark
};

/// Fields may be quoted, quotes in them doubled, unless the options say that they are not; space around unquoted fields is dropped, as are empty
/// lines. Texts become UTF-8. Throws UserError
/// `[file] …` for a missing file, a file without rows, a row with another number of fields than the first, a name that is given twice, names
/// for another number of columns, open quotes, an encoding that is not known, and bytes that are not of the encoding, with line and column.
Table read_csv(const std::filesystem::path& path, const CsvOptions& options = {});

/// With a header; fields are quoted where they must be.
std::string csv_text(const Table& table, char delimiter = ',');
/// Writes csv_text atomically: the whole file or none. Throws UserError.
void write_csv(const std::filesystem::path& path, const Table& table, char delimiter = ',');

}  // namespace sinter::data
