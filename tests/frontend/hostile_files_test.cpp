// Small files that claim to hold a gigabyte, or to be worth hours of work.
#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "frontend/data/csv.h"
#include "frontend/data/npz.h"
#include "tests/frontend/data_files.h"
#include "tests/frontend/file_kinds.h"
#include "tests/frontend/helpers.h"
#include "tests/runtime/file_bytes.h"
#include "tests/support/allocations.h"
#include "tests/support/bytes.h"

namespace sinter::test::hostile_files_test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr std::uint32_t billion = 1'000'000'000;

/// What a zip archive says of a member in front of it and in its directory.
std::string zip_entry(const std::string& name, std::uint32_t method, std::uint64_t packed_size, std::uint64_t size,
                      std::optional<std::size_t> at = {}) {
  const std::string common = little_endian(20, 2) + little_endian(0, 2) + little_endian(method, 2) + little_endian(0, 4) + little_endian(0, 4) +
                             little_endian(packed_size, 4) + little_endian(size, 4) + little_endian(name.size(), 2) + little_endian(0, 2);
  if (!at) return "PK\3\4" + common + name;
  return std::string("PK\1\2") + little_endian(20, 2) + common + little_endian(0, 2) + little_endian(0, 2) + little_endian(0, 2) +
         little_endian(0, 4) + little_endian(*at, 4) + name;
}
std::string zip(const std::string& members, const std::string& directory, std::size_t count) {
  return members + directory + std::string("PK\5\6") + little_endian(0, 4) + little_endian(count, 2) + little_endian(count, 2) +
         little_endian(directory.size(), 4) + little_endian(members.size(), 4) + little_endian(0, 2);
}
/// A zip archive of one member that claims these sizes.
std::string zip(const std::string& name, const std::string& packed, std::uint32_t method, std::uint64_t packed_size, std::uint64_t size) {
  return zip(zip_entry(name, method, packed_size, size) + packed, zip_entry(name, method, packed_size, size, 0), 1);
}

std::string png_chunk(const std::string& type, const std::string& content) {
  const std::string checked = type + content;
  const auto sum = static_cast<std::uint32_t>(crc32(0, reinterpret_cast<const Bytef*>(checked.data()), static_cast<uInt>(checked.size())));
  return big_endian(static_cast<std::uint32_t>(content.size())) + checked + big_endian(sum);
}
std::string png(std::uint32_t width, std::uint32_t height, const std::string& kind) {
  return "\x89PNG\r\n\x1a\n" + png_chunk("IHDR", big_endian(width) + big_endian(height) + kind) + png_chunk("IDAT", data::gzip("x").substr(10)) +
         png_chunk("IEND", "");
}

/// The file with the one place of `from` replaced.
std::string replaced(std::string bytes, const std::string& from, const std::string& to) {
  const std::size_t at = bytes.find(from);
  EXPECT_NE(at, bytes.npos);
  return bytes.replace(at, from.size(), to);
}

std::string npy_header(const std::string& shape) {
  const std::string text = "{'descr': '<f4', 'fortran_order': False, 'shape': " + shape + ", }\n";
  return "\x93NUMPY" + little_endian(1, 2) + little_endian(text.size(), 2) + text + "1234";
}
std::string safetensors(const std::string& header, std::uint64_t size) { return little_endian(size, 8) + header; }

/// A .sinter file of an index and these sections.
std::string sinter_file(const std::string& index, runtime::SectionKind kind, const std::string& section) {
  return runtime::file_of({{runtime::SectionKind::index, index}, {kind, section}});
}
std::string array_of(std::initializer_list<std::uint64_t> extents) {
  using runtime::field;
  return field(2, field(1, "w") + field(2, "f32") + field(3, runtime::numbers(extents)));
}
std::string with_size(std::size_t section, std::uint64_t size) {
  std::string bytes = sinter_file(array_of({billion / 4}), runtime::SectionKind::array, "1234");
  runtime::SectionEntry entry = runtime::entry_of(bytes, section);
  entry.size = size;
  std::memcpy(bytes.data() + sizeof(runtime::FileHeader) + section * sizeof entry, &entry, sizeof entry);
  return runtime::sealed(bytes);
}

