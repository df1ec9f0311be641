// Counts heap allocations of the whole test program: malloc and its relatives are interposed.
#pragma once

#include <cstdint>

namespace sinter::runtime {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool allocations_are_counted = false;
#else
inline constexpr bool allocations_are_counted = true;
#endif

/// Allocations so far, of all threads.
std::int64_t allocations();

}  // namespace sinter::runtime
