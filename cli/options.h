// What the values of options must be. A value is checked as it was written, on the command line or in a settings file.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <limits>

namespace sinter::cli {

/// More than anything here is counted to: epochs, rows of a batch.
constexpr std::int64_t most_counted = 1'000'000'000;
constexpr std::int64_t most_threads = 1024;

/// A whole number in [least, most], in decimal digits without zeros before them.
CLI::Validator whole_number(std::int64_t least, std::int64_t most = most_counted);
/// Any number that 64 bits without a sign hold.
CLI::Validator seed_number();
/// A number in [least, below), which an f32 holds.
CLI::Validator number(double least, double below = std::numeric_limits<double>::infinity());
/// The same, and not 0, in an f32 neither.
CLI::Validator positive_number();
/// One character that may stand between the fields of a line.
CLI::Validator field_separator();
/// Any text but an empty one.
CLI::Validator not_empty();

}  // namespace sinter::cli
