// Images for training: from folders, and changed at random on the way.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "frontend/train/generator.h"

namespace sinter::data {

struct ImageFolder {
  Dataset data;                      ///< x u8 [n, height, width, channels] with scale 1/255, y u8 or i32 [n]
  std::vector<std::string> classes;  ///< names of the subfolders, in the order of their numbers
};

/// PNG and JPEG files in a subfolder a class, in the order of their names. Throws UserError for a folder without subfolders, a subfolder without
/// images, a file that cannot be read, and images of different sizes (naming both files).
ImageFolder image_folder(const std::string& folder, int channels = 3);

struct AugmentOptions {
  bool flip = true;        ///< left and right, every other image
  std::int64_t shift = 0;  ///< up to so many pixels in each direction; what comes in is 0
  std::uint64_t seed = 0;
  std::int64_t piece = 4096;  ///< images made at a time
};
/// Images [n, height, width, channels] in an order of its own each epoch, changed anew: for Trainer::fit, which prefetches them. What becomes of an
/// image depends on seed, epoch and its number alone. Throws UserError for other data and for a shift as large as an image.
Generator augmented(const Dataset& data, const AugmentOptions& options = {});

}  // namespace sinter::data
