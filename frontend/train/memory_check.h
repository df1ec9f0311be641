// Whether a training step fits into memory, before it is run.
#pragma once

#include <string>

namespace sinter {

/// For tests: from now on the limits of memory are read below this folder, which stands for /; "": from the system.
void set_system_files(const std::string& folder);

}  // namespace sinter
