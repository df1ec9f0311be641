#include <numeric>

#include "bench/published/perceptron.h"
#include "frontend/core/random.h"

namespace sinter::published {

Standardized standardize(const Images& images) {
  Tensor x = cast(concat({images.train.x[0], images.test.x[0]}, 0), DType::f32);
  const Tensor y = cast(concat({images.train.y[0], images.test.y[0]}, 0), DType::i32);
  x = data::StandardScaler::fit(x).transform(x);
  const auto samples = static_cast<std::size_t>(y.elements());
  std::vector<std::size_t> order(samples);
  std::iota(order.begin(), order.end(), 0);
  RandomStream random(0, 70000);
  shuffle(std::span(order), random);
  const auto split = order.begin() + static_cast<std::ptrdiff_t>(samples - samples / 7);
  const Dataset all{x, y}, train = all.select({order.begin(), split}), test = all.select({split, order.end()});
  return {train.x[0], train.y[0], test.x[0], test.y[0]};
}

}  // namespace sinter::published
