// Other programs that a series starts.
#pragma once

#include <string>
#include <vector>

namespace sinter::published {

/// Runs a program, whose first word is its path, and waits for it; what it prints on stdout is dropped. Throws UserError for one that cannot be
/// started or fails.
void run_program(const std::vector<std::string>& words);

}  // namespace sinter::published
