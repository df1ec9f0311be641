#include "fuzz/program/choices.h"

#include "frontend/core/random.h"

namespace sinter::fuzz {

std::vector<std::uint8_t> bytes_of_seed(std::uint64_t seed) {
  RandomStream random(seed, 0);
  std::vector<std::uint8_t> bytes(64 + random.below(448));
  for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random.next());
  return bytes;
}

}  // namespace sinter::fuzz
