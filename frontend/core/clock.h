#pragma once
#include <chrono>

namespace sinter {

using Clock = std::chrono::steady_clock;

/// Seconds that have passed since `start`.
inline double since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

}  // namespace sinter
