// Bytes → archive. Nothing in the bytes is trusted.
#include <algorithm>
#include <array>
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
#include "runtime/file/wire.h"

namespace sinter::runtime {

namespace {

constexpr std::string_view copy_again = "; the file is damaged, copy or save it again";

/// The bytes of a file, however they are held.
struct Source {
  std::string where;
  std::uint64_t size = 0;
  std::function<void(std::uint64_t offset, std::span<std::byte> into)> read;

  [[noreturn]] void fail(const std::string& message) const { throw UserError(where, message); }
};

FileHeader read_header(const Source& source) {
  if (source.size < sizeof(FileHeader))
    source.fail(
        str("is no Sinter file: the header takes ", sizeof(FileHeader), " bytes, the file has ", source.size, "; check the path or copy it again"));
  FileHeader header;
  source.read(0, std::as_writable_bytes(std::span(&header, 1)));
  if (header.magic != file_magic) {
    const bool text_mode = std::equal(file_magic.begin(), file_magic.begin() + 6, header.magic.begin());
    source.fail(text_mode ? "is a Sinter file that was changed at byte 6 by a transfer in text mode; copy it as binary"
                          : "is no Sinter file: it does not begin with 'SINTER'; check the path");
  }
  if (header.version != file_version)
    source.fail(
        str("format version ", header.version, " is unknown, this build reads version ", file_version, "; update Sinter or save the file again"));
  if (header.file_size != source.size)
    source.fail(str("the header (byte 16) says that the file has ", header.file_size, " bytes, it has ", source.size, copy_again));
  const std::uint64_t most = (source.size - sizeof(FileHeader)) / sizeof(SectionEntry);
  if (header.sections == 0) source.fail(str("the header (byte 12) counts no sections; the first is the index", copy_again));
  if (header.sections > most)
    source.fail(str("the header (byte 12) counts ", header.sections, " sections, but there is room for ", most, copy_again));
  return header;
}

std::vector<SectionEntry> read_table(const Source& source, FileHeader header) {
  std::vector<SectionEntry> table(header.sections);
  std::vector<std::byte> head(sizeof(FileHeader) + table.size() * sizeof(SectionEntry));
  source.read(0, head);
  std::memcpy(table.data(), head.data() + sizeof(FileHeader), head.size() - sizeof(FileHeader));
  std::memset(head.data() + offsetof(FileHeader, checksum), 0, sizeof header.checksum);
  if (checksum(head) != header.checksum) source.fail(str("the checksum of header and section table (byte 24) is wrong", copy_again));
  if (header.reserved != decltype(header.reserved){})
    source.fail("reserved bytes 32 to 63 of the header are not 0; the file is from a newer version of Sinter");
  return table;
}

/// Sections lie in the order of the table, each on the next multiple of 64, with zeros between; the file ends with the last.
void check_table(const Source& source, const std::vector<SectionEntry>& table) {
  std::uint64_t end = sizeof(FileHeader) + table.size() * sizeof(SectionEntry);
  for (std::size_t i = 0; i < table.size(); ++i) {
    const SectionEntry& entry = table[i];
    const std::string section = str("section ", i, " (table entry at byte ", sizeof(FileHeader) + i * sizeof(SectionEntry), ")");
    if (entry.kind < 1 || entry.kind > 3 || entry.reserved) source.fail(str(section, " is of the unknown kind ", entry.kind, "; update Sinter"));
    if ((entry.kind == static_cast<std::uint32_t>(SectionKind::index)) != (i == 0))
      source.fail(str(section, ": the first section, and no other, is the index", copy_again));
    if (entry.offset % section_alignment)
      source.fail(str(section, " begins at byte ", entry.offset, ", no multiple of ", section_alignment, copy_again));
    if (entry.offset < end) source.fail(str(section, " begins at byte ", entry.offset, " and overlaps what ends at byte ", end, copy_again));
    if (entry.offset != aligned(end))
      source.fail(str(section, " begins at byte ", entry.offset, ", not at ", aligned(end), " behind the one before it", copy_again));
    if (entry.offset > source.size || entry.size > source.size - entry.offset)
      source.fail(str(section, " has ", entry.size, " bytes from byte ", entry.offset, " on, but the file ends at ", source.size, copy_again));
    if (entry.kind != static_cast<std::uint32_t>(SectionKind::array) && entry.size > max_message_bytes)
      source.fail(str(section, " has ", entry.size, " bytes; the index and each graph have at most ", max_message_bytes));
    std::array<std::byte, section_alignment> gap{};
    const auto padding = std::span(gap).first(entry.offset - end);
    source.read(end, padding);
    if (std::any_of(padding.begin(), padding.end(), [](std::byte b) { return b != std::byte{0}; }))
      source.fail(str("the padding before ", section, " is not 0", copy_again));
    end = entry.offset + entry.size;
  }
  if (end != source.size) source.fail(str("the last section ends at byte ", end, ", the file at ", source.size, copy_again));
}

/// `into` has the size of the section.
void read_section(const Source& source, const SectionEntry& entry, std::size_t index, std::span<std::byte> into) {
  source.read(entry.offset, into);
  if (checksum(into) != entry.checksum)
    source.fail(str("the checksum of section ", index, " (bytes ", entry.offset, " to ", entry.offset + entry.size, ") is wrong", copy_again));
}

std::string read_message(const Source& source, const SectionEntry& entry, std::size_t index) {
  std::string bytes(entry.size, '\0');
  read_section(source, entry, index, std::as_writable_bytes(std::span(bytes)));
  return bytes;
}

void check_name(const Source& source, std::set<std::string>& names, std::string_view what, const std::string& name) {
  if (name.empty()) source.fail(str("the index names a ", what, " with an empty name", copy_again));
  if (!names.insert(name).second) source.fail(str("the ", what, " '", name, "' is in the index twice", copy_again));
}

/// An array without its bytes.
NamedArray describe_array(const Source& source, FieldReader& reader, std::string_view payload, std::size_t number) {
  const std::string part = str("array ", number, " of the index");
  file::Index::Array message;
  if (payload.size() > max_record_bytes || !message.ParseFromArray(payload.data(), static_cast<int>(payload.size())) ||
      !message.GetReflection()->GetUnknownFields(message).empty())
    reader.fail(str(part, " is no valid message"));
  NamedArray array{message.name(), DType::f32, {message.extent().begin(), message.extent().end()}, {}};
  try {
    array.dtype = parse_dtype(message.dtype());
    if (Shape::fixed(array.shape).elements().factor() > max_elements) throw UserError(str("has more than ", max_elements, " elements"));
  } catch (const UserError& error) {
    source.fail(str(part, " ('", array.name, "'): ", error.what()));
  }
  return array;
}

/// Fills in names, descriptions and metadata.
Archive read_index(const Source& source, const SectionEntry& entry, std::size_t graph_count, std::size_t array_count) {
  const std::string bytes = read_message(source, entry, 0);
  FieldReader reader(bytes, source.where);
  Archive archive;
  std::set<std::string> graphs, arrays;
  while (reader.next()) {
    const std::string_view payload = reader.payload();
    switch (reader.field()) {
      case file::Index::kGraphFieldNumber:
        if (archive.graphs.size() == graph_count) reader.fail(str("the index names more graphs than the ", graph_count, " graph sections"));
        archive.graphs.push_back({std::string(payload), ir::Graph(), {}});
        check_name(source, graphs, "graph", archive.graphs.back().name);
        break;
      case file::Index::kArrayFieldNumber:
        if (archive.arrays.size() == array_count) reader.fail(str("the index names more arrays than the ", array_count, " array sections"));
        archive.arrays.push_back(describe_array(source, reader, payload, archive.arrays.size()));
        check_name(source, arrays, "array", archive.arrays.back().name);
        break;
      case file::Index::kMetadataFieldNumber: {
        file::Index::Entry message;
        if (!message.ParseFromArray(payload.data(), static_cast<int>(payload.size())) || !message.GetReflection()->GetUnknownFields(message).empty())
          reader.fail(str("metadata entry ", archive.metadata.size(), " is no valid message"));
        if (!archive.metadata.emplace(message.key(), message.value()).second)
          source.fail(str("the metadata '", message.key(), "' is in the index twice", copy_again));
        break;
      }
      default:
        reader.fail(str("field ", reader.field(), " of the index is unknown"));
    }
  }
  if (archive.graphs.size() != graph_count)
    reader.fail(str("the index names ", archive.graphs.size(), " graphs, there are ", graph_count, " graph sections"));
  if (archive.arrays.size() != array_count)
    reader.fail(str("the index names ", archive.arrays.size(), " arrays, there are ", array_count, " array sections"));
  return archive;
}

void read_array(const Source& source, const SectionEntry& entry, std::size_t index, NamedArray& array) {
  const Shape shape = Shape::fixed(array.shape);
  const std::uint64_t size = static_cast<std::uint64_t>(shape.elements().factor()) * size_of(array.dtype);
  if (entry.size != size)
    source.fail(str("array '", array.name, "' is ", array.dtype, shape, ", which takes ", size, " bytes, but section ", index, " at byte ",
                    entry.offset, " has ", entry.size, copy_again));
  array.bytes.resize(size);
  read_section(source, entry, index, array.bytes);
  if (array.dtype == DType::boolean && std::any_of(array.bytes.begin(), array.bytes.end(), [](std::byte b) { return b > std::byte{1}; }))
    source.fail(str("array '", array.name, "' of bool holds a value other than 0 and 1", copy_again));
}

Archive read_archive(const Source& source) {
  const std::vector<SectionEntry> table = read_table(source, read_header(source));
  check_table(source, table);
  const auto count = [&](SectionKind kind) {
    return static_cast<std::size_t>(
        std::count_if(table.begin(), table.end(), [&](const SectionEntry& e) { return e.kind == static_cast<std::uint32_t>(kind); }));
  };
  Archive archive = read_index(source, table[0], count(SectionKind::graph), count(SectionKind::array));
  std::size_t graph = 0, array = 0;
  for (std::size_t i = 1; i < table.size(); ++i) {
    if (table[i].kind == static_cast<std::uint32_t>(SectionKind::array)) {
      read_array(source, table[i], i, archive.arrays[array++]);
    } else {
      NamedGraph& target = archive.graphs[graph++];
      ParsedGraph parsed = parse_graph(read_message(source, table[i], i), str(source.where, ", graph '", target.name, "'"));
      target.graph = std::move(parsed.graph);
      target.passes = std::move(parsed.passes);
    }
  }
  return archive;
}

template <class Items>
auto find(const Items& items, std::string_view name) -> const typename Items::value_type* {
  const auto found = std::find_if(items.begin(), items.end(), [&](const auto& item) { return item.name == name; });
  return found == items.end() ? nullptr : &*found;
}

}  // namespace

const NamedGraph* Archive::find_graph(std::string_view name) const { return find(graphs, name); }
const NamedArray* Archive::find_array(std::string_view name) const { return find(arrays, name); }

Archive load(const std::filesystem::path& path) {
  const InputFile file(path);
  return read_archive({path.string(), file.size(), [&](std::uint64_t offset, std::span<std::byte> into) { file.read(offset, into); }});
}

Archive from_bytes(std::string_view bytes, const std::string& where) {
  return read_archive({where, bytes.size(), [&](std::uint64_t offset, std::span<std::byte> into) {
                         std::copy_n(std::as_bytes(std::span(bytes)).begin() + static_cast<std::ptrdiff_t>(offset), into.size(), into.begin());
                       }});
}

}  // namespace sinter::runtime
