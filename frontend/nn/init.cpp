#include "frontend/nn/init.h"

#include <cmath>
#include <mutex>
#include <vector>

#include "frontend/core/random.h"

namespace sinter {

namespace {
std::mutex lock;
std::uint64_t key = 0, next_stream = 0;
}  // namespace

void seed(std::uint64_t value) {
  const std::lock_guard guard(lock);
  key = value;
  next_stream = 0;
}

namespace init {

Tensor make(Scheme scheme, const Shape& shape) {
  if (scheme == Scheme::zeros) return Tensor::zeros({DType::f32, shape});
  if (scheme == Scheme::ones) return Tensor::filled({DType::f32, shape}, 1);
  if (shape.rank() != 2) throw UserError("init", str("Glorot initializers need a matrix [in, out], got ", shape));
  std::unique_lock guard(lock);
  RandomStream random(key, next_stream++);
  guard.unlock();
  const double fans = static_cast<double>(shape[0].factor() + shape[1].factor());
  const double limit = std::sqrt(6 / fans), deviation = std::sqrt(2 / fans);
  std::vector<float> data(static_cast<std::size_t>(shape.elements().factor()));
  for (float& x : data) x = static_cast<float>(scheme == Scheme::glorot_uniform ? (2 * random.uniform() - 1) * limit : random.normal() * deviation);
  return {data, shape};
}

}  // namespace init
}  // namespace sinter
