// Archive → bytes.
#include <cstring>
#include <functional>
#include <set>
#include <span>

#include "ir/error.h"
#include "runtime/file/checksum.h"
#include "runtime/file/container.h"
#include "runtime/file/disk.h"
#include "runtime/file/graph.h"
#include "runtime/file/layout.h"
#include "runtime/file/sinter.pb.h"

namespace sinter::runtime {

namespace {

using Bytes = std::span<const std::byte>;
Bytes bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

struct Section {
  SectionKind kind;
  Bytes bytes;
};

void check_name(std::set<std::string>& names, const std::string& where, std::string_view what, const std::string& name) {
  if (name.empty()) throw UserError(where, str("every ", what, " in a file needs a name, got an empty one"));
  if (!names.insert(name).second) throw UserError(where, str("the ", what, " '", name, "' is given twice; use unique names"));
}

void check_array(const NamedArray& array, const std::string& where) {
  const Type type{array.dtype, Shape::fixed(array.shape)};
  check_elements(type);
  const auto size = static_cast<std::size_t>(type.shape.elements().factor()) * size_of(type.dtype);
  if (array.bytes.size() != size)
    throw UserError(where, str("array '", array.name, "' of ", type, " takes ", size, " bytes, got ", array.bytes.size()));
  if (array.dtype == DType::boolean)
    for (const std::byte byte : array.bytes)
      if (byte > std::byte{1})
        throw UserError(where, str("array '", array.name, "' of bool holds ", static_cast<int>(byte), "; a boolean is 0 or 1"));
}

std::string make_index(const Archive& archive, const std::string& where) {
  file::Index index;
  std::set<std::string> graphs, arrays;
  for (const NamedGraph& graph : archive.graphs) {
    check_name(graphs, where, "graph", graph.name);
    index.add_graph(graph.name);
  }
  for (const NamedArray& array : archive.arrays) {
    check_name(arrays, where, "array", array.name);
    check_array(array, where);
    file::Index::Array& entry = *index.add_array();
    entry.set_name(array.name);
    entry.set_dtype(std::string(name(array.dtype)));
    for (const std::int64_t extent : array.shape) entry.add_extent(extent);
    if (entry.ByteSizeLong() > max_record_bytes)
      throw UserError(where, str("the name of an array has ", array.name.size(), " bytes; use a shorter one"));
  }
  for (const auto& [key, value] : archive.metadata) {
    file::Index::Entry& entry = *index.add_metadata();
    entry.set_key(key);
    entry.set_value(value);
  }
  if (index.ByteSizeLong() > max_message_bytes)
    throw UserError(where, str("names and metadata take at most ", max_message_bytes, " bytes in a file, got ", index.ByteSizeLong()));
  return index.SerializeAsString();
}

void write_archive(const Archive& archive, const std::string& where, const std::function<void(Bytes)>& write) {
  const std::string index = make_index(archive, where);
  std::vector<std::string> graphs;
  for (const NamedGraph& graph : archive.graphs) graphs.push_back(serialize_graph(graph.graph, graph.passes));

  std::vector<Section> sections{{SectionKind::index, bytes_of(index)}};
  for (const std::string& graph : graphs) sections.push_back({SectionKind::graph, bytes_of(graph)});
  for (const NamedArray& array : archive.arrays) sections.push_back({SectionKind::array, array.bytes});

  std::vector<std::byte> head(sizeof(FileHeader) + sections.size() * sizeof(SectionEntry));
  std::uint64_t end = head.size();
  for (std::size_t i = 0; i < sections.size(); ++i) {
    const SectionEntry entry{static_cast<std::uint32_t>(sections[i].kind), 0, aligned(end), sections[i].bytes.size(), checksum(sections[i].bytes)};
    std::memcpy(head.data() + sizeof(FileHeader) + i * sizeof entry, &entry, sizeof entry);
    end = entry.offset + entry.size;
  }
  FileHeader header;
  header.sections = static_cast<std::uint32_t>(sections.size());
  header.file_size = end;
  std::memcpy(head.data(), &header, sizeof header);
  header.checksum = checksum(head);
  std::memcpy(head.data(), &header, sizeof header);

  write(head);
  std::uint64_t at = head.size();
  for (const Section& section : sections) {
    constexpr std::array<std::byte, section_alignment> zeros{};
    write(Bytes(zeros).first(aligned(at) - at));
    write(section.bytes);
    at = aligned(at) + section.bytes.size();
  }
}

}  // namespace

void save(const std::filesystem::path& path, const Archive& archive) {
  AtomicFile file(path);
  write_archive(archive, path.string(), [&](Bytes bytes) { file.write(bytes); });
  file.commit();
}

std::string to_bytes(const Archive& archive) {
  std::string result;
  write_archive(archive, "archive", [&](Bytes bytes) { result.append(reinterpret_cast<const char*>(bytes.data()), bytes.size()); });
  return result;
}

}  // namespace sinter::runtime
