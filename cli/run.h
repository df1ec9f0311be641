// The program `sinter` as a function.
#pragma once

#include <string>
#include <vector>

namespace sinter::cli {

/// Runs the command that the arguments name, without the program's own name. Returns the exit status: 0, 1 for what the user can fix, 2 for
/// invalid arguments, 3 for a bug in Sinter.
int run(std::vector<std::string> arguments);

}  // namespace sinter::cli
