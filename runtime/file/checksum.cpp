#include "runtime/file/checksum.h"

#include <algorithm>
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

Checksum::Checksum(std::uint64_t seed) : seed_(seed), lanes_{seed + p1 + p2, seed + p2, seed, seed - p1} {}

void Checksum::add(std::span<const std::byte> bytes) {
  static_assert(std::endian::native == std::endian::little);
  const auto take = [this](const std::byte* block) {
    for (std::uint64_t& lane : lanes_) {
      lane = round(lane, read<std::uint64_t>(block));
      block += sizeof lane;
    }
  };
  const std::size_t waiting = size_ % rest_.size();
  size_ += bytes.size();
  if (waiting) {
    const auto head = bytes.first(std::min(bytes.size(), rest_.size() - waiting));
    std::copy(head.begin(), head.end(), rest_.begin() + static_cast<std::ptrdiff_t>(waiting));
    if (waiting + head.size() < rest_.size()) return;
    take(rest_.data());
    bytes = bytes.subspan(head.size());
  }
  for (; bytes.size() >= rest_.size(); bytes = bytes.subspan(rest_.size())) take(bytes.data());
  std::copy(bytes.begin(), bytes.end(), rest_.begin());
}

std::uint64_t Checksum::value() const {
  std::uint64_t hash = seed_ + p5;
  if (size_ >= rest_.size()) {
    hash = std::rotl(lanes_[0], 1) + std::rotl(lanes_[1], 7) + std::rotl(lanes_[2], 12) + std::rotl(lanes_[3], 18);
    for (const std::uint64_t lane : lanes_) hash = merge(hash, lane);
  }
  hash += size_;
  const std::byte* at = rest_.data();
  std::size_t left = size_ % rest_.size();
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

std::uint64_t checksum(std::span<const std::byte> bytes, std::uint64_t seed) {
  Checksum sum(seed);
  sum.add(bytes);
  return sum.value();
}

}  // namespace sinter::runtime
