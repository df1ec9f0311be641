// PNG and JPEG files.
#pragma once

#include <filesystem>

#include "frontend/data/array.h"

namespace sinter::data {

/// u8 [height, width, channels]: 3 channels are red, green and blue, 1 is grey; whatever the file holds is converted, transparency dropped on black.
/// Told by the file's first bytes. Throws UserError for a file that is missing, neither of both, or damaged, and for images of more than 2^28 pixels.
HostArray read_image(const std::filesystem::path& path, int channels = 3);

}  // namespace sinter::data
