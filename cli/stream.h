// sinter predict --stream: records on standard input, answers on standard output.
#pragma once

#include <cstdint>
#include <string>

namespace sinter::cli {

struct StreamSettings {
  std::string model, format;
  std::string columns;  ///< a list, with commas
  std::string metrics;  ///< file for the counters; none if empty
  char delimiter = ',';
  std::int64_t max_line = 1 << 20;   ///< bytes
  std::int64_t counters_every = 10;  ///< seconds; 0: at the end
};

/// Answers each record until the input ends, or a signal asks to stop. Throws UserError for a model and columns that do not fit, and where reading or
/// writing fails.
void run_stream(const StreamSettings& settings);

}  // namespace sinter::cli
