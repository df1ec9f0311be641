// Counts heap allocations of the whole test program, and bounds them: malloc and its relatives are interposed, those of libraries too.
#pragma once

#include <cstdint>

#include "ir/sanitizers.h"

namespace sinter::test {

inline constexpr bool allocations_are_counted = !SINTER_ADDRESS_SANITIZER && !SINTER_THREAD_SANITIZER;

/// Allocations so far, of all threads.
std::int64_t allocations();

/// While it lives, no more than so many bytes are given out, all requests together, freed or not: a request that goes beyond gets no memory. One at a
/// time.
class AllocationLimit {
 public:
  explicit AllocationLimit(std::int64_t bytes);
  ~AllocationLimit();
  AllocationLimit(const AllocationLimit&) = delete;
  AllocationLimit& operator=(const AllocationLimit&) = delete;

  std::int64_t used() const;     ///< bytes given out so far
  std::int64_t refused() const;  ///< the largest request that was refused; 0 if there was none
};

}  // namespace sinter::test
