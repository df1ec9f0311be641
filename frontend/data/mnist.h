// The four files of MNIST and of data sets in its format, such as Fashion-MNIST.
#pragma once

#include <filesystem>

#include "frontend/data/array.h"

namespace sinter::data {

struct Mnist {
  HostArray train_images, train_labels, test_images, test_labels;  ///< images u8 [count, rows, columns], labels u8 [count] in 0..9
};

/// Reads train-images-idx3-ubyte, train-labels-idx1-ubyte and t10k-… (each also as ….idx3-ubyte, and with .gz). Throws UserError if one is missing
/// or damaged, or if counts, image sizes or labels do not fit.
Mnist load_mnist(const std::filesystem::path& folder);

}  // namespace sinter::data
