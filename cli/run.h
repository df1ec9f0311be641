// The program `sinter` as a function.
#pragma once

#include <string>
#include <vector>

namespace sinter::cli {

/// Runs the command that the arguments name, without the program's own name. Returns the exit status: 0, 1 for what the user can mend, 2 for
/// arguments that do not fit, 3 for a fault of Sinter.
int run(std::vector<std::string> arguments);

}  // namespace sinter::cli
