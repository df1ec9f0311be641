// Images from files, and changed on their way into training.

#include "frontend/data/image_file.h"
#include "tests/frontend/helpers.h"
#include "tests/support/bytes.h"
#include "tests/support/faulty_files.h"

namespace sinter::test::data_image_test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::string fixtures = SINTER_TEST_FIXTURES;

std::vector<int> bytes_of(const data::HostArray& image) {
  std::vector<int> result;
  for (const std::byte b : image.bytes) result.push_back(static_cast<int>(b));
  return result;
}
std::vector<int> pixels_of(const std::string& file) {
  const std::vector<std::uint8_t> bytes = data::npy(fixtures + file).to_vector<std::uint8_t>();
  return {bytes.begin(), bytes.end()};
}

TEST(ImageFile, PngsAreReadExactly) {
  const data::HostArray rgb = data::read_image(fixtures + "/rgb.png");
  EXPECT_THAT(rgb.shape, ElementsAre(4, 5, 3));
  EXPECT_EQ(bytes_of(rgb), pixels_of("/rgb_pixels.npy"));
  EXPECT_EQ(bytes_of(data::read_image(fixtures + "/grey.png", 1)), pixels_of("/grey_pixels.npy"));
  const std::vector<int> grey = pixels_of("/grey_pixels.npy"), tripled = bytes_of(data::read_image(fixtures + "/grey.png"));
  for (std::size_t i = 0; i < tripled.size(); ++i) EXPECT_EQ(tripled[i], grey[i / 3]);
}

TEST(ImageFile, JpegsAreReadAsOthersReadThem) {
  const data::HostArray image = data::read_image(fixtures + "/smooth.jpg");
  EXPECT_THAT(image.shape, ElementsAre(16, 24, 3));
  const std::vector<int> got = bytes_of(image), wanted = pixels_of("/smooth_pixels.npy");
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], wanted[i], 2);
}

TEST(ImageFile, Mistakes) {
  const TemporaryFolder folder;
  const auto error = [](const std::string& path, int channels = 3) { return error_of([&] { data::read_image(path, channels); }); };
  EXPECT_THAT(error(folder.path + "/none.png"), HasSubstr("none.png] cannot open the file: No such file or directory"));
  EXPECT_THAT(error(fixtures + "/houses.csv"), HasSubstr("houses.csv] is neither a PNG nor a JPEG file; convert it to one of them"));
  EXPECT_THAT(error(fixtures + "/rgb.png", 2), HasSubstr("images have 1 or 3 channels, got 2"));
  for (const std::string name : {"/rgb.png", "/smooth.jpg"}) {
    const std::string bytes = read_bytes(fixtures + name);
    write_bytes(folder.path + name, bytes.substr(0, bytes.size() / 2));
    EXPECT_THAT(error(folder.path + name), HasSubstr("is a damaged "));
  }
}

TEST(ImageFolder, SubfoldersAreClasses) {
  const TemporaryFolder folder;
  for (const std::string part : {"/cats", "/dogs", "/.hidden"}) fs::create_directory(folder.path + part);
  fs::copy(fixtures + "/rgb.png", folder.path + "/dogs/b.png");
  fs::copy(fixtures + "/rgb.png", folder.path + "/cats/c.png");
  fs::copy(fixtures + "/grey.png", folder.path + "/cats/a.png");
  const data::ImageFolder images = data::image_folder(folder.path);
  EXPECT_THAT(images.classes, ElementsAre("cats", "dogs"));
  EXPECT_EQ(images.data.x.only().type(), (Type{DType::u8, {3, 4, 5, 3}}));
  EXPECT_THAT(images.data.y.only().to_vector<std::int32_t>(), ElementsAre(0, 0, 1));
  EXPECT_EQ(images.data.x.only().to_vector<std::uint8_t>()[60], pixels_of("/rgb_pixels.npy")[0]);  // c.png comes after a.png
  fs::copy(fixtures + "/smooth.jpg", folder.path + "/dogs/d.jpg");
  EXPECT_THAT(error_of([&] { data::image_folder(folder.path); }),
              AllOf(HasSubstr("dogs/d.jpg] has 16 × 24 pixels, but "), HasSubstr("cats/a.png has 4 × 5; resize all to one size")));
  fs::remove(folder.path + "/dogs/d.jpg");
  fs::create_directory(folder.path + "/empty");
  EXPECT_THAT(error_of([&] { data::image_folder(folder.path); }), HasSubstr("empty] holds no images"));
  EXPECT_THAT(error_of([&] { data::image_folder(folder.path + "/empty"); }), HasSubstr("needs a subfolder with images for each class"));
  EXPECT_THAT(error_of([&] { data::image_folder(folder.path + "/nowhere"); }), HasSubstr("nowhere] cannot be read: "));
}

