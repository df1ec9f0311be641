// What the tests of files share: an archive of everything, its bytes taken apart and put together again, and a Protobuf writer of a few lines, to
// write what Sinter never would.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "runtime/file/checksum.h"
#include "runtime/file/container.h"
#include "runtime/file/layout.h"

namespace sinter::runtime {

/// With memory of its own.
template <class T>
NamedArray array(std::string name, DType dtype, std::vector<std::int64_t> shape, const std::vector<T>& values) {
  NamedArray result{std::move(name), dtype, std::move(shape), {}, Buffer::zeroed(aligned(values.size() * sizeof(T)))};
  if (!values.empty()) std::memcpy(result.memory.data(), values.data(), values.size() * sizeof(T));
  result.bytes = {result.memory.data(), values.size() * sizeof(T)};
  return result;
}

inline Archive sample() {
  Archive archive;
  ir::Graph graph("step");
  const ir::Value x = graph.add_input({"x", {DType::f32, {Dim::batch(), 3}}});
  const ir::Value w = graph.add_state({"w", {DType::f32, {3, 2}}, true});
  graph.add_output(matmul(x, w));
  archive.graphs.push_back({"train_step", graph, {"fold_bias"}});
  archive.graphs.push_back({"predict", graph, {}});
  archive.arrays.push_back(array<float>("w", DType::f32, {3, 2}, {1, 2, 3, 4, 5, 6}));
  archive.arrays.push_back(array<std::uint32_t>("order", DType::u32, {5}, {4, 0, 3, 1, 2}));
  archive.arrays.push_back(array<std::uint8_t>("mask", DType::boolean, {3}, {1, 0, 1}));
  archive.arrays.push_back(array<std::int32_t>("count", DType::i32, {}, {-7}));
  archive.arrays.push_back(array<std::uint8_t>("nothing", DType::u8, {0, 4}, {}));
  archive.metadata = {{"epoch", "12"}, {"empty", ""}, {"", "no key"}};
  return archive;
}

// ---- the container ----
inline FileHeader header_of(const std::string& bytes) {
  FileHeader header;
  std::memcpy(&header, bytes.data(), sizeof header);
  return header;
}
inline SectionEntry entry_of(const std::string& bytes, std::size_t index) {
  SectionEntry entry;
  std::memcpy(&entry, bytes.data() + sizeof(FileHeader) + index * sizeof entry, sizeof entry);
  return entry;
}
inline std::span<const std::byte> part(const std::string& bytes, std::uint64_t from, std::uint64_t size) {
  return std::as_bytes(std::span(bytes)).subspan(from, size);
}

/// Makes all checksums right again, so that a damaged field is met by its own check.
inline std::string sealed(std::string bytes) {
  if (bytes.size() < sizeof(FileHeader)) return bytes;
  FileHeader header = header_of(bytes);
  for (std::size_t i = 0; i < header.sections && sizeof(FileHeader) + (i + 1) * sizeof(SectionEntry) <= bytes.size(); ++i) {
    SectionEntry entry = entry_of(bytes, i);
    if (entry.offset > bytes.size() || entry.size > bytes.size() - entry.offset) continue;
    entry.checksum = checksum(part(bytes, entry.offset, entry.size));
    std::memcpy(bytes.data() + sizeof(FileHeader) + i * sizeof entry, &entry, sizeof entry);
  }
  header.checksum = 0;
  std::memcpy(bytes.data(), &header, sizeof header);
  const std::uint64_t head = sizeof header + header.sections * sizeof(SectionEntry);
  if (head <= bytes.size()) header.checksum = checksum(part(bytes, 0, head));
  std::memcpy(bytes.data(), &header, sizeof header);
  return bytes;
}

/// A file of these sections, whatever they hold.
inline std::string file_of(const std::vector<std::pair<SectionKind, std::string>>& sections) {
  FileHeader header;
  header.sections = static_cast<std::uint32_t>(sections.size());
  std::string bytes(sizeof header + sections.size() * sizeof(SectionEntry), '\0');
  for (std::size_t i = 0; i < sections.size(); ++i) {
    bytes.resize(aligned(bytes.size()));
    const SectionEntry entry{static_cast<std::uint32_t>(sections[i].first), 0, bytes.size(), sections[i].second.size(), 0};
    std::memcpy(bytes.data() + sizeof header + i * sizeof entry, &entry, sizeof entry);
    bytes += sections[i].second;
  }
  header.file_size = bytes.size();
  std::memcpy(bytes.data(), &header, sizeof header);
  return sealed(std::move(bytes));
}

// ---- Protobuf ----
inline std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
  return bytes + static_cast<char>(value);
}
inline std::string field(int number, const std::string& payload) {
  return varint(static_cast<std::uint64_t>(number) << 3 | 2) + varint(payload.size()) + payload;
}
inline std::string numbers(std::initializer_list<std::uint64_t> values) {
  std::string bytes;
  for (const auto value : values) bytes += varint(value);
  return bytes;
}
inline std::string node(const std::string& op, std::initializer_list<std::uint64_t> operands, const std::string& rest = {}) {
  return field(3, field(1, op) + field(2, numbers(operands)) + rest);
}
inline std::string input(const std::string& name, const std::string& dtype, const std::string& shape, const std::string& kind) {
  return node("input", {}, field(7, field(1, name) + field(2, dtype) + field(3, shape) + field(4, kind)));
}
inline std::string state(const std::string& name, const std::string& shape) {
  return node("state", {}, field(8, field(1, name) + field(2, "f32") + field(3, shape)));
}
/// An attribute with the field `number` of the message: a double (3), or a text.
inline std::string attribute(const std::string& name, double value) {
  std::string bytes(1, static_cast<char>(4 << 3 | 1));
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  return field(3, field(1, name) + bytes);
}
inline std::string attribute(const std::string& name, std::int64_t value) {
  const auto zigzag = static_cast<std::uint64_t>(value) << 1 ^ static_cast<std::uint64_t>(value >> 63);
  return field(3, field(1, name) + std::string(1, 3 << 3) + varint(zigzag));
}
inline std::string attribute(const std::string& name, int number, const std::string& text) { return field(3, field(1, name) + field(number, text)); }

}  // namespace sinter::runtime
