// Programs as their users start them: what they print, where, and how they end.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

namespace sinter::test {

struct Finished {
  int status = 0;        ///< exit status; 128 and the signal's number, as a shell has it, if a signal ended the program
  std::string out, err;  ///< what it printed on standard output and standard error
};
std::ostream& operator<<(std::ostream& out, const Finished& finished);

/// A program that runs beside the test, with no standard input.
class Started {
 public:
  /// `prepare` is called in the new process before the program starts: to set its environment, limits and streams.
  Started(const std::string& program, const std::vector<std::string>& arguments, const std::function<void()>& prepare = {});
  /// Kills it, if it still runs.
  ~Started();
  Started(const Started&) = delete;
  Started& operator=(const Started&) = delete;

  /// Sends a signal, unless wait() was called.
  void send(int signal) const;
  /// What it has printed on standard error by now.
  std::string err() const;
  /// Waits until it has ended.
  Finished wait();

 private:
  struct Output;
  std::unique_ptr<Output> output_;
  std::atomic<pid_t> process_ = -1;  ///< for send() on any thread
};

/// Runs a program to its end, with no standard input. `prepare` is called in the new process before the program starts: to set its environment,
/// limits and streams.
Finished run(const std::string& program, const std::vector<std::string>& arguments, const std::function<void()>& prepare = {});

}  // namespace sinter::test
