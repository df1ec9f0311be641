// PNG and JPEG files.
#pragma once

#include <filesystem>
#include <string>

#include "frontend/data/array.h"

namespace sinter::data {

/// u8 [height, width, channels]: 3 channels are red, green and blue, 1 is grey; others are converted. Values are those stored in the file: of 16 bits
/// the high byte, without regard to gamma, profiles or a rotation; transparency is blended with black, round(value · alpha / 255). Grey is made of
/// colours as in ITU-R BT.601; of a JPEG it is Y. CMYK is read as Adobe's programs store it, inverted.
/// The format is detected by the first bytes. Throws UserError for a file that is missing, of another kind (which it names), or damaged, and for more
/// than 2^28 pixels.
HostArray read_image(const std::filesystem::path& path, int channels = 3);

/// Throws UserError unless there are 1 or 3.
void check_channels(const std::string& where, int channels);

}  // namespace sinter::data
