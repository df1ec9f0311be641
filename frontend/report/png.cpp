#include "frontend/report/png.h"

#include <png.h>

#include <vector>

#include "ir/error.h"

namespace sinter::report {

namespace {

/// RFC 4648, section 4.
std::string base64(std::span<const png_byte> bytes) {
  constexpr const char* digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - i);
    std::uint32_t three = 0;
    for (std::size_t k = 0; k < 3; ++k) three = three << 8 | (k < count ? bytes[i + k] : 0u);
    for (std::size_t k = 0; k < 4; ++k) text += k <= count ? digits[three >> (18 - 6 * k) & 63] : '=';
  }
  return text;
}

}  // namespace

std::string png_uri(std::span<const std::uint8_t> pixels, std::size_t height, std::size_t width, std::size_t channels) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(width);
  image.height = static_cast<png_uint_32>(height);
  image.format = channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(image);
  std::vector<png_byte> bytes(size);
  if (!png_image_write_to_memory(&image, bytes.data(), &size, 0, pixels.data(), 0, nullptr))
    throw InternalError("png", str("a picture of ", width, " x ", height, " pixels cannot be written: ", image.message));
  bytes.resize(size);
  return "data:image/png;base64," + base64(bytes);
}

}  // namespace sinter::report
