#include "frontend/core/random.h"

#include <cmath>
#include <numbers>

namespace sinter {

std::array<std::uint32_t, 4> philox(std::uint64_t key, std::uint64_t counter, std::uint64_t stream) {
  std::array<std::uint32_t, 4> x{static_cast<std::uint32_t>(counter), static_cast<std::uint32_t>(counter >> 32), static_cast<std::uint32_t>(stream),
                                 static_cast<std::uint32_t>(stream >> 32)};
  auto k0 = static_cast<std::uint32_t>(key), k1 = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t{0xD2511F53} * x[0], b = std::uint64_t{0xCD9E8D57} * x[2];
    x = {static_cast<std::uint32_t>(b >> 32) ^ x[1] ^ k0, static_cast<std::uint32_t>(b), static_cast<std::uint32_t>(a >> 32) ^ x[3] ^ k1,
         static_cast<std::uint32_t>(a)};
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  return x;
}

std::uint32_t RandomStream::next() {
  if (left_ == 0) {
    block_ = philox(key_, counter_++, stream_);
    left_ = 4;
  }
  return block_[static_cast<std::size_t>(4 - left_--)];
}

void RandomStream::go_to(std::uint64_t place) {
  counter_ = place / 4;
  left_ = 0;
  for (std::uint64_t i = 0; i < place % 4; ++i) next();
}

double RandomStream::uniform() { return next() * 0x1p-32; }

double RandomStream::normal() {
  const double radius = std::sqrt(-2 * std::log(1 - uniform()));
  return radius * std::cos(2 * std::numbers::pi * uniform());
}

std::uint32_t RandomStream::below(std::uint32_t bound) {
  std::uint64_t product = std::uint64_t{next()} * bound;
  if (static_cast<std::uint32_t>(product) < bound) {
    const std::uint32_t threshold = -bound % bound;
    while (static_cast<std::uint32_t>(product) < threshold) product = std::uint64_t{next()} * bound;
  }
  return static_cast<std::uint32_t>(product >> 32);
}

}  // namespace sinter
