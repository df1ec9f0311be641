// A program that answers a stream, timed through pipes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace sinter::bench {

struct PipeRun {
  double seconds = 0;        ///< from the first byte of the records to the end of the answers
  double cpu_seconds = 0;    ///< of the program, its start included
  std::size_t bytes = 0;     ///< of answers
  std::size_t newlines = 0;  ///< among them
  int status = 0;            ///< its exit status; 128 and the signal's number if a signal ended it
};

/// Starts the program on the processor `core`, has it answer `first`, so that it is ready, and then `records`. `first_bytes`: of the answer to
/// `first`; 0: a line.
PipeRun run_through_pipe(const std::vector<std::string>& command, int core, std::string_view first, std::size_t first_bytes,
                         std::string_view records);

}  // namespace sinter::bench
