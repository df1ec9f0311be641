// How the table of a training was written, as the model's file remembers it.
#pragma once

#include <sinter/sinter.h>

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

namespace sinter::cli {

/// What a command line says of it; what it leaves out is as the model's data were.
struct CsvSettings {
  std::optional<char> delimiter;
  std::optional<std::string> encoding, quotes, names;  ///< quotes: double or none; names: a list, with commas
};

/// The options that say it; `otherwise` is added to each description.
void add_csv_options(CLI::App& command, CsvSettings& settings, const std::string& otherwise);

/// As read_csv takes it: what is given, else what `otherwise` says.
data::CsvOptions csv_options(const CsvSettings& given, const data::CsvOptions& otherwise = {});

/// As text for the model's file.
std::string to_json(const data::CsvOptions& options);
/// What the file `path` of this model says; the defaults if it says nothing. Throws UserError if it is damaged.
data::CsvOptions csv_options_of(const Trainer& trainer, const std::string& path);

}  // namespace sinter::cli
