#include "frontend/data/image_folder.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <numeric>
#include <optional>

#include "frontend/core/ops.h"
#include "frontend/core/random.h"
#include "frontend/data/entries.h"
#include "frontend/data/image_file.h"
#include "runtime/file/disk.h"

namespace sinter::data {

namespace {

namespace fs = std::filesystem;

/// Whether this file alone cannot be read.
bool concerns_one_file(const UserError& error) {
  constexpr std::array codes{ENOENT, EACCES, ELOOP, EINVAL};  // missing, a link that leads nowhere, forbidden, no regular file
  const auto* system = dynamic_cast<const runtime::SystemError*>(&error);
  return !system || std::find(codes.begin(), codes.end(), system->code()) != codes.end();
}

/// Nothing for a file that is skipped.
std::optional<HostArray> read(const fs::path& file, int channels, const ImageFolderOptions& options, std::vector<std::string>& skipped) {
  try {
    return read_image(file, channels);
  } catch (const UserError& error) {
    if (!options.skip_unreadable || !concerns_one_file(error)) throw;
    skipped.push_back(error.what());
    return std::nullopt;
  }
}

/// A data set's images as dense bytes, for all threads.
struct Pixels {
  Type type;
  std::int64_t height, width;
  std::size_t pixel;  ///< bytes per pixel
  std::vector<std::byte> bytes;
  Tensor labels;
  float scale;

  std::size_t image_bytes() const { return static_cast<std::size_t>(height * width) * pixel; }

  /// Writes image `from` to `to`, shifted and mirrored.
  void copy(std::int64_t from, std::byte* to, std::int64_t down, std::int64_t right, bool mirrored) const {
    const std::byte* image = bytes.data() + static_cast<std::size_t>(from) * image_bytes();
    for (std::int64_t h = 0; h < height; ++h)
      for (std::int64_t w = 0; w < width; ++w, to += pixel) {
        const std::int64_t y = h - down, x = (mirrored ? width - 1 - w : w) - right;
        if (y < 0 || y >= height || x < 0 || x >= width) std::fill_n(to, pixel, std::byte{0});
        else std::copy_n(image + static_cast<std::size_t>(y * width + x) * pixel, pixel, to);
      }
  }
};

}  // namespace

Tensor image(const std::string& path, int channels) {
  check_channels(path, channels);
  const HostArray read = read_image(path, channels);
  return Tensor::from_bytes({DType::u8, Shape::fixed(read.shape)}, read.bytes.data());
}

ImageFolder image_folder(const std::string& folder, int channels, const ImageFolderOptions& options) {
  check_channels(folder, channels);
  ImageFolder result;
  HostArray all{DType::u8, {}, {}};
  std::vector<std::int32_t> labels;
  std::string first;
  for (const fs::path& part : entries(folder, true)) {
    const std::size_t before = labels.size();
    const std::vector<fs::path> files = entries(part, false);
    for (const fs::path& file : files) {
      const std::optional<HostArray> image = read(file, channels, options, result.skipped);
      if (!image) continue;
      if (first.empty()) all.shape = image->shape, first = file.string();
      if (image->shape != all.shape)
        throw UserError(file.string(), str("has ", image->shape[0], " × ", image->shape[1], " pixels, but ", first, " has ", all.shape[0], " × ",
                                           all.shape[1], "; resize all to one size"));
      all.bytes.insert(all.bytes.end(), image->bytes.begin(), image->bytes.end());
      labels.push_back(static_cast<std::int32_t>(result.classes.size()));
    }
    if (labels.size() == before)
      throw UserError(part.string(), files.empty() ? "holds no images; remove it, or put some into it"
                                                   : str("none of its files, ", files.size(),
                                                         ", can be read; the first: ", result.skipped[result.skipped.size() - files.size()]));
    result.classes.push_back(part.filename().string());
  }
  if (labels.empty()) throw UserError(folder, "needs a subfolder with images for each class");
  const auto count = static_cast<std::int64_t>(labels.size());
  all.shape.insert(all.shape.begin(), count);
  result.data = {Tensor::from_bytes({DType::u8, Shape::fixed(all.shape)}, all.bytes.data()), Tensor(labels, {count}), 1.0f / 255};
  return result;
}

Generator augmented(const Dataset& data, const AugmentOptions& options) {
  data.check("augmented");
  const Tensor &x = data.x.only(), &y = data.y.only();
  if (x.rank() != 4) throw UserError("augmented", str("needs images [n, height, width, channels], got ", x.type()));
  const std::int64_t height = x.shape()[1].factor(), width = x.shape()[2].factor();
  if (options.shift < 0 || options.shift >= std::min(height, width))
    throw UserError("augmented", str("the shift must be at least 0 and less than the images, got ", options.shift, " for ", height, " × ", width));
  if (options.piece < 1) throw UserError("augmented", str("a piece needs at least 1 image, got ", options.piece));
  const auto pixels = std::make_shared<Pixels>(
      Pixels{x.type(), height, width, static_cast<std::size_t>(x.shape()[3].factor()) * size_of(x.dtype()), {}, y, data.scale});
  pixels->bytes.resize(static_cast<std::size_t>(x.elements()) * size_of(x.dtype()));
  x.copy_to(pixels->bytes.data());
  return [pixels, options, count = data.size()](std::int64_t epoch, std::int64_t piece) -> std::optional<Dataset> {
    const std::int64_t begin = piece * options.piece, end = std::min(count, begin + options.piece);
    if (begin >= count) return std::nullopt;
    std::vector<std::int32_t> order(static_cast<std::size_t>(count));
    std::iota(order.begin(), order.end(), 0);
    RandomStream shuffle(options.seed, static_cast<std::uint64_t>(epoch));
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[shuffle.below(static_cast<std::uint32_t>(i))]);
    const std::vector<std::int32_t> mine(order.begin() + begin, order.begin() + end);
    std::vector<std::byte> made(mine.size() * pixels->image_bytes());
    for (std::size_t i = 0; i < mine.size(); ++i) {
      RandomStream random(options.seed ^ 0x9e3779b97f4a7c15u, static_cast<std::uint64_t>(epoch) << 32 | static_cast<std::uint32_t>(mine[i]));
      const auto shift = [&] { return static_cast<std::int64_t>(random.below(static_cast<std::uint32_t>(2 * options.shift + 1))) - options.shift; };
      const bool mirrored = options.flip && random.below(2);
      const std::int64_t down = shift(), right = shift();
      pixels->copy(mine[i], made.data() + i * pixels->image_bytes(), down, right, mirrored);
    }
    const auto size = static_cast<std::int64_t>(mine.size());
    return Dataset{Tensor::from_bytes({pixels->type.dtype, pixels->type.shape.with(0, size)}, made.data()),
                   gather_rows(pixels->labels, Tensor(mine, {size})), pixels->scale};
  };
}

}  // namespace sinter::data
