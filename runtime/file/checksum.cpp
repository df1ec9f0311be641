#include "runtime/file/checksum.h"

#include <bit>
#include <cstring>

namespace sinter::runtime {

namespace {

constexpr std::uint64_t p1 = 0x9E3779B185EBCA87, p2 = 0xC2B2AE3D27D4EB4F, p3 = 0x165667B19E3779F9, p4 = 0x85EBCA77C2B2AE63, p5 = 0x27D4EB2F165667C5;

template <class T>
std::uint64_t read(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

std::uint64_t round(std::uint64_t accumulator, std::uint64_t lane) { return std::rotl(accumulator + lane * p2, 31) * p1; }
std::uint64_t merge(std::uint64_t hash, std::uint64_t accumulator) { return (hash ^ round(0, accumulator)) * p1 + p4; }

}  // namespace

std::uint64_t checksum(std::span<const std::byte> bytes, std::uint64_t seed) {
  static_assert(std::endian::native == std::endian::little);
  const std::byte* at = bytes.data();
  std::size_t left = bytes.size();
  std::uint64_t hash = seed + p5;
  if (left >= 32) {
    std::uint64_t lanes[4] = {seed + p1 + p2, seed + p2, seed, seed - p1};
    for (; left >= 32; left -= 32)
      for (std::uint64_t& lane : lanes) {
        lane = round(lane, read<std::uint64_t>(at));
        at += 8;
      }
    hash = std::rotl(lanes[0], 1) + std::rotl(lanes[1], 7) + std::rotl(lanes[2], 12) + std::rotl(lanes[3], 18);
    for (const std::uint64_t lane : lanes) hash = merge(hash, lane);
  }
  hash += bytes.size();
  for (; left >= 8; left -= 8, at += 8) hash = std::rotl(hash ^ round(0, read<std::uint64_t>(at)), 27) * p1 + p4;
  if (left >= 4) {
    hash = std::rotl(hash ^ (read<std::uint32_t>(at) * p1), 23) * p2 + p3;
    left -= 4;
    at += 4;
  }
  for (; left; --left, ++at) hash = std::rotl(hash ^ (read<std::uint8_t>(at) * p5), 11) * p1;
  hash = (hash ^ (hash >> 33)) * p2;
  hash = (hash ^ (hash >> 29)) * p3;
  return hash ^ (hash >> 32);
}

}  // namespace sinter::runtime
