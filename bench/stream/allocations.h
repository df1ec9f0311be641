// Counts heap allocations of the whole program.
#pragma once

#include <cstdint>
#include <optional>

namespace sinter::bench {

/// Allocations so far, of all threads and libraries. None in a build with a sanitizer, which has an allocator of its own.
std::optional<std::int64_t> allocations();

}  // namespace sinter::bench
