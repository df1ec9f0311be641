// CIFAR-10 and CIFAR-100 in their binary form (Krizhevsky 2009).
#pragma once

#include <filesystem>

#include "frontend/data/array.h"

namespace sinter::data {

struct Images {
  HostArray images, labels;  ///< u8 [count, height, width, channels], u8 [count]
};

struct Cifar {
  Images train, test;
};

/// One file of 10 or 100 classes. Throws UserError for another number, if the file is missing, is empty or is no whole number of images, and for
/// labels out of range.
Images read_cifar(const std::filesystem::path& path, int classes);

/// 10: data_batch_1.bin to data_batch_5.bin and test_batch.bin; 100: train.bin and test.bin, with the fine labels. Throws UserError for another
/// number, if a file is missing or is no whole number of images, and for labels out of range.
Cifar load_cifar(const std::filesystem::path& folder, int classes);

}  // namespace sinter::data
