// A clock that takes a few nanoseconds to read.
#pragma once

#include <cstdint>

#if !defined(__x86_64__)
#include <chrono>
#endif

namespace sinter::runtime {

/// Counts of a clock that all processors share: cycles at the processor's nominal frequency, or nanoseconds.
inline std::uint64_t ticks() {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#else
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1));
#endif
}

}  // namespace sinter::runtime
