// Whole files and numbers as bytes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

namespace sinter::test {

/// All of a file; empty if it cannot be opened.
inline std::string read_bytes(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
inline void write_bytes(const std::filesystem::path& path, std::string_view bytes) { std::ofstream(path, std::ios::binary) << bytes; }

/// The lowest `size` bytes of a number, the lowest first; at most 8.
inline std::string little_endian(std::uint64_t value, std::size_t size = sizeof(std::uint64_t)) {
  std::string bytes(size, '\0');
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(value >> 8 * i);
  return bytes;
}
/// The highest byte first.
inline std::string big_endian(std::uint32_t value) {
  const std::string bytes = little_endian(value, sizeof value);
  return {bytes.rbegin(), bytes.rend()};
}

}  // namespace sinter::test
