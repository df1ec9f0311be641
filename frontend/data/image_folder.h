// Images for training: read from folders, and augmented at random.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "frontend/train/generator.h"

namespace sinter::data {

/// One PNG or JPEG file, u8 [height, width, channels]: 3 channels are red, green and blue, 1 is grey. Throws UserError for a file that cannot be read
/// as one.
Tensor image(const std::string& path, int channels = 3);

struct ImageFolder {
  Dataset data;                      ///< x u8 [n, height, width, channels] with scale 1/255, y u8 or i32 [n]
  std::vector<std::string> classes;  ///< names of the subfolders, in the order of their class numbers
  std::vector<std::string> skipped;  ///< of each file that was skipped, the error that it would have been; it names the file
};

struct ImageFolderOptions {
  bool skip_unreadable = false;  ///< leave out files that cannot be read as images, and list them in `skipped`
};

/// PNG and JPEG files (read_image) in one subfolder per class, in the order of their names. Throws UserError for a folder without subfolders, a
/// subfolder without images, a file that cannot be read, and images of different sizes (naming both files). With skip_unreadable it still throws for
/// what would cost other files too: too many open files, no memory, a failing disk.
ImageFolder image_folder(const std::string& folder, int channels = 3, const ImageFolderOptions& options = {});

struct AugmentOptions {
  bool flip = true;        ///< mirror half of the images left to right
  std::int64_t shift = 0;  ///< by up to this number of pixels in each direction; what moves in is 0
  std::uint64_t seed = 0;
  std::int64_t piece = 4096;  ///< images made at a time
};
/// Images [n, height, width, channels], shuffled and augmented afresh in each epoch: for Trainer::fit, which prefetches them. What becomes of an
/// image depends only on seed, epoch and its number. Throws UserError for other data and for a shift as large as an image.
Generator augmented(const Dataset& data, const AugmentOptions& options = {});

}  // namespace sinter::data
