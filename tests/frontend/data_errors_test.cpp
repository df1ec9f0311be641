// What readers of images, arrays and weights say to files that are not what they should be.
#include <zlib.h>

#include <filesystem>

#include "frontend/data/cifar.h"
#include "frontend/data/image_file.h"
#include "frontend/data/npz.h"
#include "frontend/data/safetensors.h"
#include "tests/frontend/mistakes.h"
#include "tests/support/bytes.h"

namespace sinter::test::data_errors_test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

const std::string fixtures = SINTER_TEST_FIXTURES;

class DataErrors : public testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& bytes) const {
    write_bytes(folder_ / name, bytes);
    return folder_.path + "/" + name;
  }
  const TemporaryFolder folder_;
};

TEST_F(DataErrors, OfImages) {
  const std::string png = read_bytes(fixtures + "/rgb.png"), jpeg = read_bytes(fixtures + "/smooth.jpg");
  const auto claiming = [&](std::uint32_t width, std::uint32_t height) {
    const auto put = [](std::string& bytes, std::size_t at, std::uint32_t value) { bytes.replace(at, 4, big_endian(value)); };
    std::string bytes = png;  // a head of 8 bytes, then length, "IHDR", width, height, five bytes, and the checksum of all but the length
    put(bytes, 16, width);
    put(bytes, 20, height);
    put(bytes, 29, static_cast<std::uint32_t>(crc32(0, reinterpret_cast<const Bytef*>(bytes.data() + 12), 17)));
    return write(str(width, ".png"), bytes);
  };
  const std::string half = write("half.png", png.substr(0, png.size() / 2)), cut = write("half.jpg", jpeg.substr(0, jpeg.size() / 2));
  expect_errors({{"half.png] is a damaged PNG file: ", [&] { data::read_image(half); }},
                 {"half.jpg] is a damaged JPEG file: ", [&] { data::read_image(cut); }},
                 {"32768.png] has 16384 × 32768 pixels; images have 1 to 268435456", [&] { data::read_image(claiming(32768, 16384)); }},
                 {"4000.png] claims 5000 × 4000 pixels, more than its bytes can hold; it is damaged or truncated",
                  [&] { data::read_image(claiming(4000, 5000)); }}});
  const std::string classes = folder_.path + "/classes";
  fs::create_directories(classes + "/empty");
  expect_errors({{"/empty] holds no images; remove it, or put some into it", [&] { data::image_folder(classes); }},
                 {"[augmented] a piece needs at least 1 image, got 0",
                  [] { data::augmented({Tensor::zeros({DType::u8, {2, 4, 4, 1}}), random_labels(2, 2, 1)}, {.piece = 0}); }},
                 {"[CIFAR] there are 10 or 100 classes, got 7", [&] { data::load_cifar(folder_.path, 7); }}});
}

TEST_F(DataErrors, OfNpz) {
  const data::HostArray one{DType::u8, {2}, std::vector<std::byte>(2)};
  const std::string good = folder_.path + "/good.npz";
  data::write_npz(good, {{"a", one}});
  std::string renamed = read_bytes(good);
  for (std::size_t at = 0; (at = renamed.find("a.npy", at)) != std::string::npos;) renamed.replace(at, 5, "a.txt");
  std::string packed = read_bytes(good);  // by a method that there is none of, in the member's head and in the directory
  packed[8] = 77;
  packed[packed.find("PK\1\2") + 10] = 77;
  const std::string text = write("text.npz", renamed), strange = write("strange.npz", packed);
  expect_errors(
      {{"text.npz, a.txt] is no .npy file; an .npz holds nothing else", [&] { data::read_npz(text); }},
       {"strange.npz, a.npy] is damaged or packed in a way that cannot be read; copy or write the file again", [&] { data::read_npz(strange); }},
       {"needs a different name for each array, got 'a'", [&] { data::write_npz(good, {{"a", one}, {"a", one}}); }},
       {"there are no arrays to write; an .npz file holds at least one", [&] { data::write_npz(good, {}); }},
       {"good.npz] a name must be UTF-8 without control characters, got '\\xff'", [&] { data::write_npz(good, {{"\xff", one}}); }},
       {"folder.npz] cannot write the file: failed to create it (", [&] { data::write_npz(folder_.path + "/no/folder.npz", {{"a", one}}); }}});
}

