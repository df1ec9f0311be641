// Counts heap allocations of the whole test program: malloc and its relatives are interposed.
#pragma once

#include <cstdint>

#include "tests/support/sanitizers.h"

namespace sinter::test {

inline constexpr bool allocations_are_counted = !SINTER_ADDRESS_SANITIZER && !SINTER_THREAD_SANITIZER;

/// Allocations so far, of all threads.
std::int64_t allocations();

}  // namespace sinter::test
