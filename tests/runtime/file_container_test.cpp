// The .sinter container: round trips, every kind of damage by its message, and no damage that gets through.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <fstream>

#include "ir/print.h"
#include "runtime/file/checksum.h"
#include "runtime/file/container.h"
#include "runtime/file/layout.h"

namespace sinter::runtime {
namespace {

using testing::HasSubstr;

/// A folder of its own for each test, removed at the end.
class Container : public testing::Test {
 protected:
  Container() { std::filesystem::create_directories(folder_); }
  ~Container() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder_), std::filesystem::directory_iterator()));
  }

  const std::filesystem::path folder_ =
      std::filesystem::path(testing::TempDir()) / str("sinter-file-", ::getpid(), "-", testing::UnitTest::GetInstance()->current_test_info()->name());
  const std::filesystem::path path_ = folder_ / "net.sinter";
};

template <class T>
NamedArray array(std::string name, DType dtype, std::vector<std::int64_t> shape, const std::vector<T>& values) {
  NamedArray result{std::move(name), dtype, std::move(shape), std::vector<std::byte>(values.size() * sizeof(T))};
  if (!values.empty()) std::memcpy(result.bytes.data(), values.data(), result.bytes.size());
  return result;
}

Archive sample() {
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

void expect_equal(const Archive& a, const Archive& b) {
  ASSERT_EQ(a.graphs.size(), b.graphs.size());
  for (std::size_t i = 0; i < a.graphs.size(); ++i) {
    EXPECT_EQ(a.graphs[i].name, b.graphs[i].name);
    EXPECT_EQ(a.graphs[i].passes, b.graphs[i].passes);
    EXPECT_EQ(ir::to_text(a.graphs[i].graph), ir::to_text(b.graphs[i].graph));
  }
  ASSERT_EQ(a.arrays.size(), b.arrays.size());
  for (std::size_t i = 0; i < a.arrays.size(); ++i) {
    EXPECT_EQ(a.arrays[i].name, b.arrays[i].name);
    EXPECT_EQ(a.arrays[i].dtype, b.arrays[i].dtype);
    EXPECT_EQ(a.arrays[i].shape, b.arrays[i].shape);
    EXPECT_EQ(a.arrays[i].bytes, b.arrays[i].bytes);
  }
  EXPECT_EQ(a.metadata, b.metadata);
}

TEST_F(Container, MakesTheRoundTrip) {
  save(path_, sample());
  const Archive read = load(path_);
  expect_equal(read, sample());
  ASSERT_TRUE(read.find_array("order"));
  EXPECT_EQ(read.find_array("order")->shape, std::vector<std::int64_t>{5});
  ASSERT_TRUE(read.find_graph("predict"));
  EXPECT_FALSE(read.find_graph("w"));
  EXPECT_EQ(to_bytes(read), to_bytes(sample()));
  expect_equal(from_bytes(to_bytes(Archive{}), "empty"), Archive{});
}

TEST_F(Container, SavesWholeFilesOrNothing) {
  save(path_, Archive{});
  save(path_, sample());
  EXPECT_EQ(files(), 1u);
  Archive bad = sample();
  bad.arrays[0].bytes.pop_back();
  EXPECT_THROW(save(path_, bad), UserError);
  EXPECT_EQ(files(), 1u) << "a temporary file was left";
  expect_equal(load(path_), sample());
}

TEST_F(Container, ReplacesWhatALinkNames) {
  std::filesystem::create_symlink(path_, folder_ / "link");
  save(path_, Archive{});
  save(folder_ / "link", sample());
  EXPECT_TRUE(std::filesystem::is_symlink(folder_ / "link"));
  expect_equal(load(path_), sample());
}

template <class F>
void expect_error(F&& f, const std::string& text) {
  try {
    f();
    FAIL() << "expected: " << text;
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), HasSubstr(text));
  }
}

TEST_F(Container, NamesTheFileThatCannotBeUsed) {
  expect_error([&] { load(folder_ / "missing.sinter"); }, "missing.sinter] cannot open the file: No such file or directory; check the path");
  expect_error([&] { load(folder_); }, "cannot read the file: it is no regular file");
  expect_error([&] { save(folder_, sample()); }, "cannot write the file: it is a folder; give the name of a file");
  expect_error([&] { save(folder_ / "none" / "net.sinter", sample()); },
               "net.sinter] cannot write the file: failed to create it (No such file or directory)");
}

TEST_F(Container, RefusesArchivesThatNoReaderWouldTake) {
  const auto refuse = [](const auto& change, const std::string& text) {
    Archive archive = sample();
    change(archive);
    expect_error([&] { to_bytes(archive); }, text);
  };
  refuse([](Archive& a) { a.arrays[1].name = "w"; }, "the array 'w' is given twice; use unique names");
  refuse([](Archive& a) { a.graphs[1].name = "train_step"; }, "the graph 'train_step' is given twice");
  refuse([](Archive& a) { a.graphs[0].name = ""; }, "every graph in a file needs a name");
  refuse([](Archive& a) { a.arrays[0].shape = {3, 3}; }, "array 'w' of f32[3,3] takes 36 bytes, got 24");
  refuse([](Archive& a) { a.arrays[0].shape = {3, -2}; }, "a dimension cannot be negative");
  refuse([](Archive& a) { a.arrays[2].bytes[0] = std::byte{7}; }, "array 'mask' of bool holds 7; a boolean is 0 or 1");
  refuse([](Archive& a) { a.metadata["history"] = std::string(17 << 20, 'x'); }, "names and metadata take at most 16777216 bytes in a file");
}

