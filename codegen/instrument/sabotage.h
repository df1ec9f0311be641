// Faults that can be injected into a step, to test that they are found.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sinter::codegen {

struct Sabotage {
  enum class Kind : std::uint8_t {
    none,
    shifted_pointer,  ///< kernel `at` gets its buffer `argument` shifted by one row
    wide_chunk,       ///< each chunk of kernel `at` begins with the last unit of the previous chunk
    no_barrier,       ///< the phase after `at` begins before it is over
    no_step_barrier,  ///< section `argument` of kernel `at`, a loop over time whose steps threads share, begins before the one before it is over
  };
  Kind kind = Kind::none;
  std::size_t at = 0, argument = 0;

  bool is(Kind wanted, std::size_t place) const { return kind == wanted && at == place; }
};

}  // namespace sinter::codegen
