#include "cli/csv_format.h"

#include <nlohmann/json.hpp>

#include "cli/options.h"
#include "cli/task.h"

namespace sinter::cli {

void add_csv_options(CLI::App& command, CsvSettings& s, const std::string& otherwise) {
  command.add_option("--delimiter", s.delimiter, "Separator between the fields of the file; tab is one" + otherwise)
      ->transform(tab_by_name())
      ->check(field_separator());
  command.add_option("--quotes", s.quotes, "double: fields may be quoted; none: quotes are characters, as in most files with tabs" + otherwise)
      ->check(one_of({"double", "none"}));
  command.add_option("--names", s.names, "Names of the columns of a file without a header, a list with commas" + otherwise)->check(not_empty());
  command.add_option("--encoding", s.encoding, "Encoding of the file, as iconv names it: utf-8, latin1, cp1252, ..." + otherwise)->check(not_empty());
}

data::CsvOptions csv_options(const CsvSettings& given, const data::CsvOptions& otherwise) {
  data::CsvOptions options = otherwise;
  if (given.delimiter) options.delimiter = *given.delimiter;
  if (given.encoding) options.encoding = *given.encoding;
  if (given.quotes) options.quotes = *given.quotes == "double";
  if (given.names) options.names = parts_of(*given.names);
  return options;
}

std::string to_json(const data::CsvOptions& options) {
  const nlohmann::ordered_json json{
      {"delimiter", std::string(1, options.delimiter)}, {"encoding", options.encoding}, {"quotes", options.quotes}, {"names", options.names}};
  return json.dump();
}

data::CsvOptions csv_options_of(const Trainer& trainer, const std::string& path) {
  data::CsvOptions options;
  if (!trainer.has_metadata("csv")) return options;
  const std::string& text = trainer.metadata("csv");
  try {
    constexpr int deepest = 2;
    check_json_depth(text, deepest, path);
    const nlohmann::json json = nlohmann::json::parse(text);
    const std::string delimiter = json.at("delimiter");
    if (delimiter.size() != 1)
      throw UserError(path, str("the entry 'csv' has a delimiter of ", delimiter.size(), " characters; the file is damaged"));
    options.delimiter = delimiter[0];
    options.encoding = json.at("encoding");
    options.quotes = json.at("quotes");
    options.names = json.at("names").get<std::vector<std::string>>();
    return options;
  } catch (const nlohmann::json::exception& error) {
    throw UserError(path, str("the entry 'csv' is damaged (", error.what(), ")"));
  }
}

}  // namespace sinter::cli
