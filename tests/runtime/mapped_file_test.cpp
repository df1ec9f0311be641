// Files as memory: what lies behind them, who sees writes, and which arrays of an archive are used where they lie.
#include "runtime/file/mapped_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>

#include "runtime/interpreter.h"
#include "tests/runtime/file_bytes.h"
#include "tests/support/allocations.h"
#include "tests/support/bytes.h"
#include "tests/support/temporary_folder.h"

namespace sinter::runtime::mapped_file_test {
namespace {

class MappedFiles : public testing::Test {
 protected:
  void write(const std::string& bytes) const { test::write_bytes(path_, bytes); }
  std::string read() const { return test::read_bytes(path_); }

  const test::TemporaryFolder folder_;
  const std::filesystem::path path_ = folder_ / "file";
};

TEST_F(MappedFiles, ZerosLieBehindTheBytes) {
  for (const std::size_t size : {0, 1, 63, 4095, 4096, 4097, 8192}) {
    const std::string bytes(size, 'x');
    write(bytes);
    for (const MappedFile& mapped : {MappedFile(InputFile(path_), "file"), MappedFile(std::string_view(bytes), "bytes")}) {
      ASSERT_EQ(mapped.bytes().size(), size);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(mapped.bytes().data()) % 4096, 0u);
      EXPECT_TRUE(std::all_of(mapped.bytes().begin(), mapped.bytes().end(), [](std::byte b) { return b == std::byte{'x'}; }));
      for (std::size_t i = 0; i < 64; ++i) ASSERT_EQ(mapped.bytes().data()[size + i], std::byte{0}) << i << " behind " << size;
    }
  }
}

TEST_F(MappedFiles, WritesStayInThisProcess) {
  write("weights");
  const MappedFile mapped(InputFile(path_), "file"), other(InputFile(path_), "file");
  mapped.bytes()[0] = std::byte{'W'};
  EXPECT_EQ(read(), "weights");
  EXPECT_EQ(other.bytes()[0], std::byte{'w'});
}

TEST_F(MappedFiles, AFileThatIsReplacedStaysWhole) {
  write(std::string(10'000, 'a'));
  const MappedFile mapped(InputFile(path_), "file");
  AtomicFile replacement(path_);
  replacement.write(std::as_bytes(std::span("b", 1)));
  replacement.commit();
  EXPECT_EQ(read(), "b");
  EXPECT_EQ(mapped.bytes()[9'999], std::byte{'a'});
}

TEST_F(MappedFiles, SaysWhatItCannotMap) {
  if (!test::allocations_are_counted) GTEST_SKIP() << "sanitizers reserve more than any limit";
  write("x");
  std::filesystem::resize_file(path_, std::uintmax_t{1} << 40);  // a hole
  rlimit old{};
  getrlimit(RLIMIT_AS, &old);
  const rlimit small{std::size_t{1} << 38, old.rlim_max};
  setrlimit(RLIMIT_AS, &small);
  std::string message;
  try {
    const MappedFile mapped(InputFile(path_), "net.sinter");
  } catch (const UserError& error) {
    message = error.what();
  }
  setrlimit(RLIMIT_AS, &old);
  EXPECT_EQ(message, "[net.sinter] cannot map 1099511627776 bytes into memory (Cannot allocate memory); free memory or raise the limit (ulimit -v)");
}

/// One array of each layout.
Archive layouts() {
  const auto floats = [](const std::string& name, std::vector<std::int64_t> shape) {
    std::vector<float> values(static_cast<std::size_t>(Shape::fixed(shape).elements().factor()));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i) + 0.5f;
    return array<float>(name, DType::f32, std::move(shape), values);
  };
  Archive archive;
  archive.arrays = {floats("scalar", {}),
                    floats("bias", {70}),
                    floats("column", {5, 1}),
                    floats("one row", {1, 20}),
                    floats("whole vectors", {9, 24}),
                    floats("sixteen", {2, 3, 16}),
                    floats("padded", {3, 70}),
                    floats("few columns", {4, 2}),
                    floats("nothing", {0, 4}),
                    array<std::uint8_t>("bytes", DType::u8, {37}, std::vector<std::uint8_t>(37, 7)),
                    floats("last", {33})};
  return archive;
}

TEST_F(MappedFiles, ArraysThatLieAsInMemoryAreUsedInPlace) {
  const std::vector<std::string> copied{"padded", "few columns"};
  save(path_, layouts());
  for (const bool from_file : {true, false}) {
    const Archive archive = from_file ? load(path_) : from_bytes(read(), "bytes");
    for (const NamedArray& a : archive.arrays) {
      SCOPED_TRACE(a.name);
      const Buffer buffer = to_buffer(a);
      const bool in_place = buffer.data() == a.bytes.data();
      EXPECT_EQ(in_place, std::find(copied.begin(), copied.end(), a.name) == copied.end());
      const View view{{a.dtype, Shape::fixed(a.shape)}, buffer.data()};
      std::vector<std::byte> dense(a.bytes.size());
      copy_to_dense(view, dense.data());
      EXPECT_TRUE(std::ranges::equal(dense, a.bytes));
      const Layout at = view.layout();
      ASSERT_GE(buffer.bytes(), storage_bytes(view.type));
      const std::size_t size = size_of(a.dtype);
      for (std::int64_t r = 0; r < at.rows; ++r)
        for (auto i = static_cast<std::size_t>(r * at.stride + at.cols) * size; i < static_cast<std::size_t>((r + 1) * at.stride) * size; ++i)
          ASSERT_EQ(buffer.data()[i], std::byte{0}) << "a pad of row " << r;
      for (std::size_t i = 0; i < 64; ++i) (void)*const_cast<volatile std::byte*>(buffer.data() + buffer.bytes() + i);  // readable
    }
  }
}

TEST_F(MappedFiles, AnArrayOutlivesItsArchiveAndIsThenItsOwn) {
  save(path_, layouts());
  const std::string before = read();
  Buffer weights;
  {
    const Archive archive = load(path_);
    weights = to_buffer(*archive.find_array("whole vectors"));
    EXPECT_FALSE(weights.unique()) << "who writes while the archive lives must copy";
  }
  EXPECT_TRUE(weights.unique());
  auto* values = reinterpret_cast<float*>(weights.data());
  EXPECT_EQ(values[9 * 24 - 1], 215.5f);
  values[0] = -1;
  EXPECT_EQ(read(), before);
  EXPECT_EQ(reinterpret_cast<const float*>(load(path_).find_array("whole vectors")->bytes.data())[0], 0.5f);
}

TEST_F(MappedFiles, LoadingTakesNoMemoryForWeights) {
  if (!test::allocations_are_counted) GTEST_SKIP() << "the sanitizer has its own malloc";
  Archive archive;
  archive.arrays.push_back(array<float>("w", DType::f32, {4096, 1024}, std::vector<float>(4096 * 1024, 1.5f)));
  save(path_, archive);
  archive = {};
  const std::size_t live = memory_use().live;
  const test::AllocationLimit limit(512 << 10);
  const Archive loaded = load(path_);
  const Buffer weights = to_buffer(loaded.arrays[0]);
  EXPECT_EQ(memory_use().live, live);
  EXPECT_EQ(limit.refused(), 0) << "weights of 16 MB";
}

TEST_F(MappedFiles, SavingTakesNoMemoryForArrays) {
  if (!test::allocations_are_counted) GTEST_SKIP() << "the sanitizer has its own malloc";
  Archive archive;
  archive.arrays.push_back(array<float>("w", DType::f32, {4096, 1024}, std::vector<float>(4096 * 1024, 1.5f)));
  const test::AllocationLimit limit(512 << 10);
  save(path_, archive);
  EXPECT_EQ(limit.refused(), 0) << "weights of 16 MB";
}

TEST_F(MappedFiles, AFileThatIsShortenedWhileItIsReadIsAnError) {
  write(std::string(100, 'x'));
  const InputFile file(path_);
  std::filesystem::resize_file(path_, 10);
  std::vector<std::byte> bytes(file.size());
  EXPECT_THAT([&] { file.read(0, bytes); },
              testing::ThrowsMessage<UserError>(testing::HasSubstr("the file ended at byte 10 while it was read; another program has shortened it")));
}

}  // namespace
}  // namespace sinter::runtime::mapped_file_test
