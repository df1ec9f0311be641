// Samples and their targets, in memory.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "frontend/train/columns.h"

namespace sinter {

/// x [samples, features...], f32, u8 or (indices, for an embedding) i32 or u32; y [samples] class numbers (i32, u32, u8) or [samples,
/// targets...] f32. u8 features are multiplied by `scale` inside the compiled step, so that images take one byte per pixel in memory. A model of
/// several inputs or outputs takes lists: `{.x = {image, text}, .y = {kind, price}}`. Sequences of different lengths, of x or, for models that say
/// something of each step, of y, are Sequences.
struct Dataset {
  Columns x, y;
  float scale = 1.0f;
  Tensor weights = {};  ///< f32 [samples], optional: the weight of each in losses and metrics

  std::int64_t size() const { return x.empty() ? 0 : x[0].size(); }
  /// Samples [begin, end), copied. Throws UserError if there are none.
  Dataset slice(std::int64_t begin, std::int64_t end) const;
  /// The samples with these numbers, in this order, copied. Throws UserError for none, and for a number outside of [0, size()).
  Dataset select(std::span<const std::size_t> samples) const;
  /// Throws UserError for missing, empty or differently long x and y, or element types that training cannot use.
  void check(const char* where) const;
  /// Throws UserError naming sample and index of the first NaN or infinite number in x, y or weights.
  void check_finite(const char* where) const;
};

namespace data {

/// Whether targets are class numbers [samples]: integers, or bool for two classes.
bool are_class_numbers(const Type& targets);

/// One weight per class, so that all classes count the same: samples / (classes that have samples · samples of the class); 1 for a class without
/// samples. Throws UserError for targets that are no class numbers in [0, classes).
std::vector<double> balanced_class_weights(const Tensor& y, std::int64_t classes);

/// Training and test set of MNIST or a set in its format (Fashion-MNIST): the four IDX files, plain or gzipped, in one folder. Images as u8 [n, 784]
/// with scale 1/255, labels as u8 [n]. Throws UserError naming the file.
std::pair<Dataset, Dataset> mnist(const std::string& folder);

/// Training and test set of CIFAR-10 or CIFAR-100 in binary form: images u8 [n, 32, 32, 3] with scale 1/255, labels u8 [n], for CIFAR-100 the fine
/// ones. Throws UserError naming the file.
std::pair<Dataset, Dataset> cifar10(const std::string& folder);
std::pair<Dataset, Dataset> cifar100(const std::string& folder);

/// An array from a .npy file: f32, i32, u32, u8 or bool; f64 and i64 become f32 and i32. Throws UserError naming the file.
Tensor npy(const std::string& path);
/// An array from a .npy file or an IDX file, plain or gzipped, detected by the first bytes. Throws UserError naming the file.
Tensor array(const std::string& path);
/// Whether a file is neither a .npy nor an IDX file, by its first bytes. Throws UserError if it cannot be read.
bool is_table(const std::string& path);

}  // namespace data
}  // namespace sinter
