#include "frontend/data/image_decoder.h"

#include <cstring>

#include "ir/error.h"

namespace sinter::data {

void Escape::fail(const char* message) {
  std::strncpy(message_.data(), message, message_.size() - 1);
  std::longjmp(place_, 1);
}

HostArray empty_image(const std::string& path, std::uint64_t height, std::uint64_t width, int channels, double most) {
  constexpr std::uint64_t most_pixels = std::uint64_t{1} << 28;
  if (height == 0 || width == 0 || height > most_pixels / width)
    throw UserError(path, str("has ", height, " × ", width, " pixels; images have 1 to ", most_pixels));
  if (static_cast<double>(height * width) > most)
    throw UserError(path, str("claims ", height, " × ", width, " pixels, more than its bytes can hold; it is damaged or truncated"));
  HostArray image{DType::u8, {static_cast<std::int64_t>(height), static_cast<std::int64_t>(width), channels}, {}};
  image.bytes.resize(static_cast<std::size_t>(image.elements()));
  return image;
}

unsigned char* row_of(HostArray& image, std::size_t y) {
  return reinterpret_cast<unsigned char*>(image.bytes.data()) + y * static_cast<std::size_t>(image.shape[1] * image.shape[2]);
}

void write_row(const unsigned char* from, int stored, std::size_t pixels, unsigned char* to, int channels) {
  const int colours = stored < 3 ? 1 : 3;
  for (; pixels > 0; --pixels, from += stored, to += channels) {
    const unsigned factor = stored == colours ? 255 : from[colours];
    const auto colour = [&](int c) { return (from[colours == 1 ? 0 : c] * factor + 127) / 255; };
    if (channels == 1) to[0] = static_cast<unsigned char>((19595 * colour(0) + 38470 * colour(1) + 7471 * colour(2) + 32768) >> 16);
    else
      for (int c = 0; c < 3; ++c) to[c] = static_cast<unsigned char>(colour(c));
  }
}

}  // namespace sinter::data