TEST_F(DataErrors, OfSafetensors) {
  const auto file = [&](const std::string& header) { return write("file.safetensors", little_endian(header.size()) + header); };
  expect_errors(
      {{"file.safetensors] nests arrays and objects more than 3 deep", [&] { data::read_safetensors(file(R"({"a":{"shape":[[[[1]]]]}})")); }},
       {"file.safetensors] the header is damaged (", [&] { data::read_safetensors(file(R"({"a":)")); }},
       {"needs a different name for each tensor, none of them '__metadata__', got 'a'", [&] {
          const data::HostArray one{DType::f32, {1}, std::vector<std::byte>(4)};
          data::write_safetensors(folder_.path + "/twice.safetensors", {{"a", one}, {"a", one}});
        }}});
}

TEST_F(DataErrors, OfKerasWeights) {
  const std::string text = write("text.weights.h5", "\x89HDF\r\n\x1a\n and no more");
  EXPECT_THAT(error_of([&] { weights::read(text); }), HasSubstr("text.weights.h5] is HDF5 of version 32, Keras writes version 0"));
}

TEST_F(DataErrors, OfEncoders) {
  const data::Table table{{"x", "y"}, {{"1", "2"}, {"3", "4"}}};
  const data::Encoder plain = data::Encoder::fit(table, {}), encoder = data::Encoder::fit(table, {.target = "y"});
  EXPECT_FALSE(plain.has_target());
  EXPECT_TRUE(encoder.has_target());
  EXPECT_EQ(encoder.target_name(), "y");
  EXPECT_EQ(encoder.dataset(table).size(), 2);
  const data::Table words{{"x", "y"}, {{"1"}, {"many"}}};
  expect_errors(
      {{"[encoder] the description is damaged ([json", [] { data::Encoder::from_json("{"); }},
       {"[encoder] the description is damaged: column 'x' has mean 0 and deviation -1",
        [] {
          data::Encoder::from_json(
              R"({"version":1,"target":-1,"columns":[{"name":"x","categorical":false,"mean":0,"deviation":-1,"missing":false,"categories":[]}]})");
        }},
       {"[encoder] was made without a target", [&] { (void)plain.target(table); }},
       {"[encoder] column 'y' holds numbers, but 1 of its 1 fields cannot be read as numbers that f32 can hold: line 1 'many'; fix them",
        [&] { (void)encoder.target(words); }},
       {"[encoder] version 7 is not known; it needs a newer version of Sinter", [] { data::Encoder::from_json(R"({"version":7})"); }},
       {"[encoder] the description is damaged: target 3 of 0 columns",
        [] { data::Encoder::from_json(R"({"version":1,"target":3,"columns":[]})"); }}});
}

/// Files of MNIST, arrays and tables are told apart by what they hold.
TEST_F(DataErrors, KindsOfFilesAreToldApart) {
  EXPECT_TRUE(data::is_table(fixtures + "/houses.csv"));
  EXPECT_FALSE(data::is_table(fixtures + "/x.npy"));
  EXPECT_EQ(data::array(fixtures + "/x.npy").to_vector<float>(), data::npy(fixtures + "/x.npy").to_vector<float>());
  const std::string idx = write("labels", std::string("\0\0\x08\x01\0\0\0\x02\x07\x09", 10));
  EXPECT_FALSE(data::is_table(idx));
  EXPECT_THAT(data::array(idx).to_vector<std::uint8_t>(), testing::ElementsAre(7, 9));
  const std::string images("\0\0\x08\x03\0\0\0\x01\0\0\0\x02\0\0\0\x02\x01\x02\x03\x04", 20), labels("\0\0\x08\x01\0\0\0\x01\x05", 9);
  for (const std::string part : {"train", "t10k"}) write(part + "-images-idx3-ubyte", images), write(part + "-labels-idx1-ubyte", labels);
  const auto [train, test] = data::mnist(folder_.path);
  EXPECT_EQ(train.x.only().shape(), Shape({1, 4})) << "an image is a row of pixels";
  EXPECT_EQ(test.scale, 1.0f / 255);
  EXPECT_THAT(test.y.only().to_vector<std::uint8_t>(), testing::ElementsAre(5));
  EXPECT_THAT(error_of([&] { data::is_table(write("empty", "")); }), HasSubstr("empty] has 0 bytes, too few for data"));
}

}  // namespace
}  // namespace sinter::test::data_errors_test
