// PNG and JPEG files.
#pragma once

#include <filesystem>

#include "frontend/data/array.h"

namespace sinter::data {

/// u8 [height, width, channels]: 3 channels are red, green and blue, 1 is grey; others are converted, transparency is blended with black.
/// The format is detected by the first bytes. Throws UserError for a file that is missing, neither, or damaged, and for more than 2^28 pixels.
HostArray read_image(const std::filesystem::path& path, int channels = 3);

}  // namespace sinter::data