TEST(ImageFolder, SkipsWhatCannotBeReadIfAsked) {
  const TemporaryFolder folder;
  for (const std::string part : {"/cats", "/dogs"}) fs::create_directory(folder.path + part);
  fs::copy(fixtures + "/rgb.png", folder.path + "/dogs/b.png");
  fs::copy(fixtures + "/rgb.png", folder.path + "/cats/c.png");
  EXPECT_THAT(data::image_folder(folder.path, 3, {.skip_unreadable = true}).skipped, IsEmpty());
  write_bytes(folder / "cats/a.gif", "GIF89a");
  write_bytes(folder / "cats/empty.png", "");
  const std::string bytes = read_bytes(fixtures + "/rgb.png");
  write_bytes(folder / "dogs/half.png", bytes.substr(0, bytes.size() / 2));
  fs::create_symlink("nowhere", folder / "dogs/link.png");
  EXPECT_THAT(error_of([&] { data::image_folder(folder.path); }), HasSubstr("cats/a.gif] is a GIF picture"));
  const data::ImageFolder images = data::image_folder(folder.path, 3, {.skip_unreadable = true});
  EXPECT_THAT(images.skipped, ElementsAre(HasSubstr("cats/a.gif] is a GIF picture"), HasSubstr("cats/empty.png] is empty"),
                                          HasSubstr("dogs/half.png] is a damaged PNG file"), HasSubstr("dogs/link.png] cannot open the file")));
  EXPECT_THAT(images.data.y.only().to_vector<std::int32_t>(), ElementsAre(0, 1));
  EXPECT_EQ(images.data.x.only().to_vector<std::uint8_t>()[60], pixels_of("/rgb_pixels.npy")[0]);

  const auto error = [&](int channels = 3) { return error_of([&] { data::image_folder(folder.path, channels, {.skip_unreadable = true}); }); };
  EXPECT_THAT(error(2), HasSubstr("images have 1 or 3 channels, got 2"));
  fs::copy(fixtures + "/smooth.jpg", folder.path + "/dogs/d.jpg");  // can be read
  EXPECT_THAT(error(), HasSubstr("dogs/d.jpg] has 16 × 24 pixels, but "));
  fs::remove(folder / "dogs/d.jpg");
  {
    const FailingFiles disk([](FaultyFiles::Call call, std::size_t) { return call == FaultyFiles::Call::open_to_read ? EMFILE : 0; });
    EXPECT_THAT(error(), HasSubstr("Too many open files"));
  }
  fs::remove(folder / "cats/c.png");
  EXPECT_THAT(error(), AllOf(HasSubstr("/cats] none of its files, 2, can be read; the first: ["), HasSubstr("cats/a.gif] is a GIF picture")));
}

