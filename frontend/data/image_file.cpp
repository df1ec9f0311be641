#include "frontend/data/image_file.h"

#include <png.h>
#include <turbojpeg.h>

#include <array>
#include <cstring>
#include <memory>
#include <span>
#include <type_traits>

#include "ir/error.h"
#include "runtime/file/disk.h"

namespace sinter::data {

namespace {

constexpr std::uint64_t most_pixels = std::uint64_t{1} << 28;

/// `most`: the pixels that a file of this size can hold; nothing is allocated for a larger claim.
HostArray empty_image(const std::string& path, std::uint64_t height, std::uint64_t width, int channels, double most) {
  if (height == 0 || width == 0 || height > most_pixels / width)
    throw UserError(path, str("has ", height, " × ", width, " pixels; images have 1 to ", most_pixels));
  if (static_cast<double>(height * width) > most)
    throw UserError(path, str("claims ", height, " × ", width, " pixels, more than its bytes can hold; it is damaged or truncated"));
  HostArray image{DType::u8, {static_cast<std::int64_t>(height), static_cast<std::int64_t>(width), channels}, {}};
  image.bytes.resize(static_cast<std::size_t>(image.elements()));
  return image;
}

HostArray read_png(const std::string& path, const std::vector<unsigned char>& data, int channels) {
  png_image png{};
  png.version = PNG_IMAGE_VERSION;
  const auto fail = [&] {
    const std::string message = png.message;
    png_image_free(&png);
    throw UserError(path, "is a damaged PNG file: " + message);
  };
  if (!png_image_begin_read_from_memory(&png, data.data(), data.size())) fail();
  png.format = channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
  HostArray image;
  try {
    // Deflate expands one byte to at most 1032; the first chunk, which has been checked, has the bits per pixel.
    constexpr std::size_t depth_place = 24, colour_place = 25;
    constexpr std::array<int, 7> colour_channels{1, 1, 3, 1, 2, 1, 4};
    const int bits = data[depth_place] * colour_channels[data[colour_place]];
    image = empty_image(path, png.height, png.width, channels, static_cast<double>(data.size()) * 1032 * 8 / bits);
  } catch (...) {
    png_image_free(&png);
    throw;
  }
  const png_color black{};
  if (!png_image_finish_read(&png, &black, image.bytes.data(), 0, nullptr)) fail();
  return image;
}

HostArray read_jpeg(const std::string& path, const std::vector<unsigned char>& data, int channels) {
  const std::unique_ptr<std::remove_pointer_t<tjhandle>, int (*)(tjhandle)> jpeg(tjInitDecompress(), tjDestroy);
  const auto fail = [&] { throw UserError(path, str("is a damaged JPEG file: ", tjGetErrorStr2(jpeg.get()))); };
  int width = 0, height = 0, sampling = 0, space = 0;
  const auto size = static_cast<unsigned long>(data.size());
  if (tjDecompressHeader3(jpeg.get(), data.data(), size, &width, &height, &sampling, &space) != 0) fail();
  constexpr double block = 64;  // pixels, for which Huffman coding takes at least a bit
  HostArray image = empty_image(path, static_cast<std::uint64_t>(height), static_cast<std::uint64_t>(width), channels,
                                static_cast<double>(data.size()) * 8 * block);
  auto* to = reinterpret_cast<unsigned char*>(image.bytes.data());
  if (tjDecompress2(jpeg.get(), data.data(), size, to, width, 0, height, channels == 1 ? TJPF_GRAY : TJPF_RGB, TJFLAG_ACCURATEDCT) != 0) fail();
  return image;
}

}  // namespace

HostArray read_image(const std::filesystem::path& path, int channels) {
  const std::string name = path.string();
  if (channels != 1 && channels != 3) throw UserError(name, str("images have 1 or 3 channels, got ", channels));
  const runtime::InputFile file(path);
  std::vector<unsigned char> data(file.size());
  file.read(0, std::as_writable_bytes(std::span(data)));
  constexpr std::array<unsigned char, 4> png{0x89, 'P', 'N', 'G'};
  constexpr std::array<unsigned char, 2> jpeg{0xff, 0xd8};
  const auto begins_with = [&](const auto& first) { return data.size() >= first.size() && std::equal(first.begin(), first.end(), data.begin()); };
  if (begins_with(png)) return read_png(name, data, channels);
  if (begins_with(jpeg)) return read_jpeg(name, data, channels);
  throw UserError(name, "is neither a PNG nor a JPEG file");
}

}  // namespace sinter::data