struct Claim {
  std::string name;
  std::string kind;  ///< that reads it
  std::string (*bytes)();
};
const Claim claims[] = {
    {"SinterFile", "trainer",
     [] {
       std::string bytes = sinter_file(array_of({1}), runtime::SectionKind::array, "1234");
       const std::uint64_t size = billion;
       std::memcpy(bytes.data() + offsetof(runtime::FileHeader, file_size), &size, sizeof size);
       return runtime::sealed(bytes);
     }},
    {"SinterSections", "trainer",
     [] {
       std::string bytes = sinter_file(array_of({1}), runtime::SectionKind::array, "1234");
       const std::uint32_t sections = billion / sizeof(runtime::SectionEntry);
       std::memcpy(bytes.data() + offsetof(runtime::FileHeader, sections), &sections, sizeof sections);
       return bytes;
     }},
    {"SinterSection", "trainer", [] { return with_size(1, billion); }},
    {"SinterIndex", "trainer", [] { return with_size(0, 15 << 20); }},
    {"SinterArray", "trainer", [] { return sinter_file(array_of({billion / 4}), runtime::SectionKind::array, "1234"); }},
    {"SinterEmptyArray", "trainer", [] { return sinter_file(array_of({billion, 0}), runtime::SectionKind::array, ""); }},
    {"SinterField", "trainer",
     [] { return sinter_file(runtime::field(1, "g"), runtime::SectionKind::graph, "\x1a" + runtime::varint(billion) + "x"); }},
    {"SinterNode", "trainer",
     [] { return sinter_file(runtime::field(1, "g"), runtime::SectionKind::graph, runtime::field(3, "\x12" + runtime::varint(billion) + "\1")); }},
    {"SinterState", "trainer",
     [] {
       return sinter_file(runtime::field(1, "g"), runtime::SectionKind::graph,
                          runtime::state("w", "[250000000]") + runtime::field(5, std::string(1, '\0')));
     }},
    {"Idx", "idx", [] { return data::idx(8, {1000, 1000, 1000}, "x"); }},
    {"IdxGz", "idx_gz", [] { return data::gzip(data::idx(8, {1000, 1000, 1000}, std::string(100'000, '\0'))); }},
    {"IdxGzWithinTheRatio", "idx_gz", [] { return data::gzip(data::idx(8, {150'000}, std::string(100'000, '\0'))); }},
    {"Npy", "npy", [] { return npy_header("(250000000,)"); }},
    {"NpyEmpty", "npy", [] { return npy_header("(250000000000, 0)"); }},
    {"NpyHeader", "npy", [] { return "\x93NUMPY" + little_endian(2, 2) + little_endian(billion, 4) + "{}"; }},
    {"NpzDeflated", "npz", [] { return zip("w.npy", "\x4b\x04", 8, 2, billion); }},
    {"NpzDeflatedBothSizes", "npz", [] { return zip("w.npy", "\x4b\x04", 8, billion, billion); }},
    {"NpzStored", "npz", [] { return zip("w.npy", "x", 0, 1, billion); }},
    {"NpzStoredBothSizes", "npz", [] { return zip("w.npy", "x", 0, billion, billion); }},
    {"NpzInner", "npz",
     [] { return zip("w.npy", npy_header("(250000000,)"), 0, npy_header("(250000000,)").size(), npy_header("(250000000,)").size()); }},
    {"SafetensorsHeader", "safetensors", [] { return safetensors("{}", billion); }},
    {"SafetensorsTensor", "safetensors",
     [] {
       const std::string header = R"({"w":{"dtype":"F32","shape":[250000000],"data_offsets":[0,1000000000]}})";
       return safetensors(header, header.size());
     }},
    {"SafetensorsDepth", "safetensors", [] { return safetensors(std::string(200, '['), 200); }},
    {"Hdf5", "hdf5",
     [] {
       return replaced(keras_file(), little_endian(20, 8) + little_endian(6, 8) + little_endian(20, 8) + little_endian(6, 8),
                       little_endian(1 << 14, 8) + little_endian(1 << 14, 8) + little_endian(1 << 14, 8) + little_endian(1 << 14, 8));
     }},
    {"Png", "png", [] { return png(20'000, 20'000, {8, 2, 0, 0, 0}); }},
    {"PngOfBits", "png", [] { return png(20'000, 20'000, {1, 0, 0, 0, 0}); }},
    {"Jpeg", "jpeg",
     [] {
       std::string bytes = jpeg_file();
       const std::size_t frame = bytes.find("\xff\xc0");
       return bytes.replace(frame + 5, 4, "\x40\x00\x40\x00", 4).substr(0, 200);
     }},
    {"JpegWhole", "jpeg",
     [] {
       std::string bytes = jpeg_file();
       const std::size_t frame = bytes.find("\xff\xc0");
       return bytes.replace(frame + 5, 4, "\x40\x00\x40\x00", 4);
     }},
};

void PrintTo(const Claim& claim, std::ostream* out) { *out << claim.name; }

class ClaimingFile : public testing::TestWithParam<Claim> {};

TEST_P(ClaimingFile, IsRefusedWithAMegabyteAtMost) {
  const FileKind& kind = *std::ranges::find(file_kinds(), GetParam().kind, &FileKind::name);
  const TemporaryFolder folder;
  const fs::path path = fs::path(folder.path) / "train.bin";
  overwrite(path, kind.sound());
  kind.read(path);  // libraries set themselves up
  const std::string bytes = GetParam().bytes();
  EXPECT_LE(bytes.size(), GetParam().kind == "hdf5" || GetParam().name == "JpegWhole" ? kind.sound().size() : 300);
  overwrite(path, bytes);
  const AllocationLimit limit(1 << 20);
  EXPECT_NE(error_of([&] { kind.read(path); }), "");
  EXPECT_EQ(limit.refused(), 0) << "bytes were asked for";
}

INSTANTIATE_TEST_SUITE_P(Each, ClaimingFile, testing::ValuesIn(claims), [](const auto& info) { return info.param.name; });

TEST(HostileFile, NoByteOfAnNpzIsUnpackedTwice) {
  const TemporaryFolder folder;
  const std::string path = folder.path + "/file";
  std::string members, directory;  // each member holds all those behind it
  constexpr std::size_t count = 20, entry = 36;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string name = str(static_cast<char>('a' + i), "1.npy");
    const std::size_t size = (count - 1 - i) * entry;
    members += zip_entry(name, 0, size, size);
    directory += zip_entry(name, 0, size, size, i * entry);
  }
  ASSERT_EQ(members.size(), count * entry);
  overwrite(path, zip(members, directory, count));
  EXPECT_THAT(error_of([&] { data::read_npz(path); }), HasSubstr("bytes of the file, which has"));
}

TEST(HostileFile, ManyColumnsOfACsvAreReadInGoodTime) {
  const TemporaryFolder folder;
  const std::string path = folder.path + "/file";
  std::string names, values;
  constexpr int columns = 200'000;  // quadratic work would take minutes
  for (int i = 0; i < columns; ++i) names += str(i ? "," : "", "column", i), values += str(i ? "," : "", i);
  overwrite(path, names + "\n" + values + "\n");
  EXPECT_EQ(data::read_csv(path).names.size(), static_cast<std::size_t>(columns));
  overwrite(path, names + ",column7\n" + values + ",1\n");
  EXPECT_THAT(error_of([&] { data::read_csv(path); }), HasSubstr("two columns are called 'column7'"));
}

}  // namespace
}  // namespace sinter::test::hostile_files_test
