// Pictures of samples in the report: their pixels, and which are shown.
#include <algorithm>

#include "frontend/data/image_file.h"
#include "frontend/report/png.h"
#include "frontend/report/sample_images.h"
#include "tests/frontend/judged_helpers.h"
#include "tests/support/bytes.h"

namespace sinter::test::judged_pictures_test {
namespace {

using report::Judgement;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

/// The bytes behind "base64," of a data URI, up to the quote.
std::string decoded(const std::string& uri) {
  const std::string digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  std::uint32_t bits = 0;
  int count = 0;
  for (const char c : uri.substr(uri.find("base64,") + 7)) {
    if (c == '=' || c == '"') break;
    bits = bits << 6 | static_cast<std::uint32_t>(digits.find(c));
    if ((count += 6) >= 8) bytes += static_cast<char>(bits >> (count -= 8) & 255);
  }
  return bytes;
}

class JudgedPictures : public testing::Test {
 protected:
  /// The pixels of the picture in the page whose alternative text this is.
  std::vector<std::uint8_t> pixels(const std::string& page, const std::string& name, int channels) {
    const std::size_t end = page.find("\" alt=\"" + name + "\""), begin = page.rfind("data:image/png", end);
    const std::string file = folder_ / "picture.png";
    write_bytes(file, decoded(page.substr(begin, end - begin)));
    const data::HostArray image = data::read_image(file, channels);
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(image.bytes.data());
    return {bytes, bytes + image.bytes.size()};
  }
  const TemporaryFolder folder_;
};

TEST_F(JudgedPictures, AreThePixels) {
  for (const std::size_t channels : {1u, 3u})
    for (const std::size_t width : {1u, 5u, 64u}) {  // all three remainders of a division by 3
      std::vector<std::uint8_t> bytes;
      for (std::size_t i = 0; i < 7 * width * channels; ++i) bytes.push_back(static_cast<std::uint8_t>(i * 37));
      const std::string uri = report::png_uri(bytes, 7, width, channels);
      EXPECT_THAT(uri, testing::StartsWith("data:image/png;base64,iVBOR"));
      EXPECT_EQ(pixels(uri + "\" alt=\"x\"", "x", static_cast<int>(channels)), bytes);
    }
}

TEST_F(JudgedPictures, ShowSamplesAndTheWorstMistakes) {
  constexpr std::int64_t samples = 30;
  std::vector<std::uint8_t> bytes;
  std::vector<float> predictions;
  std::vector<std::int32_t> truth;
  for (std::int32_t i = 0; i < samples; ++i) {
    for (int p = 0; p < 64; ++p) bytes.push_back(static_cast<std::uint8_t>(4 * i + p));
    truth.push_back(i % 2);
    const float sure = i == 7 ? 0.9f : i == 8 ? 0.8f : 0.3f;  // that it is the other class
    predictions.insert(predictions.end(), {i % 2 ? sure : 1 - sure, i % 2 ? 1 - sure : sure});
  }
  const Tensor x(bytes, {samples, 8, 8});
  const Judgement judgement = judge(Tensor(predictions, {samples, 2}), classes(truth), {.names = {"cat", "d<g"}});
  const auto shape = report::image_shape(x, {});
  ASSERT_TRUE(shape);
  const std::string page = report::sample_images(judgement, x, *shape);
  EXPECT_EQ(error_in(page), "") << page;
  EXPECT_EQ(count(page, "<img"), 12u + 2u);
  const std::string worst = page.substr(page.find("id=\"mistakes\""));
  EXPECT_LT(worst.find("sample 7<"), worst.find("sample 8<"));
  EXPECT_THAT(worst,
              AllOf(HasSubstr("<b class=\"wrong\">cat</b> 90 %<br/>true: d&lt;g"), HasSubstr("<b class=\"wrong\">d&lt;g</b> 80 %<br/>true: cat")));
  EXPECT_THAT(page, AllOf(HasSubstr("<b class=\"right\">cat</b> 70 %<br/>"), HasSubstr("width=\"96\" height=\"96\"")));
  EXPECT_EQ(pixels(worst, "sample 7", 1), std::vector<std::uint8_t>(bytes.begin() + 7 * 64, bytes.begin() + 8 * 64));
  const Judgement right = judge(Tensor({0.9f, 0.1f}, {1, 2}), classes({0}));
  EXPECT_THAT(report::sample_images(right, slice(x, 0, 0, 1), *shape), HasSubstr("There are no mistakes among these samples."));
}

TEST_F(JudgedPictures, OfFloatsSpanTheirRange) {
  std::vector<float> image(64, 0.0f);
  image[0] = 1;
  image[1] = -1;
  image[2] = nan_float;
  const auto first = [&](float factor, float shift) {
    std::vector<float> numbers = image;
    for (float& x : numbers) x = factor * x + shift;
    const std::string page = report::sample_images(judge(column({1.5f}), column({2.5f})), Tensor(numbers, {1, 64}), {8, 8, 1});
    const std::vector<std::uint8_t> found = pixels(page, "sample 0", 1);
    return std::vector<int>(found.begin(), found.begin() + 4);
  };
  EXPECT_THAT(first(1, 0), ElementsAre(255, 0, 0, 128));          // [-1, 1]
  EXPECT_THAT(first(0.25f, 0.5f), ElementsAre(191, 64, 0, 128));  // [0, 1]
  EXPECT_THAT(first(10, 0), ElementsAre(255, 0, 0, 128));         // what there is
  EXPECT_THAT(first(100, 100), ElementsAre(200, 0, 0, 100));      // [0, 255]
  EXPECT_THAT(first(1000, 1000), ElementsAre(255, 0, 0, 128));
}

TEST_F(JudgedPictures, OfLargeImagesAreShrunkAndOfReconstructionsStandInPairs) {
  // 200 x 100 pixels of three channels: blocks of 3 x 3 become one.
  std::vector<float> numbers(static_cast<std::size_t>(200 * 100 * 3));
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i % 300 / 3 % 3 == 1);  // every third column is white
  const Tensor x(numbers, {1, 200, 100, 3});
  const auto shape = report::image_shape(x, {});
  ASSERT_TRUE(shape);
  const Judgement judgement = report::judge(x * 0.0f, x, {}, x, 1);
  ASSERT_EQ(judgement.kind, Judgement::Kind::reconstruction);
  const std::string page = report::sample_images(judgement, x, *shape);
  EXPECT_EQ(error_in(page), "");
  EXPECT_THAT(page, AllOf(HasSubstr("width=\"34\" height=\"67\""), HasSubstr("Images are shrunk"), HasSubstr("error 0.33")));
  const std::vector<std::uint8_t> original = pixels(page, "sample 0", 3), made = pixels(page, "sample 0, reconstructed", 3);
  EXPECT_EQ(original.size(), 67u * 34 * 3);
  EXPECT_EQ(original[0], 85);  // a third of 255
  EXPECT_EQ(*std::max_element(made.begin(), made.end()), 0);
}

TEST_F(JudgedPictures, HaveAShape) {
  const auto shape = [](const Shape& of, const std::vector<std::int64_t>& given = {}) {
    const auto found = report::image_shape(Tensor::zeros({DType::f32, of}), given);
    return found ? std::vector<std::size_t>{found->height, found->width, found->channels} : std::vector<std::size_t>{};
  };
  EXPECT_THAT(shape({2, 8, 9}), ElementsAre(8, 9, 1));
  EXPECT_THAT(shape({2, 8, 9, 3}), ElementsAre(8, 9, 3));
  EXPECT_THAT(shape({2, 8, 9, 2}), ElementsAre());
  EXPECT_THAT(shape({2, 7, 9}), ElementsAre());
  EXPECT_THAT(shape({2, 64}), ElementsAre());
  EXPECT_THAT(shape({2, 64}, {8, 8}), ElementsAre(8, 8, 1));
  EXPECT_THAT(shape({2, 12}, {2, 2, 3}), ElementsAre(2, 2, 3));
  EXPECT_FALSE(report::image_shape(Tensor::zeros({DType::i32, {2, 8, 9}}), {}));
  for (const std::vector<std::int64_t>& wrong : {std::vector<std::int64_t>{8}, {8, 0}, {8, 8, 2}, {8, 8, 1, 1}})
    EXPECT_EQ(error_of([&] { shape({2, 64}, wrong); }),
              "[report] Options::image must be {height, width} or {height, width, channels} with 1 or 3 channels");
  EXPECT_EQ(error_of([&] { shape({2, 64}, {8, 9}); }), "[report] Options::image has 8 x 9 pixels with 1 number each, but a sample has 64 numbers");
  EXPECT_THAT(error_of([&] { shape({2, 64}, {8, 8, 3}); }), HasSubstr("with 3 numbers each, but a sample has 64 numbers"));
}

}  // namespace
}  // namespace sinter::test::judged_pictures_test
