// Sizes of arrays that a file claims to hold.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace sinter::data {

/// Bytes that an array of these extents takes; nothing if an extent is negative or the product needs more than 64 bits.
inline std::optional<std::uint64_t> claimed_bytes(std::span<const std::int64_t> extents, std::uint64_t element_size) {
  std::uint64_t bytes = element_size;
  for (const std::int64_t extent : extents)
    if (extent < 0 || __builtin_mul_overflow(bytes, static_cast<std::uint64_t>(extent), &bytes)) return std::nullopt;
  return bytes;
}

}  // namespace sinter::data
