// Faults that a step can be given, for the tests of what finds such faults.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sinter::codegen {

struct Sabotage {
  enum class Kind : std::uint8_t {
    none,
    shifted_pointer,  ///< kernel `at` gets its buffer `argument` a row too far on
    wide_chunk,       ///< each chunk of kernel `at` begins with the last unit of the chunk before it
    no_barrier,       ///< nobody waits for the others at the end of phase `at`
  };
  Kind kind = Kind::none;
  std::size_t at = 0, argument = 0;

  bool is(Kind wanted, std::size_t place) const { return kind == wanted && at == place; }
};

}  // namespace sinter::codegen
