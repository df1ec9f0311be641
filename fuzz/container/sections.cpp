#include "fuzz/container/sections.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>

#include "runtime/file/checksum.h"
#include "runtime/file/layout.h"

namespace sinter::fuzz {

namespace {

using runtime::FileHeader;
using runtime::SectionEntry;

std::uint64_t checksum(std::string_view bytes) { return runtime::checksum(std::as_bytes(std::span(bytes))); }

template <class T>
T read(std::string_view file, std::size_t at) {
  T value;
  std::memcpy(&value, file.data() + at, sizeof value);
  return value;
}

template <class T>
void write(std::string& file, std::size_t at, const T& value) {
  std::memcpy(file.data() + at, &value, sizeof value);
}

constexpr std::size_t entry_at(std::size_t section) { return sizeof(FileHeader) + section * sizeof(SectionEntry); }

/// As many entries as there is room for.
std::vector<SectionEntry> table_of(std::string_view file) {
  std::vector<SectionEntry> table;
  if (file.size() < sizeof(FileHeader)) return table;
  const auto sections = read<FileHeader>(file, 0).sections;
  for (std::size_t i = 0; i < sections && entry_at(i + 1) <= file.size(); ++i) table.push_back(read<SectionEntry>(file, entry_at(i)));
  return table;
}

bool is_inside(const SectionEntry& entry, std::string_view file) { return entry.offset <= file.size() && entry.size <= file.size() - entry.offset; }

}  // namespace

std::optional<std::vector<Section>> split_file(std::string_view file) {
  const std::vector<SectionEntry> table = table_of(file);
  if (table.empty() || table.size() != read<FileHeader>(file, 0).sections) return std::nullopt;
  std::vector<Section> sections;
  for (const SectionEntry& entry : table) {
    if (!is_inside(entry, file)) return std::nullopt;
    sections.push_back({entry.kind, std::string(file.substr(entry.offset, entry.size))});
  }
  return sections;
}

std::string join_file(const std::vector<Section>& sections) {
  std::string file(entry_at(sections.size()), '\0');
  FileHeader header;
  header.sections = static_cast<std::uint32_t>(sections.size());
  for (std::size_t i = 0; i < sections.size(); ++i) {
    file.resize(runtime::aligned(file.size()));
    write(file, entry_at(i), SectionEntry{sections[i].kind, 0, file.size(), sections[i].bytes.size(), 0});
    file += sections[i].bytes;
  }
  write(file, 0, header);
  repair_file(file);
  return file;
}

void repair_file(std::string& file) {
  const std::vector<SectionEntry> table = table_of(file);
  if (table.empty()) return;
  for (std::size_t i = 0; i < table.size(); ++i) {
    if (!is_inside(table[i], file)) continue;
    const std::uint64_t sum = checksum(std::string_view(file).substr(table[i].offset, table[i].size));
    write(file, entry_at(i) + offsetof(SectionEntry, checksum), sum);
  }
  write(file, offsetof(FileHeader, file_size), std::uint64_t{file.size()});
  write(file, offsetof(FileHeader, checksum), std::uint64_t{0});
  write(file, offsetof(FileHeader, checksum), checksum(std::string_view(file).substr(0, entry_at(table.size()))));
}

}  // namespace sinter::fuzz
