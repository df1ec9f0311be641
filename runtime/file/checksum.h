// XXH64 (xxHash specification 0.1.1): the checksum of file sections. It detects damage, it does not authenticate.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace sinter::runtime {

/// The checksum of bytes that come in pieces.
class Checksum {
 public:
  explicit Checksum(std::uint64_t seed = 0);
  void add(std::span<const std::byte> bytes);
  /// Of all bytes so far.
  std::uint64_t value() const;

 private:
  std::uint64_t seed_, size_ = 0;
  std::array<std::uint64_t, 4> lanes_;
  std::array<std::byte, 32> rest_{};  ///< the last size_ % 32 bytes
};

std::uint64_t checksum(std::span<const std::byte> bytes, std::uint64_t seed = 0);

}  // namespace sinter::runtime
