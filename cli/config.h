// Settings of a command from a JSON file.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace sinter::cli {

/// Adds the option --config to a command; `path` receives the file's name.
void add_config(CLI::App& command, std::string& path);

/// The arguments of a command line, with the settings of the file of --config inserted after the command's name: later options win. Keys are those of
/// the options: {"hidden": [64, 32], "epochs": 20, "eager": true}. Throws UserError for a file that is missing or no JSON object, for an unknown key
/// (with the nearest) and for values that are not numbers, texts, booleans or lists of these.
std::vector<std::string> with_config(std::vector<std::string> arguments, const CLI::App& app);

}  // namespace sinter::cli
