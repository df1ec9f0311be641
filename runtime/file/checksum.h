// XXH64 (xxHash specification 0.1.1): the checksum of file sections. It finds damage, it does not authenticate.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace sinter::runtime {

std::uint64_t checksum(std::span<const std::byte> bytes, std::uint64_t seed = 0);

}  // namespace sinter::runtime
