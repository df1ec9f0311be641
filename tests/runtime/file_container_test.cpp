// The .sinter container: round trips, whole files or none, and no damage that gets through. What is refused, by its message: file_faults_test.cpp.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "ir/print.h"
#include "runtime/file/graph.h"
#include "tests/runtime/file_bytes.h"
#include "tests/support/temporary_folder.h"

namespace sinter::runtime::file_container_test {
namespace {

using testing::HasSubstr;

class Container : public testing::Test {
 protected:
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder_), std::filesystem::directory_iterator()));
  }

  const test::TemporaryFolder temporary_;
  const std::filesystem::path folder_ = temporary_.path;
  const std::filesystem::path path_ = folder_ / "net.sinter";
};

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
    EXPECT_TRUE(std::ranges::equal(a.arrays[i].bytes, b.arrays[i].bytes));
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
  bad.arrays[0].bytes = bad.arrays[0].bytes.first(23);
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
  expect_error([&] { load(folder_); }, "cannot read the file: it is a folder; give a regular file");
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
  refuse([](Archive& a) { a.arrays[0].name = std::string(max_record_bytes, 'x'); },
         str("the name of an array has ", max_record_bytes, " bytes; use a shorter one"));
  refuse([](Archive& a) { a.graphs[0].name = ""; }, "every graph in a file needs a name");
  refuse([](Archive& a) { a.arrays[0].shape = {3, 3}; }, "array 'w' of f32[3,3] takes 36 bytes, got 24");
  refuse([](Archive& a) { a.arrays[0].shape = {3, -2}; }, "a dimension cannot be negative");
  refuse([](Archive& a) { a.arrays[2].memory.data()[0] = std::byte{7}; }, "array 'mask' of bool holds 7; a boolean is 0 or 1");
  refuse([](Archive& a) { a.metadata["history"] = std::string(17 << 20, 'x'); }, "names and metadata take at most 16777216 bytes in a file");
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

TEST(Checksum, DoesNotDependOnThePieces) {
  std::string text;
  for (int i = 0; i < 200; ++i) text += static_cast<char>(i * 37);
  const auto bytes = std::as_bytes(std::span(text));
  for (const std::size_t piece : {1, 3, 31, 32, 33, 64, 199}) {
    Checksum sum(7);
    for (std::size_t at = 0; at < bytes.size(); at += piece) sum.add(bytes.subspan(at, std::min(piece, bytes.size() - at)));
    EXPECT_EQ(sum.value(), checksum(bytes, 7)) << piece;
  }
}

}  // namespace
}  // namespace sinter::runtime::file_container_test