// ---- damage ----
FileHeader header_of(const std::string& bytes) {
  FileHeader header;
  std::memcpy(&header, bytes.data(), sizeof header);
  return header;
}
SectionEntry entry_of(const std::string& bytes, std::size_t index) {
  SectionEntry entry;
  std::memcpy(&entry, bytes.data() + sizeof(FileHeader) + index * sizeof entry, sizeof entry);
  return entry;
}
std::span<const std::byte> part(const std::string& bytes, std::uint64_t from, std::uint64_t size) {
  return std::as_bytes(std::span(bytes)).subspan(from, size);
}

/// Makes all checksums right again, so that a damaged field is met by its own check.
std::string sealed(std::string bytes) {
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

/// Changes the header or an entry of the table and seals the file.
template <class F>
std::string with_header(F&& change, const std::string& behind = {}) {
  std::string bytes = to_bytes(sample()) + behind;
  FileHeader header = header_of(bytes);
  change(header);
  std::memcpy(bytes.data(), &header, sizeof header);
  return sealed(bytes);
}
template <class F>
std::string with_entry(std::size_t index, F&& change) {
  std::string bytes = to_bytes(sample());
  SectionEntry entry = entry_of(bytes, index);
  change(entry);
  std::memcpy(bytes.data() + sizeof(FileHeader) + index * sizeof entry, &entry, sizeof entry);
  return sealed(bytes);
}
void refuse(const std::string& bytes, const std::string& text) {
  expect_error([&] { from_bytes(bytes, "net.sinter"); }, "[net.sinter");
  expect_error([&] { from_bytes(bytes, "net.sinter"); }, text);
}

TEST(ContainerDamage, Header) {
  refuse("", "is no Sinter file: the header takes 64 bytes, the file has 0; check the path or copy it again");
  refuse(std::string(100, 'x'), "is no Sinter file: it does not begin with 'SINTER'; check the path");
  refuse(with_header([](FileHeader& h) { h.magic[6] = '\n'; }), "was changed at byte 6 by a transfer in text mode; copy it as binary");
  refuse(with_header([](FileHeader& h) { h.version = 9; }), "format version 9 is unknown, this build reads version 1; update Sinter");
  refuse(with_header([](FileHeader& h) { h.file_size += 1; }), "the header (byte 16) says that the file has");
  refuse(with_header([](FileHeader& h) { h.sections = 0xffffffff; }), "the header (byte 12) counts 4294967295 sections, but there is room for");
  refuse(with_header([](FileHeader& h) { h.sections = 0; }), "the header (byte 12) counts no sections; the first is the index");
  refuse(with_header([](FileHeader& h) { h.reserved[3] = 1; }), "reserved bytes 32 to 63 of the header are not 0");
  std::string bytes = to_bytes(sample());
  bytes[24] = static_cast<char>(bytes[24] ^ 1);
  refuse(bytes, "the checksum of header and section table (byte 24) is wrong; the file is damaged, copy or save it again");
}

TEST(ContainerDamage, SectionTable) {
  refuse(with_entry(2, [](SectionEntry& e) { e.kind = 77; }), "section 2 (table entry at byte 128) is of the unknown kind 77; update Sinter");
  refuse(with_entry(2, [](SectionEntry& e) { e.kind = 1; }), "section 2 (table entry at byte 128): the first section, and no other, is the index");
  refuse(with_entry(0, [](SectionEntry& e) { e.kind = 2; }), "section 0 (table entry at byte 64): the first section, and no other, is the index");
  refuse(with_entry(2, [](SectionEntry& e) { e.offset += 1; }), "no multiple of 64");
  refuse(with_entry(2, [](SectionEntry& e) { e.offset -= 64; }), "and overlaps what ends at byte");
  refuse(with_entry(2, [](SectionEntry& e) { e.offset += 64; }), "behind the one before it");
  refuse(with_entry(3, [](SectionEntry& e) { e.size = ~std::uint64_t{0}; }),
         "section 3 (table entry at byte 160) has 18446744073709551615 bytes from byte");
  refuse(with_entry(1, [](SectionEntry& e) { e.size = std::uint64_t{1} << 60; }), "but the file ends at");
  std::string bytes = to_bytes(sample());
  refuse(with_header([](FileHeader& h) { h.file_size += 3; }, "xxx"),
         str("the last section ends at byte ", bytes.size(), ", the file at ", bytes.size() + 3));
  bytes[entry_of(bytes, 4).offset - 1] = 1;
  refuse(sealed(bytes), "the padding before section 4 (table entry at byte 192) is not 0");
}

TEST(ContainerDamage, Contents) {
  const std::string good = to_bytes(sample());
  std::string bytes = good;
  const SectionEntry weights = entry_of(bytes, 3);
  bytes[weights.offset] = static_cast<char>(bytes[weights.offset] ^ 64);
  refuse(bytes, str("the checksum of section 3 (bytes ", weights.offset, " to ", weights.offset + 24, ") is wrong; the file is damaged"));
  bytes = good;
  bytes[entry_of(bytes, 5).offset] = 9;
  refuse(sealed(bytes), "array 'mask' of bool holds a value other than 0 and 1");
  refuse(good.substr(0, good.size() - 1), str("says that the file has ", good.size(), " bytes, it has ", good.size() - 1));
}

TEST(ContainerDamage, Index) {
  Archive archive = sample();
  archive.arrays[4].shape = {0, std::int64_t{1} << 39};
  const auto replaced = [&](std::string_view from, std::string_view to) {
    std::string bytes = to_bytes(archive);
    const std::size_t at = bytes.find(from);
    EXPECT_NE(at, bytes.npos);
    return sealed(bytes.replace(at, from.size(), to));
  };
  refuse(replaced("order", "count"), "the array 'count' is in the index twice");
  refuse(replaced("epoch", "empty"), "the metadata 'empty' is in the index twice");
  refuse(replaced("bool", "b001"), "array 2 of the index ('mask'): [dtype] an element type is f32, i32, u32, u8 or bool, got 'b001'");
  refuse(replaced("\x1a\x01\x05", "\x1a\x01\x06"), "array 'order' is u32[6], which takes 24 bytes, but section 4 at byte");
  refuse(replaced("\x1a\x01\x05", "\x22\x01\x05"), "array 1 of the index is no valid message");
  refuse(replaced(std::string_view("\x1a\x07\x00\x80", 4), "\x1a\x07\x01\x80"),
         "array 'nothing' is u8[1,549755813888], which takes 549755813888 bytes, but section 7 at byte");
  refuse(replaced(std::string_view("\x1a\x07\x00\x80", 4), "\x1a\x07\x7f\x80"),
         "array 4 of the index ('nothing'): has more than 1099511627776 elements");
  refuse(replaced("\x0a\x07predict", "\x2a\x07predict"), "field 5 of the index is unknown");
  refuse(replaced("\x1a\x0b\x0a\x05"
                  "epoch",
                  "\x0a\x0b\x0a\x05"
                  "epoch"),
         "comes after field 3; fields are in ascending order");
  refuse(replaced("matmul", "warped"), "[net.sinter, graph 'train_step'] node %2 (warped): [op] unknown op 'warped'");
  refuse(with_entry(2, [](SectionEntry& e) { e.kind = 3; }), "the index names more graphs than the 1 graph sections");
  refuse(with_entry(3, [](SectionEntry& e) { e.kind = 2; }), "the index names more arrays than the 4 array sections");
}

TEST(ContainerDamage, EveryTruncationIsRefused) {
  const std::string good = to_bytes(sample());
  for (std::size_t size = 0; size < good.size(); ++size) EXPECT_THROW(from_bytes(std::string_view(good).substr(0, size), "t"), UserError) << size;
  EXPECT_THROW(from_bytes(good + '\0', "t"), UserError);
}

TEST(ContainerDamage, EveryChangedBitIsRefused) {
  const std::string good = to_bytes(sample());
  for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
    std::string changed = good;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << bit % 8));
    EXPECT_THROW(from_bytes(changed, "t"), UserError) << "bit " << bit;
  }
}

