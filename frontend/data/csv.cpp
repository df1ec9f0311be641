#include "frontend/data/csv.h"

#include <csv.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string_view>
#include <unordered_set>

#include "frontend/core/nearest.h"
#include "ir/error.h"
#include "runtime/file/disk.h"

namespace sinter::data {

namespace {

/// Collects fields into columns. Errors wait until the parser, which is C, has returned.
struct Collector {
  const CsvOptions& options;
  Table table;
  std::vector<std::string> row = {};
  std::size_t number = 0;  ///< of the row, from 1
  std::string error = {};

  void end_row() {
    ++number;
    if (error.empty()) take_row();
    row.clear();
  }

 private:
  void take_row() {
    if (number == 1) {
      table.columns.resize(row.size());
      if (options.header) {
        table.names = row;
        return;
      }
      for (std::size_t i = 0; i < row.size(); ++i) table.names.push_back(str("column_", i + 1));
    }
    if (row.size() != table.names.size()) {
      error = str("row ", number, " has ", row.size(), " fields, but the first has ", table.names.size(), "; is a delimiter missing, or a quote?");
      return;
    }
    for (std::size_t i = 0; i < row.size(); ++i) table.columns[i].push_back(std::move(row[i]));
  }
};

void field(void* text, std::size_t length, void* collector) {
  static_cast<Collector*>(collector)->row.emplace_back(static_cast<const char*>(text), length);
}
void end_of_row(int, void* collector) { static_cast<Collector*>(collector)->end_row(); }

void check_delimiter(const std::string& where, char delimiter) {
  if (delimiter == '"' || delimiter == '\n' || delimiter == '\r' || delimiter == '\0')
    throw UserError(where, "the delimiter must not be a quote or an end of line");
}

}  // namespace

std::size_t Table::column(const std::string& name) const {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) throw UserError("table", str("there is no column '", name, "'", nearest_hint(name, names)));
  return static_cast<std::size_t>(found - names.begin());
}

Table read_csv(const std::filesystem::path& path, const CsvOptions& options) {
  const std::string where = path.string();
  check_delimiter(where, options.delimiter);
  const runtime::InputFile file(path);
  csv_parser parser;
  if (csv_init(&parser, CSV_STRICT | CSV_STRICT_FINI) != 0) throw InternalError("csv", "the parser cannot be made");
  const std::unique_ptr<csv_parser, decltype(&csv_free)> guard(&parser, &csv_free);
  csv_set_delim(&parser, static_cast<unsigned char>(options.delimiter));
  Collector collector{options, {}};
  std::array<std::byte, 1 << 16> block;
  const auto fail = [&](const char* reason) {
    throw UserError(where, str("row ", collector.number + 1, " cannot be read (", reason, "); is a quote missing?"));
  };
  for (std::uint64_t at = 0; at < file.size() && collector.error.empty();) {
    const std::span<std::byte> part = std::span(block).first(std::min<std::uint64_t>(block.size(), file.size() - at));
    file.read(at, part);
    if (csv_parse(&parser, part.data(), part.size(), field, end_of_row, &collector) != part.size()) fail(csv_strerror(csv_error(&parser)));
    at += part.size();
  }
  if (collector.error.empty() && csv_fini(&parser, field, end_of_row, &collector) != 0) fail(csv_strerror(csv_error(&parser)));
  if (!collector.error.empty()) throw UserError(where, collector.error);
  Table& table = collector.table;
  if (table.rows() == 0) throw UserError(where, options.header ? "has no rows behind its header" : "has no rows");
  std::unordered_set<std::string_view> names;
  for (std::size_t i = 0; i < table.names.size(); ++i) {
    if (table.names[i].empty()) throw UserError(where, str("column ", i + 1, " has no name; does the file have a header?"));
    if (!names.insert(table.names[i]).second)
      throw UserError(where, str("two columns are called '", table.names[i], "'; does the file have a header?"));
  }
  return std::move(table);
}

void write_csv(const std::filesystem::path& path, const Table& table, char delimiter) {
  const std::string where = path.string();
  check_delimiter(where, delimiter);
  if (table.columns.size() != table.names.size() ||
      std::any_of(table.columns.begin(), table.columns.end(), [&](const auto& c) { return c.size() != table.rows(); }))
    throw UserError(where, "a table needs a name and as many fields for each column");
  std::string text;
  const auto add = [&](const std::string& value, bool last) {
    const bool quoted = value.find_first_of(std::string("\"\r\n") + delimiter) != std::string::npos ||
                        (!value.empty() && (value.front() == ' ' || value.back() == ' '));
    if (quoted) {
      std::string packed(2 * value.size() + 2, '\0');
      packed.resize(csv_write(packed.data(), packed.size(), value.data(), value.size()));
      text += packed;
    } else {
      text += value;
    }
    text += last ? '\n' : delimiter;
  };
  for (std::size_t c = 0; c < table.names.size(); ++c) add(table.names[c], c + 1 == table.names.size());
  for (std::size_t r = 0; r < table.rows(); ++r)
    for (std::size_t c = 0; c < table.columns.size(); ++c) add(table.columns[c][r], c + 1 == table.columns.size());
  runtime::write_file(path, text);
}

}  // namespace sinter::data
