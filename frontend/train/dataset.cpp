#include "frontend/train/dataset.h"

#include <algorithm>

#include "frontend/core/ops.h"
#include "frontend/data/mnist.h"
#include "frontend/data/npy.h"

namespace sinter {

void Dataset::check(const char* where) const {
  if (!x.defined() || !y.defined()) throw UserError(where, "the data set has no x or no y");
  if (x.rank() < 1 || y.rank() < 1 || x.shape()[0].factor() == 0)
    throw UserError(where, str("the data set is empty: x is ", x.type(), ", y is ", y.type()));
  if (x.shape()[0] != y.shape()[0]) throw UserError(where, str("x has ", x.shape()[0], " samples but y has ", y.shape()[0]));
  if (x.dtype() == DType::boolean) throw UserError(where, str("features must be f32, u8, i32 or u32, got ", x.type(), "; convert them with cast"));
  if (weights.defined() && (weights.dtype() != DType::f32 || weights.rank() != 1 || weights.shape()[0] != x.shape()[0]))
    throw UserError(where, str("weights must be f32[", x.shape()[0], "], one a sample, got ", weights.type()));
  if (y.dtype() == DType::boolean)
    throw UserError(where, str("targets must be class numbers (integers) or f32, got ", y.type(), "; convert them with cast"));
}

Dataset Dataset::slice(std::int64_t begin, std::int64_t end) const {
  if (begin < 0 || begin >= end || end > size()) throw UserError("Dataset::slice", str("samples [", begin, ", ", end, ") of ", size(), " are none"));
  const auto part = [&](const Tensor& t) { return t.defined() ? sinter::slice(t, 0, begin, end) : t; };
  return {part(x), part(y), scale, part(weights)};
}

namespace data {

std::vector<double> balanced_class_weights(const Tensor& y, std::int64_t classes) {
  if (!is_index(y.dtype()) || y.rank() != 1) throw UserError("class weights", str("targets must be class numbers [samples], got ", y.type()));
  std::vector<double> counts(static_cast<std::size_t>(std::max<std::int64_t>(0, classes)));
  for (const std::int32_t c : cast(y, DType::i32).to_vector<std::int32_t>()) {
    if (c < 0 || c >= classes) throw UserError("class weights", str("class ", c, " is outside [0, ", classes, ")"));
    ++counts[static_cast<std::size_t>(c)];
  }
  for (std::size_t c = 0; c < counts.size(); ++c) {
    if (counts[c] == 0) throw UserError("class weights", str("class ", c, " has no samples; give the weights yourself"));
    counts[c] = static_cast<double>(y.elements()) / (static_cast<double>(classes) * counts[c]);
  }
  return counts;
}

namespace {

Tensor to_tensor(const HostArray& array) { return Tensor::from_bytes({array.dtype, Shape::fixed(array.shape)}, array.bytes.data()); }

/// Images [n, rows, cols] as [n, rows · cols].
Tensor flat(const HostArray& images) {
  std::int64_t pixels = 1;
  for (std::size_t i = 1; i < images.shape.size(); ++i) pixels *= images.shape[i];
  return Tensor::from_bytes({images.dtype, Shape{images.shape[0], pixels}}, images.bytes.data());
}

}  // namespace

std::pair<Dataset, Dataset> mnist(const std::string& folder) {
  const Mnist files = load_mnist(folder);
  constexpr float scale = 1.0f / 255;
  return {{flat(files.train_images), to_tensor(files.train_labels), scale}, {flat(files.test_images), to_tensor(files.test_labels), scale}};
}

Tensor npy(const std::string& path) { return to_tensor(read_npy(path)); }

}  // namespace data
}  // namespace sinter
