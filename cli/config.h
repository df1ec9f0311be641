// Settings of a command from a JSON file.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace sinter::cli {

/// Gives a command the option --config; `path` becomes the file's name.
void add_config(CLI::App& command, std::string& path);

/// The arguments of a command line, with what the file behind --config says put behind the command's name: options that follow win. Keys are those of
/// the options: {"hidden": [64, 32], "epochs": 20, "eager": true}. Throws UserError for a file that is missing or no JSON object, for an unknown key
/// (with the nearest) and for values that are no numbers, texts, truth values or lists of these.
std::vector<std::string> with_config(std::vector<std::string> arguments, const CLI::App& app);

}  // namespace sinter::cli
