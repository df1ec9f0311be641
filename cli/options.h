// Validators of option values. A value is checked as written, on the command line or in a settings file.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace sinter::cli {

/// The upper limit of counts: epochs, rows of a batch.
constexpr std::int64_t most_counted = 1'000'000'000;
constexpr std::int64_t most_threads = 1024;

/// A whole number in [least, most], in decimal digits without leading zeros.
CLI::Validator whole_number(std::int64_t least, std::int64_t most = most_counted);
/// Numbers of threads: a whole number from 0 to most_threads, or several from 1 on, separated by commas.
CLI::Validator thread_counts();
/// Any unsigned 64-bit number.
CLI::Validator seed_number();
/// A number in [least, below) that fits in an f32.
CLI::Validator number(double least, double below = std::numeric_limits<double>::infinity());
/// The same, but greater than 0, also when rounded to f32.
CLI::Validator positive_number();
/// One character that may separate the fields of a line.
CLI::Validator field_separator();
/// Makes a tab of "tab"; to be used with transform().
CLI::Validator tab_by_name();
/// One of these texts, which help shows and completion lists: {a|b}.
CLI::Validator one_of(const std::vector<std::string>& choices);
/// Any text that is not empty.
CLI::Validator not_empty();
/// The same, which help shows as FILE or FOLDER, and completion lists.
CLI::Validator file_name();
CLI::Validator folder_name();

}  // namespace sinter::cli
