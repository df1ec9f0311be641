// The fixed part of a .sinter file, byte for byte. All numbers are little-endian.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace sinter::runtime {

/// The line end shows a transfer in text mode.
inline constexpr std::array<char, 8> file_magic{'S', 'I', 'N', 'T', 'E', 'R', '\r', '\n'};
inline constexpr std::uint32_t file_version = 1;
inline constexpr std::uint64_t section_alignment = 64;

struct FileHeader {
  std::array<char, 8> magic = file_magic;
  std::uint32_t version = file_version;
  std::uint32_t sections = 0;  ///< entries of the table after the header
  std::uint64_t file_size = 0;
  std::uint64_t checksum = 0;  ///< of header and table, with this field 0
  std::array<std::uint64_t, 4> reserved{};
};
static_assert(sizeof(FileHeader) == 64);

enum class SectionKind : std::uint32_t { index = 1, graph = 2, array = 3 };

struct SectionEntry {
  std::uint32_t kind = 0;
  std::uint32_t reserved = 0;
  std::uint64_t offset = 0;  ///< from the start of the file, a multiple of 64
  std::uint64_t size = 0;
  std::uint64_t checksum = 0;  ///< of the section's bytes
};
static_assert(sizeof(SectionEntry) == 32);

inline constexpr std::uint64_t aligned(std::uint64_t offset) { return (offset + section_alignment - 1) / section_alignment * section_alignment; }

}  // namespace sinter::runtime
