// Arrays are read and written a part at a time: what lies on both sides of a part's end is right.
#include "frontend/data/array_stream.h"

#include <cstring>
#include <filesystem>
#include <fstream>

#include "frontend/data/npz.h"
#include "frontend/data/safetensors.h"
#include "frontend/weights/keras.h"
#include "tests/frontend/helpers.h"
#include "tests/support/temporary_folder.h"

namespace sinter::test::array_stream_test {
namespace {

using ::testing::HasSubstr;

/// More than a part, with rows that are padded in memory and rows that are not.
TEST(ArrayStream, WeightsOfSeveralPartsRoundTrip) {
  const TemporaryFolder folder;
  const weights::StateDict tensors{{"padded", random({9000, 70}, 1)},  {"dense", random({300000, 3}, 2)},
                                   {"column", random({700000, 1}, 3)}, {"row", random({600001}, 4)},
                                   {"scalar", Tensor(3.5f)},           {"bytes", cast(random({2000001}, 5, 0, 255), DType::u8)},
                                   {"wide", random({2, 500000}, 6)}};
  for (const char* name : {"weights.safetensors", "weights.npz"}) {
    weights::write(folder / name, tensors);
    const weights::StateDict read = weights::read(folder / name);
    ASSERT_EQ(read.size(), tensors.size());
    for (std::size_t i = 0; i < read.size(); ++i) {
      EXPECT_EQ(read[i].first, tensors[i].first);
      ASSERT_EQ(read[i].second.type(), tensors[i].second.type());
      if (is_float(read[i].second.dtype())) EXPECT_EQ(read[i].second.to_vector<float>(), tensors[i].second.to_vector<float>()) << read[i].first;
      else EXPECT_EQ(read[i].second.to_vector<std::uint8_t>(), tensors[i].second.to_vector<std::uint8_t>());
    }
  }
}

/// One file of each kind by the visitors, against what reads all of it.
TEST(ArrayStream, VisitorsSeeWhatReadersReturn) {
  const TemporaryFolder folder;
  data::HostArray numbers{DType::i32, {5, 3}, std::vector<std::byte>(60)};
  for (std::size_t i = 0; i < numbers.bytes.size(); ++i) numbers.bytes[i] = static_cast<std::byte>(i * 7);
  const data::NamedArrays arrays{{"a", numbers}, {"b", {DType::boolean, {2}, {std::byte{1}, std::byte{0}}}}};
  const auto expect_same = [&](const auto& visit) {
    std::size_t next = 0;
    visit([&](const std::string& name, data::ArrayReader& array) {
      ASSERT_LT(next, arrays.size());
      const auto& [wanted_name, wanted] = arrays[next++];
      EXPECT_EQ(name, wanted_name);
      EXPECT_EQ(array.dtype(), wanted.dtype);
      EXPECT_EQ(array.shape(), wanted.shape);
      // Element by element, then the rest.
      std::vector<std::byte> first(size_of(wanted.dtype)), rest(wanted.bytes.size() - first.size());
      array.read(first);
      array.read(rest);
      EXPECT_TRUE(std::equal(first.begin(), first.end(), wanted.bytes.begin()));
      EXPECT_TRUE(std::equal(rest.begin(), rest.end(), wanted.bytes.begin() + static_cast<std::ptrdiff_t>(first.size())));
    });
    EXPECT_EQ(next, arrays.size());
  };
  const std::vector<data::ArrayWriter> writers = data::writers_of("memory", arrays);
  data::stream_npz(folder / "a.npz", writers);
  expect_same([&](const data::ArrayVisitor& visit) { data::visit_npz(folder / "a.npz", visit); });
  data::stream_safetensors(folder / "a.safetensors", writers);
  expect_same([&](const data::ArrayVisitor& visit) { data::visit_safetensors(folder / "a.safetensors", visit); });
  std::size_t count = 0;
  const std::filesystem::path keras = std::filesystem::path(SINTER_TEST_FIXTURES) / "keras_dense.weights.h5";
  weights::visit_keras(keras, [&](const std::string&, data::ArrayReader& array) { count += array.array().bytes.size() > 0; });
  EXPECT_EQ(count, weights::read_keras(keras).size());
}

TEST(ArrayStream, ErrorsNumberElementsThroughAllParts) {
  const TemporaryFolder folder;
  constexpr std::size_t count = 400000, at = 300001;
  std::vector<double> numbers(count, 0.5);
  numbers[at] = 1e300;
  const std::string header = str(R"({"x":{"dtype":"F64","shape":[)", count, R"(],"data_offsets":[0,)", 8 * count, "]}}");
  const std::uint64_t length = header.size();
  std::ofstream file(folder / "x.safetensors", std::ios::binary);
  file.write(reinterpret_cast<const char*>(&length), sizeof length);
  file << header;
  file.write(reinterpret_cast<const char*>(numbers.data()), static_cast<std::streamsize>(8 * count));
  file.close();
  EXPECT_THAT(error_of([&] { weights::read(folder / "x.safetensors"); }),
              HasSubstr("x.safetensors, x] element 300001 is 1e+300, which is too large for f32"));
}

TEST(ArrayStream, BytesThatDoNotFitTheShapeAreAnError) {
  const data::NamedArrays arrays{{"a", {DType::f32, {2, 3}, std::vector<std::byte>(20)}}};
  EXPECT_THAT(error_of([&] { data::writers_of("file", arrays); }), HasSubstr("[file, a] an array of f32[2,3] takes 24 bytes, got 20"));
}

}  // namespace
}  // namespace sinter::test::array_stream_test
