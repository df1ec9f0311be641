#include "frontend/train/dataset.h"

#include "frontend/data/mnist.h"
#include "frontend/data/npy.h"

namespace sinter {

void Dataset::check(const char* where) const {
  if (!x.defined() || !y.defined()) throw UserError(where, "the data set has no x or no y");
  if (x.rank() < 1 || y.rank() < 1 || x.shape()[0].factor() == 0)
    throw UserError(where, str("the data set is empty: x is ", x.type(), ", y is ", y.type()));
  if (x.shape()[0] != y.shape()[0]) throw UserError(where, str("x has ", x.shape()[0], " samples but y has ", y.shape()[0]));
  if (x.dtype() == DType::boolean) throw UserError(where, str("features must be f32, u8, i32 or u32, got ", x.type(), "; convert them with cast"));
  if (y.dtype() == DType::boolean)
    throw UserError(where, str("targets must be class numbers (integers) or f32, got ", y.type(), "; convert them with cast"));
}

namespace data {

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
