// The model and the records of the measurements of streams.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace sinter::bench {

/// Numbers of a record.
inline constexpr std::int64_t record_numbers = 30;

/// Trains two classifiers of 30 numbers, with a hidden layer of 32, for a few steps: one of a table, one of arrays.
void write_models(const std::string& of_table, const std::string& of_arrays);

/// So many records: "raw"; "json", objects by names; "csv", without a header. They repeat after some thousands.
std::string records(std::string_view format, std::size_t count);
/// The names of the numbers, with commas.
std::string record_names();
/// Lines of JSON, most of which have a few bytes changed, left out or repeated.
std::string damaged_records(std::size_t count);

}  // namespace sinter::bench
