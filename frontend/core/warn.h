// Warnings: what a caller should know although the work goes on.
#pragma once

#include <functional>
#include <string>

namespace sinter {

/// Receives warnings, one line each.
using Log = std::function<void(const std::string&)>;

/// To the log, or to stderr if there is none.
void warn(const Log& log, const std::string& message);

}  // namespace sinter
