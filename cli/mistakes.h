// What is wrong with a command line, in the form of all errors.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace sinter::cli {

/// An error of the parser as `[where] rule, actual values; next step`, where `where` is the option or the command.
std::string mistake_text(const CLI::ParseError& error, const CLI::App& app);

}  // namespace sinter::cli
