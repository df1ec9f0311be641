#include "frontend/report/png.h"

#include <png.h>

#include <string_view>
#include <vector>

#include "frontend/data/base64.h"
#include "ir/error.h"

namespace sinter::report {

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
  return "data:image/png;base64," + data::base64({reinterpret_cast<const char*>(bytes.data()), size});
}

}  // namespace sinter::report
