// A .sinter file taken apart and put together again, as docs/file-format.md has it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sinter::fuzz {

struct Section {
  std::uint32_t kind = 0;
  std::string bytes;
};

/// Nothing if header and table do not describe sections within the file; checksums are not looked at.
std::optional<std::vector<Section>> split_file(std::string_view file);
/// With all offsets, sizes and checksums right.
std::string join_file(const std::vector<Section>& sections);
/// Makes the size of the file and all checksums right where the table says that sections are, and leaves all else.
void repair_file(std::string& file);

}  // namespace sinter::fuzz
