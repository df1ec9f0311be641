// Bytes → archive. Nothing in the bytes is trusted.
#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <memory>
#include <set>
#include <span>

#include "ir/error.h"
#include "ir/layout.h"
#include "runtime/file/checksum.h"
#include "runtime/file/container.h"
#include "runtime/file/disk.h"
#include "runtime/file/graph.h"
#include "runtime/file/layout.h"
#include "runtime/file/mapped_file.h"
#include "runtime/file/sinter.pb.h"
#include "runtime/file/wire.h"
#include "runtime/interpreter.h"

namespace sinter::runtime {

namespace {

constexpr std::string_view copy_again = "; the file is damaged, copy or save it again";

/// The bytes of a file, in a mapping or in memory. Everything that is checked is read, so that a truncated file or a failing disk is an error and
/// not a signal; only arrays with a right checksum are then used in place.
struct Source {
  std::string where;
  std::uint64_t size = 0;
  std::function<void(std::uint64_t offset, std::span<std::byte> into)> read;
  std::function<std::shared_ptr<MappedFile>()> map;

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
                          : "is no Sinter file: it does not begin with 'SINTER' (byte 0); check the path");
  }
  if (header.version != file_version)
    source.fail(str("format version ", header.version, " (byte 8) is unknown, this build reads version ", file_version,
                    "; update Sinter or save the file again"));
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

/// Sections are in the order of the table, each at the next multiple of 64, with zeros between; the file ends with the last.
void check_table(const Source& source, const std::vector<SectionEntry>& table) {
  std::uint64_t end = sizeof(FileHeader) + table.size() * sizeof(SectionEntry);
  for (std::size_t i = 0; i < table.size(); ++i) {
    const SectionEntry& entry = table[i];
    const std::string section = str("section ", i, " (table entry at byte ", sizeof(FileHeader) + i * sizeof(SectionEntry), ")");
    if (entry.kind < 1 || entry.kind > 3) source.fail(str(section, " is of the unknown kind ", entry.kind, "; update Sinter"));
    if (entry.reserved) source.fail(str(section, " has the reserved field ", entry.reserved, ", not 0; the file is from a newer version of Sinter"));
    if ((entry.kind == static_cast<std::uint32_t>(SectionKind::index)) != (i == 0))
      source.fail(str(section, ": the first section, and no other, is the index", copy_again));
    if (entry.offset % section_alignment)
      source.fail(str(section, " begins at byte ", entry.offset, ", no multiple of ", section_alignment, copy_again));
    if (entry.offset < end) source.fail(str(section, " begins at byte ", entry.offset, " and overlaps the part that ends at byte ", end, copy_again));
    if (entry.offset != aligned(end))
      source.fail(str(section, " begins at byte ", entry.offset, ", not at ", aligned(end), " after the previous one", copy_again));
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

std::string section_text(const SectionEntry& entry, std::size_t index) {
  return str("section ", index, " (bytes ", entry.offset, " to ", entry.offset + entry.size, ")");
}

/// Passes the section's bytes piece by piece to f and verifies their checksum.
template <class F>
void read_section(const Source& source, const SectionEntry& entry, std::size_t index, F&& f) {
  constexpr std::uint64_t most = std::uint64_t{256} << 10;
  std::vector<std::byte> piece(std::min(entry.size, most));
  Checksum sum;
  for (std::uint64_t at = 0; at < entry.size; at += most) {
    const auto part = std::span(piece).first(std::min(entry.size - at, most));
    source.read(entry.offset + at, part);
    sum.add(part);
    f(std::span<const std::byte>(part));
  }
  if (sum.value() != entry.checksum) source.fail(str("the checksum of ", section_text(entry, index), " is wrong", copy_again));
}

std::string read_message(const Source& source, const SectionEntry& entry, std::size_t index) {
  std::string bytes;
  bytes.reserve(entry.size);
  read_section(source, entry, index, [&](auto part) { bytes.append(reinterpret_cast<const char*>(part.data()), part.size()); });
  return bytes;
}

/// The index while it is being read.
struct Index {
  Archive archive;
  FieldReader reader;
  std::set<std::string, std::less<>> graphs = {}, arrays = {};

  void check_name(std::set<std::string, std::less<>>& names, std::string_view what, const std::string& name) const {
    if (name.empty()) reader.fail(str("the index has an empty ", what, " name, at byte ", reader.at()));
    if (!names.insert(name).second) reader.fail(str("the ", what, " '", name, "' is in the index twice, again at byte ", reader.at()));
  }

  void add_graph() {
    archive.graphs.push_back({std::string(reader.payload()), ir::Graph(), {}});
    check_name(graphs, "graph", archive.graphs.back().name);
  }

  /// An array without its bytes.
  void add_array() {
    const std::string part = str("array ", archive.arrays.size(), " of the index");
    file::Index::Array message;
    reader.parse(message, part, max_record_bytes);
    NamedArray array{message.name(), DType::f32, {message.extent().begin(), message.extent().end()}, {}};
    try {
      array.dtype = parse_dtype(message.dtype());
      check_elements({array.dtype, Shape::fixed(array.shape)});
    } catch (const UserError& error) {
      reader.fail(str(part, " ('", array.name, "'), at byte ", reader.at(), ": ", error.message()));
    }
    check_name(arrays, "array", array.name);
    archive.arrays.push_back(std::move(array));
  }

  void add_metadata() {
    file::Index::Entry message;
    reader.parse(message, str("metadata entry ", archive.metadata.size()), max_message_bytes);
    if (!archive.metadata.emplace(message.key(), message.value()).second)
      reader.fail(str("the metadata '", message.key(), "' is in the index twice, again at byte ", reader.at()));
  }
};

/// Names, descriptions and metadata.
Archive read_index(const Source& source, const SectionEntry& entry, std::size_t graph_count, std::size_t array_count) {
  const std::string bytes = read_message(source, entry, 0);
  Index index{{}, FieldReader(bytes, source.where, entry.offset)};
  const FieldReader& reader = index.reader;
  while (index.reader.next()) {
    switch (reader.field()) {
      case file::Index::kGraphFieldNumber:
        if (index.archive.graphs.size() == graph_count)
          reader.fail(str("the index names more graphs than the ", graph_count, " graph sections, from byte ", reader.at(), " on"));
        index.add_graph();
        break;
      case file::Index::kArrayFieldNumber:
        if (index.archive.arrays.size() == array_count)
          reader.fail(str("the index names more arrays than the ", array_count, " array sections, from byte ", reader.at(), " on"));
        index.add_array();
        break;
      case file::Index::kMetadataFieldNumber:
        index.add_metadata();
        break;
      default:
        reader.fail(str("field ", reader.field(), " of the index, at byte ", reader.at(), ", is unknown"));
    }
  }
  const auto check_count = [&](std::string_view what, std::size_t named, std::size_t count) {
    if (named != count)
      reader.fail(str("the index at byte ", entry.offset, " names ", named, " ", what, "s, there are ", count, " ", what, " sections"));
  };
  check_count("graph", index.archive.graphs.size(), graph_count);
  check_count("array", index.archive.arrays.size(), array_count);
  return std::move(index.archive);
}

std::uint64_t dense_bytes(const NamedArray& array) {
  return static_cast<std::uint64_t>(Shape::fixed(array.shape).elements().factor()) * size_of(array.dtype);
}

/// Checks the array's bytes; they stay in the mapping.
void read_array(const Source& source, const std::shared_ptr<MappedFile>& mapping, const SectionEntry& entry, std::size_t index, NamedArray& array) {
  const std::uint64_t size = dense_bytes(array);
  if (entry.size != size)
    source.fail(str("array '", array.name, "' is ", array.dtype, Shape::fixed(array.shape), ", which takes ", size, " bytes, but section ", index,
                    " at byte ", entry.offset, " has ", entry.size, copy_again));
  std::uint64_t at = entry.offset;
  read_section(source, entry, index, [&](std::span<const std::byte> part) {
    if (array.dtype == DType::boolean) {
      const auto wrong = std::find_if(part.begin(), part.end(), [](std::byte b) { return b > std::byte{1}; });
      if (wrong != part.end())
        source.fail(str("array '", array.name, "' of bool holds ", static_cast<int>(*wrong), " at byte ",
                        at + static_cast<std::uint64_t>(wrong - part.begin()), "; a boolean is 0 or 1", copy_again));
    }
    at += part.size();
  });
  std::byte* const data = mapping->bytes().data() + entry.offset;
  array.bytes = {data, size};
  array.memory = Buffer::of(data, aligned(size), mapping);
}

Archive read_archive(const Source& source) {
  const std::vector<SectionEntry> table = read_table(source, read_header(source));
  check_table(source, table);
  const auto count = [&](SectionKind kind) {
    return static_cast<std::size_t>(
        std::count_if(table.begin(), table.end(), [&](const SectionEntry& e) { return e.kind == static_cast<std::uint32_t>(kind); }));
  };
  Archive archive = read_index(source, table[0], count(SectionKind::graph), count(SectionKind::array));
  const std::shared_ptr<MappedFile> mapping = archive.arrays.empty() ? nullptr : source.map();
  std::size_t graph = 0, array = 0;
  for (std::size_t i = 1; i < table.size(); ++i) {
    if (table[i].kind == static_cast<std::uint32_t>(SectionKind::array)) {
      read_array(source, mapping, table[i], i, archive.arrays[array++]);
    } else {
      NamedGraph& target = archive.graphs[graph++];
      ParsedGraph parsed = parse_graph(read_message(source, table[i], i), str(source.where, ", graph '", target.name, "'"), table[i].offset);
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

Buffer to_buffer(const NamedArray& array, bool unpadded) {
  const Type type{array.dtype, Shape::fixed(array.shape)};
  const std::size_t bytes = storage_bytes(type, {}, unpadded);
  if (array.memory && (unpadded || layout(type.shape, 0).is_dense()) && bytes <= array.memory.bytes()) return array.memory;
  Buffer result = Buffer::allocate(bytes);
  copy_from_dense(array.bytes.data(), {type, result.data(), unpadded});
  return result;
}

Archive load(const std::filesystem::path& path) {
  const InputFile file(path);
  const std::string where = path.string();
  return read_archive({where, file.size(), [&](std::uint64_t offset, std::span<std::byte> into) { file.read(offset, into); },
                       [&] { return std::make_shared<MappedFile>(file, where); }});
}

Archive from_bytes(std::string_view bytes, const std::string& where) {
  return read_archive({where, bytes.size(),
                       [&](std::uint64_t offset, std::span<std::byte> into) {
                         std::copy_n(std::as_bytes(std::span(bytes)).begin() + static_cast<std::ptrdiff_t>(offset), into.size(), into.begin());
                       },
                       [&] { return std::make_shared<MappedFile>(bytes, where); }});
}

}  // namespace sinter::runtime