TEST(ContainerDamage, ChangedBitsUnderRightChecksumsAreErrorsOrArchives) {
  const std::string good = to_bytes(sample());
  for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
    std::string changed = good;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << bit % 8));
    try {
      to_bytes(from_bytes(sealed(changed), "t"));  // what is read can be written again
    } catch (const UserError&) {
    }
  }
}

TEST_F(Container, RefusesATruncatedFile) {
  save(path_, sample());
  std::filesystem::resize_file(path_, 100);
  expect_error([&] { load(path_); }, "it has 100; the file is damaged, copy or save it again");
  std::ofstream(path_, std::ios::trunc).close();
  expect_error([&] { load(path_); }, "net.sinter] is no Sinter file: the header takes 64 bytes, the file has 0");
}

TEST(Checksum, IsXxh64) {
  const auto of = [](const std::string& text) { return checksum(std::as_bytes(std::span(text))); };
  EXPECT_EQ(of(""), 0xEF46DB3751D8E999u);
  EXPECT_EQ(of("a"), 0xD24EC4F1A98C6E5Bu);
  EXPECT_EQ(of("abc"), 0x44BC2CF5AD770999u);
  EXPECT_EQ(of("Nobody inspects the spammish repetition"), 0xFBCEA83C8A378BF1u);
}

}  // namespace
}  // namespace sinter::runtime
