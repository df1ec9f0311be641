#include <cmath>
#include <numeric>

#include "bench/published/perceptron.h"
#include "frontend/core/random.h"

namespace sinter::published {

namespace {

/// Pixels and labels of both sets, one after the other.
struct Joined {
  std::vector<std::uint8_t> x, y;
  std::size_t size() const { return y.size(); }
};

Joined join(const Images& images) {
  Joined all{images.train.x[0].to_vector<std::uint8_t>(), images.train.y[0].to_vector<std::uint8_t>()};
  const std::vector<std::uint8_t> x = images.test.x[0].to_vector<std::uint8_t>(), y = images.test.y[0].to_vector<std::uint8_t>();
  all.x.insert(all.x.end(), x.begin(), x.end());
  all.y.insert(all.y.end(), y.begin(), y.end());
  return all;
}

}  // namespace

Standardized standardize(const Images& images) {
  const Joined all = join(images);
  const std::size_t samples = all.size(), features = all.x.size() / samples;
  std::vector<std::int64_t> sum(features), squares(features);  // of whole numbers, exact
  for (std::size_t i = 0; i < all.x.size(); ++i) {
    sum[i % features] += all.x[i];
    squares[i % features] += all.x[i] * all.x[i];
  }
  const auto count = static_cast<double>(samples);
  std::vector<double> mean(features), deviation(features);
  for (std::size_t f = 0; f < features; ++f) {
    mean[f] = static_cast<double>(sum[f]) / count;
    const double variance = static_cast<double>(squares[f]) / count - mean[f] * mean[f];
    deviation[f] =
        squares[f] * static_cast<std::int64_t>(samples) == sum[f] * sum[f] ? 1 : std::sqrt(variance);  // a pixel that never varies stays as it is
  }
  std::vector<std::size_t> order(samples);
  std::iota(order.begin(), order.end(), 0);
  RandomStream random(0, 70000);
  for (std::size_t i = samples; i > 1; --i) std::swap(order[i - 1], order[random.below(static_cast<std::uint32_t>(i))]);
  const auto part = [&](std::size_t begin, std::size_t end) {
    std::vector<float> x;
    std::vector<std::int32_t> y;
    x.reserve((end - begin) * features);
    for (std::size_t i = begin; i < end; ++i) {
      for (std::size_t f = 0; f < features; ++f) x.push_back(static_cast<float>((all.x[order[i] * features + f] - mean[f]) / deviation[f]));
      y.push_back(all.y[order[i]]);
    }
    const auto rows = static_cast<std::int64_t>(end - begin);
    return std::pair{Tensor(x, {rows, static_cast<std::int64_t>(features)}), Tensor(y, {rows})};
  };
  const std::size_t split = samples - samples / 7;
  auto [train_x, train_y] = part(0, split);
  auto [test_x, test_y] = part(split, samples);
  return {std::move(train_x), std::move(train_y), std::move(test_x), std::move(test_y)};
}

}  // namespace sinter::published
