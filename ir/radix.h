// How top_k orders whole rows: the least significant digits of its keys first, each time keeping the order of equal ones.
#pragma once

#include <bit>
#include <cstdint>

namespace sinter::ir {

inline constexpr int radix_passes = 3, radix_bits = 11;
inline constexpr std::int64_t radix_size = std::int64_t{1} << radix_bits;
static_assert(radix_passes * radix_bits >= 32);

/// Whether that costs less than a heap of the best k of so many elements: it counts digits, and a heap takes up to log k steps an element.
constexpr bool orders_whole_rows(std::int64_t k, std::int64_t elements) { return k >= 64 && elements >= 256; }

/// Least for what top_k has first: NaN, then greater before lower; the same for elements that are equal.
inline std::uint32_t order_key(float x) {
  if (x != x) return 0;
  const auto bits = x == 0 ? 0 : std::bit_cast<std::uint32_t>(x);
  return bits >> 31 ? bits : bits ^ 0x7fffffffu;
}
constexpr std::uint32_t order_key(std::uint32_t x) { return ~x; }
constexpr std::uint32_t order_key(std::int32_t x) { return static_cast<std::uint32_t>(x) ^ 0x7fffffffu; }

}  // namespace sinter::ir
