#include "frontend/data/idx.h"

#include "frontend/data/mnist.h"
#include "tests/frontend/data_files.h"

namespace sinter::data::data_idx_test {
namespace {

using Idx = DataFiles;
using testing::ElementsAre;

TEST_F(Idx, ReadsEachElementType) {
  const HostArray bytes = read_idx(write("u8", idx(8, {2, 3}, "abcdef")));
  EXPECT_EQ(bytes.dtype, DType::u8);
  EXPECT_THAT(bytes.shape, ElementsAre(2, 3));
  EXPECT_THAT(bytes.values<std::uint8_t>(), ElementsAre('a', 'b', 'c', 'd', 'e', 'f'));
  const HostArray ints = read_idx(write("i32", idx(12, {2}, test::big_endian(7) + test::big_endian(0xfffffffe))));
  EXPECT_EQ(ints.dtype, DType::i32);
  EXPECT_THAT(ints.values<std::int32_t>(), ElementsAre(7, -2));
  const HostArray floats = read_idx(write("f32", idx(13, {1, 1, 2}, test::big_endian(0x3fc00000) + test::big_endian(0xc0000000))));
  EXPECT_THAT(floats.shape, ElementsAre(1, 1, 2));
  EXPECT_THAT(floats.values<float>(), ElementsAre(1.5f, -2.0f));
  EXPECT_EQ(read_idx(write("none", idx(8, {0, 28}, ""))).elements(), 0);
}

TEST_F(Idx, ReadsCompressedFilesWhateverTheirName) {
  std::string elements(5'000'000, 'x');
  for (std::size_t i = 0; i < elements.size(); ++i) elements[i] = static_cast<char>(i * i >> 5);
  const std::string bytes = idx(8, {5000, 1000}, elements);
  const HostArray array = read_idx(write("packed", gzip(bytes)));
  EXPECT_EQ(array.bytes, read_idx(write("plain.gz", bytes)).bytes);
  EXPECT_EQ(array.bytes.size(), elements.size());
  EXPECT_EQ(read_idx(write("zeros", gzip(idx(8, {3'000'000}, std::string(3'000'000, '\0'))))).elements(), 3'000'000)
      << "nothing is packed more tightly";
}

TEST_F(Idx, HasNoElementsWhereAnExtentIsZero) {
  const HostArray array = read_idx(write("none", idx(8, {0xfefffff1, 0xffbe07ff, 0}, "")));
  EXPECT_EQ(array.elements(), 0);
  EXPECT_TRUE(array.bytes.empty());
}

TEST_F(Idx, NamesWhatIsWrong) {
  const auto refuse = [&](const std::string& bytes, const std::string& text) {
    expect_user_error([&] { read_idx(write("images", bytes)); }, "images] ");
    expect_user_error([&] { read_idx(write("images", bytes)); }, text);
  };
  expect_user_error([&] { read_idx(folder_ / "missing"); }, "missing] cannot open the file: No such file or directory; check the path");
  refuse("", "is no IDX file: it does not begin with two zeros, an element type and a number of dimensions; check the path");
  refuse("hello world", "is no IDX file");
  refuse(idx(9, {2}, "ab"), "IDX element type 9 is not supported; u8 (8), i32 (12) and f32 (13) are");
  refuse(idx(8, {}, ""), "an IDX file has 1 to 6 dimensions, got 0");
  refuse(idx(8, {1, 1, 1, 1, 1, 1, 1}, "a"), "an IDX file has 1 to 6 dimensions, got 7");
  refuse(idx(8, {2, 3}, "").substr(0, 9), "the file ends within its header, which has 2 extents");
  refuse(idx(8, {2, 3}, "abcde"), "the extents [2,3] of u8 need more bytes of elements than the file can hold (5)");
  refuse(idx(8, {2, 3}, "abcdefg"), "the extents need 6 bytes of elements, but more follow the header");
  refuse(idx(12, {0xffffffff, 0xffffffff}, "abcd"),
         "the extents [4294967295,4294967295] of i32 need more bytes of elements than the file can hold (4)");
  refuse(idx(8, {0xffffffff, 0xffffffff, 0xffffffff}, "abcd"), "need more bytes of elements than the file can hold (4)");
}

TEST_F(Idx, NamesWhatIsWrongInCompressedFiles) {
  const auto refuse = [&](const std::string& bytes, const std::string& text) {
    expect_user_error([&] { read_idx(write("images.gz", bytes)); }, text);
  };
  refuse(gzip("hello world"), "images.gz] is no IDX file");
  refuse(gzip(idx(8, {1000}, std::string(999, 'a'))), "the extents need 1000 bytes of elements, but only 999 follow the header");
  refuse(gzip(idx(8, {1000}, std::string(1001, 'a'))), "the extents need 1000 bytes of elements, but more follow the header");
  refuse(gzip(idx(8, {0xffffffff, 0xffff}, "abcd")), "need more bytes of elements than the compressed file can hold");
  const std::string good = gzip(idx(8, {1000}, std::string(1000, 'a')));
  refuse(good.substr(0, good.size() - 9), "the compressed data ends before it is complete; copy or download the file again");
  std::string bad = good;
  bad[bad.size() - 6] = static_cast<char>(bad[bad.size() - 6] ^ 1);
  refuse(bad, "the compressed data is damaged: ");
  refuse(bad, "incorrect data check");
}

class MnistFolder : public DataFiles {
 protected:
  MnistFolder() {
    write("train-images-idx3-ubyte", idx(8, {3, 2, 2}, "aaaabbbbcccc"));
    write("train-labels-idx1-ubyte.gz", gzip(idx(8, {3}, {0, 9, 5})));
    write("t10k-images.idx3-ubyte", idx(8, {1, 2, 2}, "dddd"));
    write("t10k-labels.idx1-ubyte.gz", gzip(idx(8, {1}, {7})));
  }
  void refuse(const std::string& text) const {
    expect_user_error([&] { load_mnist(folder_); }, text);
  }
};

TEST_F(MnistFolder, ReadsEveryNamingOfTheFiles) {
  const Mnist mnist = load_mnist(folder_);
  EXPECT_THAT(mnist.train_images.shape, ElementsAre(3, 2, 2));
  EXPECT_THAT(mnist.train_labels.values<std::uint8_t>(), ElementsAre(0, 9, 5));
  EXPECT_THAT(mnist.test_images.values<std::uint8_t>(), ElementsAre('d', 'd', 'd', 'd'));
  EXPECT_THAT(mnist.test_labels.values<std::uint8_t>(), ElementsAre(7));
}

TEST_F(MnistFolder, NamesWhatIsWrong) {
  expect_user_error([&] { load_mnist(folder_ / "none"); }, "none] is no folder; give the folder that holds the four IDX files of MNIST");
  write("t10k-labels.idx1-ubyte.gz", idx(8, {2}, {7, 3}));
  refuse("there must be one label per image, got 2 labels for 1 images; take both files from one data set");
  write("t10k-labels.idx1-ubyte.gz", idx(8, {1}, {10}));
  refuse("t10k-labels.idx1-ubyte.gz] labels are 0 to 9, got 10 at position 0; the file is damaged or of another data set");
  write("t10k-labels.idx1-ubyte.gz", idx(8, {1, 1}, {1}));
  refuse("labels are u8 with 1 dimensions, got u8[1,1]");
  write("t10k-labels.idx1-ubyte.gz", idx(8, {1}, {1}));
  write("t10k-images.idx3-ubyte", idx(8, {1, 2, 1}, "dd"));
  refuse("training and test images must have one size, got [3,2,2] and [1,2,1]");
  write("t10k-images.idx3-ubyte", idx(8, {0, 2, 2}, ""));
  refuse("t10k-images.idx3-ubyte] the data set is empty, got images of shape [0,2,2]; give a file with at least one");
  std::filesystem::remove(folder_ / "t10k-images.idx3-ubyte");
  refuse("has no file 't10k-images-idx3-ubyte' (with or without .gz); give the folder that holds the four IDX files of MNIST");
}

}  // namespace
}  // namespace sinter::data::data_idx_test
