// Samples and their targets, in memory.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "frontend/core/tensor.h"

namespace sinter {

/// x [samples, features...], f32, u8 or (numbers of entries, for an embedding) i32 or u32; y [samples] class numbers (i32, u32, u8) or [samples,
/// targets...] f32. u8 features are multiplied by `scale` inside the compiled step, so that images stay one byte a pixel in memory.
struct Dataset {
  Tensor x, y;
  float scale = 1.0f;
  Tensor weights = {};  ///< f32 [samples], optional: how much each counts in losses and metrics

  std::int64_t size() const { return x.defined() ? x.shape()[0].factor() : 0; }
  /// Samples [begin, end), copied. Throws UserError if there are none.
  Dataset slice(std::int64_t begin, std::int64_t end) const;
  /// Throws UserError for missing, empty or differently long x and y, or element types that training cannot use.
  void check(const char* where) const;
};

namespace data {

/// One weight a class that makes all classes count the same: samples / (classes · samples of the class). Throws UserError for targets that are no
/// class numbers in [0, classes) and for a class without samples.
std::vector<double> balanced_class_weights(const Tensor& y, std::int64_t classes);

/// Training and test set of MNIST or a set in its format (Fashion-MNIST): the four IDX files, gzip'd or not, in one folder. Images as u8 [n, 784]
/// with scale 1/255, labels as u8 [n]. Throws UserError naming the file.
std::pair<Dataset, Dataset> mnist(const std::string& folder);

/// An array from a .npy file: f32, i32, u32, u8 or bool; f64 and i64 become f32 and i32. Throws UserError naming the file.
Tensor npy(const std::string& path);

}  // namespace data
}  // namespace sinter
