// Signals as something to wait for, beside input.
#pragma once

#include <array>
#include <csignal>

namespace sinter::cli {

/// While it lives, SIGINT and SIGTERM ask to stop (a second one ends the program), SIGHUP asks for the model file to be read again, and writing to a
/// closed pipe is an error instead of the end of the program. One at a time.
class StreamSignals {
 public:
  StreamSignals();
  ~StreamSignals();
  StreamSignals(const StreamSignals&) = delete;
  StreamSignals& operator=(const StreamSignals&) = delete;

  /// Can be read from, for poll(), once there was a signal or a call of wake(), until clear().
  int descriptor() const;
  void clear() const;
  /// From any thread.
  void wake() const;
  bool stop_requested() const;
  /// Whether there was a SIGHUP since the last time.
  bool take_reload() const;

 private:
  std::array<struct sigaction, 4> before_{};
};

}  // namespace sinter::cli
