#include "frontend/data/npy.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "frontend/data/npy_header.h"
#include "tests/frontend/data_files.h"

namespace sinter::data::data_npy_test {
namespace {

using Npy = DataFiles;
using testing::ElementsAre;

template <class T>
std::string raw(std::initializer_list<T> values) {
  return {reinterpret_cast<const char*>(values.begin()), values.size() * sizeof(T)};
}

/// A file as numpy.save would write it, but for its padding.
std::string npy(const std::string& header, const std::string& elements, int version = 1) {
  std::string bytes = "\x93NUMPY";
  bytes += {static_cast<char>(version), 0};
  return bytes + test::little_endian(header.size(), version > 1 ? 4 : 2) + header + elements;
}
std::string header(const std::string& descr, const std::string& shape) {
  return "{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }\n";
}

TEST_F(Npy, ReadsColumnMajorOrder) {
  const auto read = [&](const std::string& descr, const std::string& shape, const std::string& elements) {
    return read_npy(write("a.npy", npy("{'descr': '" + descr + "', 'fortran_order': True, 'shape': " + shape + ", }\n", elements)));
  };
  const HostArray matrix = read("<i4", "(2, 3)", raw<std::int32_t>({1, 4, 2, 5, 3, 6}));  // a saved X.T
  EXPECT_THAT(matrix.shape, ElementsAre(2, 3));
  EXPECT_THAT(matrix.values<std::int32_t>(), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(read("<f8", "(2, 2, 2)", raw({0.0, 4.0, 2.0, 6.0, 1.0, 5.0, 3.0, 7.0})).values<float>(), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_THAT(read("|u1", "(3,)", "abc").values<std::uint8_t>(), ElementsAre('a', 'b', 'c'));
  EXPECT_TRUE(read("<f4", "(0, 3)", "").bytes.empty());
}

TEST_F(Npy, ReadsEachElementType) {
  const auto read = [&](const std::string& descr, const std::string& shape, const std::string& elements) {
    return read_npy(write("a.npy", npy(header(descr, shape), elements)));
  };
  const HostArray f4 = read("<f4", "(2, 1)", raw({1.5f, -2.0f}));
  EXPECT_EQ(f4.dtype, DType::f32);
  EXPECT_THAT(f4.shape, ElementsAre(2, 1));
  EXPECT_THAT(f4.values<float>(), ElementsAre(1.5f, -2.0f));
  EXPECT_THAT(read("<i4", "(2,)", raw<std::int32_t>({7, -7})).values<std::int32_t>(), ElementsAre(7, -7));
  EXPECT_THAT(read("<u4", "(1,)", raw<std::uint32_t>({0xffffffff})).values<std::uint32_t>(), ElementsAre(0xffffffff));
  EXPECT_THAT(read("|u1", "(2,)", "ab").values<std::uint8_t>(), ElementsAre('a', 'b'));
  const HostArray b1 = read("|b1", "(2,)", std::string{0, 1});
  EXPECT_EQ(b1.dtype, DType::boolean);
  EXPECT_THAT(b1.values<std::uint8_t>(), ElementsAre(0, 1));
  const HostArray f8 = read("<f8", "()", raw({0.1}));
  EXPECT_EQ(f8.dtype, DType::f32);
  EXPECT_TRUE(f8.shape.empty());
  EXPECT_THAT(f8.values<float>(), ElementsAre(0.1f));
  EXPECT_TRUE(std::isinf(read("<f8", "()", raw({std::numeric_limits<double>::infinity()})).values<float>()[0]));
  EXPECT_THAT(read("<i8", "(2,)", raw<std::int64_t>({-2147483648, 2147483647})).values<std::int32_t>(),
              ElementsAre(std::numeric_limits<std::int32_t>::min(), 2147483647));
  EXPECT_EQ(read("<f4", "(0, 3)", "").elements(), 0);
}

TEST_F(Npy, ReadsVersionTwoAndOtherSpellings) {
  EXPECT_THAT(read_npy(write("a.npy", npy(header("<f4", "(1,)"), raw({1.0f}), 2))).shape, ElementsAre(1));
  const NpyHeader parsed = parse_npy_header("  {\"shape\" :( 3 ,4 ),\"descr\":\"<f8\" ,'fortran_order':True}   \n", "a");
  EXPECT_EQ(parsed.descr, "<f8");
  EXPECT_TRUE(parsed.fortran_order);
  EXPECT_THAT(parsed.shape, ElementsAre(3, 4));
}

TEST_F(Npy, WritesWhatNumpyWrites) {
  HostArray array{DType::f32, {1, 2}, std::vector<std::byte>(8)};
  array.values<float>()[1] = 2.5f;
  write_npy(folder_ / "a.npy", array);
  const HostArray back = read_npy(folder_ / "a.npy");
  EXPECT_EQ(back.dtype, array.dtype);
  EXPECT_EQ(back.shape, array.shape);
  EXPECT_EQ(back.bytes, array.bytes);
  EXPECT_EQ(std::filesystem::file_size(folder_ / "a.npy"), 128u + 8) << "elements begin on a multiple of 64";
  EXPECT_EQ(npy_header_text({"<f4", false, {}}), "{'descr': '<f4', 'fortran_order': False, 'shape': (), }");
  EXPECT_EQ(npy_header_text({"<i4", false, {5}}), "{'descr': '<i4', 'fortran_order': False, 'shape': (5,), }");
  EXPECT_EQ(npy_header_text({"|u1", false, {5, 6}}), "{'descr': '|u1', 'fortran_order': False, 'shape': (5, 6), }");
  array.shape = {3};
  expect_user_error([&] { write_npy(folder_ / "b.npy", array); }, "b.npy] an array of f32[3] takes 12 bytes, got 8");
}

TEST_F(Npy, NamesWhatIsWrong) {
  const auto refuse = [&](const std::string& bytes, const std::string& text) {
    expect_user_error([&] { read_npy(write("w.npy", bytes)); }, "w.npy] ");
    expect_user_error([&] { read_npy(write("w.npy", bytes)); }, text);
  };
  const std::string one = raw({1.0f});
  expect_user_error([&] { read_npy(folder_ / "missing.npy"); }, "missing.npy] cannot open the file: No such file or directory");
  refuse("", "is no .npy file: it does not begin with NumPy's magic string; write it with numpy.save");
  refuse("PK\3\4 a zip archive, as .npz is", "is no .npy file");
  refuse(npy(header("<f4", "(1,)"), one, 3), ".npy format version 3 is not supported, 1 and 2 are");
  refuse(npy(header("<f4", "(1,)"), one).substr(0, 40), "the header takes 58 bytes, but the file has 40; copy it again");
  refuse(npy(header(">f4", "(1,)"), one), "element type '>f4' is not supported; convert it with array.astype('<f4')");
  refuse(npy(header("|O", "(1,)"), one), "element type '|O' is not supported");
  refuse(npy(header("<f4", "(2,)"), one), "shape [2] of '<f4' needs 8 bytes of elements, but 4 follow the header; copy or write the file again");
  refuse(npy(header("<f4", "()"), one + "x"), "shape [] of '<f4' needs 4 bytes of elements, but 5 follow the header");
  refuse(npy(header("<f4", "(4611686018427387904, 4)"), one), "needs far more bytes of elements, but 4 follow the header");
  refuse(npy(header("<f4", "(1, 1, 1, 1, 1, 1, 1)"), one), "has 7 dimensions, at most 6 are supported; reshape it");
  refuse(npy(header("<f8", "(2,)"), raw({1.0, 1e300})), "element 1 is 1e+300, which is too large for f32; scale the data");
  refuse(npy(header("<i8", "(1,)"), raw<std::int64_t>({1LL << 31})), "element 0 is 2147483648, which does not fit i32");
  refuse(npy(header("|b1", "(1,)"), "\2"), "holds a bool that is neither 0 nor 1");
  refuse(npy("['descr']", one), "the .npy header is damaged at its byte 0: expected '{'; write the file with numpy.save");
  refuse(npy("{'descr': '<f4'}", one), "'descr', 'fortran_order' and 'shape' are needed");
  refuse(npy("{'descr': '<f4', 'descr': '<f4'}", one), "'descr' is given twice");
  refuse(npy("{'dtype': '<f4'}", one), "damaged at its byte 9: 'dtype' is unknown");
  refuse(npy("{'descr': [('a', '<f4')]}", one), "expected a quoted text");
  refuse(npy("{'descr': '<f4", one), "a quote is not closed");
  refuse(npy("{'fortran_order': Maybe}", one), "expected True or False");
  refuse(npy("{'shape': (-1,)}", one), "expected an extent");
  refuse(npy(header("<f4", "(1,)") + "x", one), "more text follows the dictionary");
}

}  // namespace
}  // namespace sinter::data::data_npy_test
