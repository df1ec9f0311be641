// Pictures of every kind (tests/fixtures/pictures) are read as Pillow reads them, and what is none, or of another kind, is named.
#include <algorithm>
#include <tuple>

#include "frontend/data/image_decoder.h"
#include "frontend/data/image_file.h"
#include "frontend/data/npz.h"
#include "tests/frontend/helpers.h"
#include "tests/support/bytes.h"

namespace sinter::test::data_pictures_test {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

const fs::path folder = fs::path(SINTER_TEST_FIXTURES) / "pictures";

std::vector<fs::path> pictures() {
  std::vector<fs::path> result;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder))
    if (entry.path().extension() == ".png" || entry.path().extension() == ".jpg") result.push_back(entry.path());
  std::sort(result.begin(), result.end());
  return result;
}
std::vector<int> bytes_of(const data::HostArray& image) {
  std::vector<int> result;
  for (const std::byte b : image.bytes) result.push_back(static_cast<int>(b));
  return result;
}

TEST(Pictures, AreReadAsPillowReadsThem) {
  data::NamedArrays expected = data::read_npz(folder / "expected.npz");
  const auto array = [&](const std::string& name) {
    return std::find_if(expected.begin(), expected.end(), [&](auto& a) { return a.first == name; })->second;
  };
  const data::HostArray sizes = array("sizes");
  const std::vector<fs::path> files = pictures();
  ASSERT_EQ(sizes.shape[0], static_cast<std::int64_t>(files.size()));
  ASSERT_GE(files.size(), 90u);
  for (const auto& [name, channels] : {std::pair("rgb", 3), std::pair("grey", 1)}) {
    const data::HostArray pixels = array(name);
    auto at = pixels.values<std::uint8_t>().begin();
    for (std::size_t i = 0; i < files.size(); ++i) {
      SCOPED_TRACE(str(files[i].filename().string(), " as ", name));
      const std::int64_t height = sizes.values<std::int32_t>()[2 * i], width = sizes.values<std::int32_t>()[2 * i + 1];
      const auto end = at + height * width * channels;
      data::HostArray image;
      EXPECT_EQ(error_of([&] { image = data::read_image(files[i], channels); }), "");
      EXPECT_THAT(image.shape, ElementsAre(height, width, channels));
      EXPECT_EQ(bytes_of(image), std::vector<int>(at, end));
      at = end;
    }
    EXPECT_EQ(at, pixels.values<std::uint8_t>().end());
  }
}

TEST(Pictures, SixteenBitsBecomeTheirHighByte) {
  EXPECT_THAT(bytes_of(data::read_image(folder / "grey16_steps.png", 1)), ElementsAre(0, 16, 64, 128, 255));
}

TEST(Pictures, ColoursBecomeGreyAlikeFromPngAndJpeg) {
  for (const auto& [name, grey] : {std::pair("red", 76), std::pair("green", 150), std::pair("blue", 29)})
    for (const std::string& file : {str("rgb8_", name, ".png"), str("jpeg_", name, ".jpg")})
      EXPECT_THAT(bytes_of(data::read_image(folder / file, 1)), testing::Each(grey)) << file;
}

TEST(Pictures, TransparencyIsBlendedWithBlackInStoredValues) {
  const auto row = [](std::vector<unsigned char> from, int stored, int channels) {
    std::vector<unsigned char> to(from.size() / static_cast<std::size_t>(stored) * static_cast<std::size_t>(channels));
    data::write_row(from.data(), stored, from.size() / static_cast<std::size_t>(stored), to.data(), channels);
    return std::vector<int>(to.begin(), to.end());
  };
  EXPECT_THAT(row({255, 128, 100, 255, 77, 0, 3, 85, 1, 127, 1, 128}, 2, 1), ElementsAre(128, 100, 0, 1, 0, 1));
  EXPECT_THAT(row({255, 128, 10, 128}, 4, 3), ElementsAre(128, 64, 5));
  EXPECT_THAT(row({255, 0, 0, 128}, 4, 1), ElementsAre(38));
  for (int v = 0; v < 256; ++v) EXPECT_THAT(row(std::vector<unsigned char>(3, static_cast<unsigned char>(v)), 3, 1), ElementsAre(v));
}

TEST(Pictures, BytesThatEveryReaderSkipsChangeNothing) {
  const std::string usual = read_bytes(folder / "jpeg_restarts.jpg");
  const TemporaryFolder temporary;
  const std::string path = temporary / "p.jpg";
  const data::HostArray image = data::read_image(folder / "jpeg_restarts.jpg");
  write_bytes(path, usual.substr(0, usual.size() - 2) + std::string(50, 'x') + "\xff\xd9");
  EXPECT_EQ(bytes_of(data::read_image(path)), bytes_of(image));
  const std::size_t scan = usual.find("\xff\xda");  // but where pixels are lost, that is an error
  write_bytes(path, usual.substr(0, scan + 60) + "\xff\xd9");
  EXPECT_THAT(error_of([&] { data::read_image(path); }), HasSubstr("is a damaged JPEG file: Corrupt JPEG data: "));
}

