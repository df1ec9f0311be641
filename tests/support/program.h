// Programs as their users start them: what they print, where, and how they end.
#pragma once

#include <functional>
#include <ostream>
#include <string>
#include <vector>

namespace sinter::test {

struct Finished {
  int status = 0;        ///< exit status; 128 and the signal's number, as a shell has it, if a signal ended the program
  std::string out, err;  ///< what it printed on standard output and standard error
};
std::ostream& operator<<(std::ostream& out, const Finished& finished);

/// Runs a program to its end, with no standard input. `prepare` is called in the new process before the program starts: to set its environment,
/// limits and streams.
Finished run(const std::string& program, const std::vector<std::string>& arguments, const std::function<void()>& prepare = {});

}  // namespace sinter::test
