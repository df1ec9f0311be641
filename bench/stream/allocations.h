// Counts heap allocations of the whole program.
#pragma once

#include <cstdint>

namespace sinter::bench {

/// Allocations so far, of all threads and libraries.
std::int64_t allocations();

}  // namespace sinter::bench