TEST(Pictures, OfKindsThatAreNotReadAreNamed) {
  using namespace std::string_literals;
  const TemporaryFolder temporary;
  const std::string path = temporary / "picture";
  const auto error = [&](const std::string& bytes) {
    write_bytes(path, bytes);
    return error_of([&] { data::read_image(path); });
  };
  for (const auto& [bytes, kind] : std::initializer_list<std::pair<std::string, std::string>>{
           {"RIFF\x24\0\0\0WEBPVP8 "s, "a WebP picture"},
           {"GIF89a\1\0\1\0"s, "a GIF picture"},
           {"BM\x46\0\0\0\0\0\0\0\x36\0\0\0"s, "a BMP picture"},
           {"II*\0\x08\0\0\0"s, "a TIFF picture"},
           {"MM\0*\0\0\0\x08"s, "a TIFF picture"},
           {"\0\0\0\x18"
            "ftypheic\0\0\0\0mif1heic"s,
            "a HEIC picture"},
           {"\0\0\0\x20"
            "ftypavif\0\0\0\0avifmif1"s,
            "an AVIF picture"},
           {"\0\0\0\x20"
            "ftypmif1\0\0\0\0mif1avif"s,
            "an AVIF picture"},
           {"\0\0\0\x0cjP  \r\n\x87\n"s, "a JPEG 2000 picture"},
           {"\xff\x0a\x7f\0"s, "a JPEG XL picture"},
           {"8BPS\0\1"s, "a Photoshop picture"},
           {"%PDF-1.7\n", "a PDF document"},
           {"\xef\xbb\xbf\n<?xml version=\"1.0\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\"/>", "an SVG picture"}})
    EXPECT_THAT(error(bytes), HasSubstr("picture] is " + kind + ", and no PNG or JPEG file; convert it to one of them"));
  for (const std::string page : {"<!DOCTYPE html>\n<html>", "\r\n<html lang=en>", "<!-- saved -->\n<HTML>"})
    EXPECT_THAT(error(page), HasSubstr("picture] is an HTML page, and no PNG or JPEG file; download the picture itself"));
  EXPECT_THAT(error(""), HasSubstr("picture] is empty, and no PNG or JPEG file; copy or download it again"));
  for (const std::string& other : {"BMI,age\n1,2\n"s, "G"s, "a < b"s,
                                   "\0\0\0\x18"
                                   "ftypisom"s})
    EXPECT_THAT(error(other), HasSubstr("picture] is neither a PNG nor a JPEG file; convert it to one of them"));

  const auto patched = [](const std::string& name, const std::string& marker, std::size_t at, char byte) {
    std::string bytes = read_bytes(folder / name);
    bytes[bytes.find(marker) + at] = byte;
    return bytes;
  };
  const std::string frame = "\xff\xc0", refused = "is a JPEG file of a kind that is not read: ";
  EXPECT_THAT(error(patched("jpeg_444.jpg", frame, 4, 12)), HasSubstr(refused + "Unsupported JPEG data precision 12"));
  EXPECT_THAT(error(patched("jpeg_444.jpg", frame, 1, '\xc3')), HasSubstr(refused + "Unsupported JPEG process: SOF type 0xc3"));
  std::string two = patched("jpeg_444.jpg", frame, 9, 2);  // without the third component, in the frame and in the scan
  two.erase(two.find(frame) + 16, 3)[two.find(frame) + 3] = 14;
  const std::size_t scan = two.find("\xff\xda");
  two.erase(scan + 9, 2)[scan + 3] = 10;
  two[scan + 4] = 2;
  EXPECT_THAT(error(two), HasSubstr(refused + "has 2 components; save it as a usual one, or as PNG"));
}

TEST(Pictures, OfTooManyScansAreRefused) {
  std::string bytes = read_bytes(folder / "jpeg_grey_progressive.jpg");
  const std::size_t begin = bytes.find("\xff\xda");
  const std::string scan = bytes.substr(begin, bytes.find("\xff\xc4", begin) - begin);
  for (int i = 0; i < 500; ++i) bytes.insert(begin, scan);
  const TemporaryFolder temporary;
  write_bytes(temporary / "p.jpg", bytes);
  EXPECT_THAT(error_of([&] { data::read_image(temporary / "p.jpg"); }), HasSubstr("is a damaged JPEG file: it has more than 500 scans"));
}

TEST(Pictures, WithADamagedTransparencyAreRefused) {
  std::string bytes = read_bytes(folder / "palette8_transparent.png");
  bytes[bytes.find("tRNS") + 5] ^= 1;
  const TemporaryFolder temporary;
  write_bytes(temporary / "p.png", bytes);
  EXPECT_THAT(error_of([&] { data::read_image(temporary / "p.png"); }), HasSubstr("is a damaged PNG file: tRNS: CRC error"));
}

}  // namespace
}  // namespace sinter::test::data_pictures_test
