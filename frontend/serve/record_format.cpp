#include "frontend/serve/record_format.h"

#include <algorithm>
#include <array>
#include <unordered_set>
#include <utility>

#include "frontend/core/nearest.h"
#include "frontend/serve/delimited_record.h"
#include "frontend/serve/json_record.h"
#include "ir/error.h"

namespace sinter::serve {

namespace {

constexpr std::array<std::pair<Format, std::string_view>, 3> formats{{{Format::json, "json"}, {Format::delimited, "csv"}, {Format::raw, "raw"}}};

/// For each column whether its name is among these.
std::vector<bool> marked(const std::vector<std::string>& columns, std::span<const std::string> names) {
  std::vector<bool> result;
  for (const std::string& name : columns) result.push_back(std::find(names.begin(), names.end(), name) != names.end());
  return result;
}

}  // namespace

std::string text_of(Format format) {
  for (const auto& [value, name] : formats)
    if (value == format) return std::string(name);
  throw InternalError("stream", "a format without a name");
}

Format format_named(std::string_view name) {
  std::vector<std::string> known;
  for (const auto& [value, its] : formats) {
    if (its == name) return value;
    known.emplace_back(its);
  }
  throw UserError("stream", str("records are json, csv or raw, not '", name, "'", nearest_hint(std::string(name), known)));
}

std::unique_ptr<RecordReader> record_reader(const RecordFormat& format, std::vector<std::string> columns, std::vector<std::string> categories,
                                            std::span<const std::string> numbers) {
  std::unordered_set<std::string_view> seen;
  for (const std::string& name : columns)
    if (!seen.insert(name).second) throw UserError("stream", str("two columns of the records are called '", name, "'; give each a name of its own"));
  switch (format.format) {
    case Format::json:
      return json_reader(columns, marked(columns, categories));
    case Format::delimited:
      return delimited_reader(marked(columns, numbers), format.delimiter);
    default:
      throw UserError("stream", "raw records are numbers without fields; read them as f32");
  }
}

}  // namespace sinter::serve
