// What fit() prints.
#pragma once

#include <chrono>
#include <cstdint>
#include <iosfwd>
#include <string>

namespace sinter {

/// On a terminal a bar with rate and remaining time, redrawn at most ten times a second; elsewhere nothing until the epoch's line.
class Progress {
 public:
  /// Draws bars only if `terminal`.
  Progress(std::ostream& out, bool terminal, std::int64_t epochs);
  /// `samples` in the epoch; 0: not known.
  void start_epoch(std::int64_t epoch, std::int64_t samples);
  void advance(std::int64_t samples_done, double mean_loss);
  /// Replaces the bar by the epoch's line.
  void end_epoch(const std::string& line);

 private:
  using Clock = std::chrono::steady_clock;
  std::ostream& out_;
  bool terminal_;
  std::int64_t epochs_, epoch_ = 0, samples_ = 0;
  Clock::time_point start_, drawn_;
};

/// Whether standard output is a terminal.
bool stdout_is_terminal();

}  // namespace sinter
