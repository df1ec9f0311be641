// Counts heap allocations of the whole test program: malloc and its relatives are interposed.
#pragma once

#include <cstdint>

#include "tests/runtime/sanitizers.h"

namespace sinter::runtime {

inline constexpr bool allocations_are_counted = !SINTER_ADDRESS_SANITIZER && !SINTER_THREAD_SANITIZER;

/// Allocations so far, of all threads.
std::int64_t allocations();

}  // namespace sinter::runtime