TEST(Augmented, IsAFunctionOfSeedEpochAndImage) {
  std::vector<std::uint8_t> x;
  std::vector<std::int32_t> y;
  for (int i = 0; i < 10; ++i) {
    for (int p = 0; p < 12; ++p) x.push_back(static_cast<std::uint8_t>(20 * i + p + 1));
    y.push_back(i);
  }
  const Dataset data{Tensor(x, {10, 3, 4, 1}), Tensor(y, {10}), 0.5f};
  const auto epoch = [&](const Generator& generator, std::int64_t number) {
    std::vector<std::vector<std::uint8_t>> images(10);
    std::vector<std::int32_t> order;
    std::optional<Dataset> piece;
    for (std::int64_t p = 0; (piece = generator(number, p)); ++p) {
      EXPECT_EQ(piece->scale, 0.5f);
      const auto pixels = piece->x.only().to_vector<std::uint8_t>();
      const auto labels = piece->y.only().to_vector<std::int32_t>();
      for (std::size_t i = 0; i < labels.size(); ++i) {
        images[static_cast<std::size_t>(labels[i])].assign(pixels.begin() + static_cast<std::ptrdiff_t>(12 * i),
                                                           pixels.begin() + static_cast<std::ptrdiff_t>(12 * i + 12));
        order.push_back(labels[i]);
      }
    }
    return std::pair(images, order);
  };
  const Generator one = data::augmented(data, {.shift = 1, .seed = 7, .piece = 3}),
                  other = data::augmented(data, {.shift = 1, .seed = 7, .piece = 10});
  const auto [images, order] = epoch(one, 1);
  EXPECT_EQ(order.size(), 10u);
  EXPECT_EQ(epoch(other, 1), std::pair(images, order));  // whatever the pieces
  EXPECT_NE(epoch(one, 2), std::pair(images, order));
  EXPECT_NE(epoch(data::augmented(data, {.shift = 1, .seed = 8}), 1), std::pair(images, order));
  // Each is its image, mirrored or not, moved by at most one pixel.
  for (std::size_t i = 0; i < 10; ++i) {
    bool found = false;
    for (int mirrored = 0; mirrored < 2; ++mirrored)
      for (int down = -1; down <= 1; ++down)
        for (int right = -1; right <= 1; ++right) {
          std::vector<std::uint8_t> expected;
          for (int h = 0; h < 3; ++h)
            for (int w = 0; w < 4; ++w) {
              const int from_h = h - down, from_w = (mirrored ? 3 - w : w) - right;
              expected.push_back(from_h < 0 || from_h > 2 || from_w < 0 || from_w > 3 ? 0
                                                                                      : static_cast<std::uint8_t>(20 * i + 4 * from_h + from_w + 1));
            }
          found = found || expected == images[i];
        }
    EXPECT_TRUE(found) << i;
  }
  const Generator plain = data::augmented(data, {.flip = false});
  for (std::size_t i = 0; i < 10; ++i) EXPECT_EQ(epoch(plain, 3).first[i][0], 20 * i + 1);
  EXPECT_THAT(error_of([&] { data::augmented(data, {.shift = 3}); }),
              HasSubstr("the shift must be at least 0 and less than the images, got 3 for 3 × 4"));
  EXPECT_THAT(error_of([&] { data::augmented({random({2, 3}, 1), random_labels(2, 2, 1)}); }),
              HasSubstr("needs images [n, height, width, channels]"));
}

TEST(Cifar, IsReadAndChecked) {
  const TemporaryFolder folder;
  const auto write = [&](const std::string& name, std::size_t labels, int label, std::size_t extra = 0) {
    std::string record(labels, static_cast<char>(label));
    for (int plane = 0; plane < 3; ++plane)
      for (int p = 0; p < 1024; ++p) record.push_back(static_cast<char>(50 * plane + p % 50));
    write_bytes(folder / name, record + record.substr(0, extra));
  };
  for (int i = 1; i <= 5; ++i) write(str("data_batch_", i, ".bin"), 1, i);
  EXPECT_THAT(error_of([&] { data::cifar10(folder.path); }), HasSubstr("test_batch.bin"));
  write("test_batch.bin", 1, 9);
  const auto [train, test] = data::cifar10(folder.path);
  EXPECT_EQ(train.x.only().type(), (Type{DType::u8, {5, 32, 32, 3}}));
  EXPECT_THAT(train.y.only().to_vector<std::uint8_t>(), ElementsAre(1, 2, 3, 4, 5));
  const auto pixels = test.x.only().to_vector<std::uint8_t>();
  EXPECT_THAT(std::vector<int>(pixels.begin() + 3 * 49, pixels.begin() + 3 * 51), ElementsAre(49, 99, 149, 0, 50, 100));
  write("test_batch.bin", 1, 10);
  EXPECT_THAT(error_of([&] { data::cifar10(folder.path); }), HasSubstr("labels are 0 to 9, got 10"));
  write("test_batch.bin", 1, 9, 100);
  EXPECT_THAT(error_of([&] { data::cifar10(folder.path); }), HasSubstr("must hold whole images of 3073 bytes, but 100 are left at its end"));
  write("train.bin", 2, 99);
  write("test.bin", 2, 5);
  EXPECT_THAT(data::cifar100(folder.path).first.y.only().to_vector<std::uint8_t>(), ElementsAre(99));
}

}  // namespace
}  // namespace sinter::test::data_image_test
