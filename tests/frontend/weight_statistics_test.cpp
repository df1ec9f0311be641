// weight_statistics: mean, deviation, range, mean |w|, zeros and NaN of parameters.
#include "frontend/nn/weight_statistics.h"

#include <limits>

#include "tests/frontend/helpers.h"

namespace sinter::test::weight_statistics_test {
namespace {

TEST(WeightStatistics, OfNumbersThatAreKnown) {
  const WeightStatistics w = weight_statistics(Parameter("w", Tensor({-3, 0, 1, 2, 0}, {5})));
  EXPECT_EQ(w.name, "w");
  EXPECT_EQ(w.count, 5);
  EXPECT_EQ(w.mean, 0);
  EXPECT_DOUBLE_EQ(w.deviation, std::sqrt(14.0 / 5));
  EXPECT_EQ(w.least, -3);
  EXPECT_EQ(w.greatest, 2);
  EXPECT_DOUBLE_EQ(w.mean_absolute, 6.0 / 5);
  EXPECT_DOUBLE_EQ(w.zero_share, 0.4);
  EXPECT_EQ(w.nan_count + w.infinite_count, 0);
}

TEST(WeightStatistics, NumbersThatAreNotFiniteAreCountedAndLeftOut) {
  constexpr float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const WeightStatistics w = weight_statistics(Parameter("w", Tensor({nan, 4, -infinity, 6, nan, infinity}, {2, 3})));
  EXPECT_EQ(w.nan_count, 2);
  EXPECT_EQ(w.infinite_count, 2);
  EXPECT_EQ(w.mean, 5);
  EXPECT_EQ(w.deviation, 1);
  EXPECT_EQ(w.least, 4);
  EXPECT_EQ(w.greatest, 6);
  EXPECT_EQ(w.mean_absolute, 5);
  EXPECT_EQ(w.zero_share, 0);
  const WeightStatistics none = weight_statistics(Parameter("w", Tensor({nan}, {1})));
  EXPECT_EQ(none.nan_count, 1);
  EXPECT_EQ(none.mean, 0);
  EXPECT_EQ(none.greatest, 0);
}

/// Far from 0, where a sum in f32 or a difference of squares would have no digit left.
TEST(WeightStatistics, OfAMillionNumbersFarFromZero) {
  std::vector<float> numbers(1'000'000);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = i % 2 ? 1'000'001.0f : 999'999.0f;
  const WeightStatistics w = weight_statistics(Parameter("w", Tensor(numbers, {1000, 1000})));
  EXPECT_DOUBLE_EQ(w.mean, 1e6);
  EXPECT_DOUBLE_EQ(w.deviation, 1);
}

TEST(WeightStatistics, OfAModelAfterEachEpoch) {
  seed(1);
  nn::Sequential model{nn::Dense(2, 3), nn::Dropout(0.1), nn::Dense(3, 1)};
  Trainer trainer(model, loss::mean_squared_error, optim::SGD(), {.mode = Mode::eager});
  std::vector<double> sizes;
  const Tensor x = random({20, 2}, 1);
  trainer.fit({x, sum(x, {1}, true)}, {.epochs = 2, .verbose = false, .on_epoch = [&](const EpochResult&) {
                                         for (const WeightStatistics& w : weight_statistics(model.parameters())) sizes.push_back(w.mean_absolute);
                                       }});
  EXPECT_EQ(sizes.size(), 10u);  // five parameters: the count of the dropout's draws is one
  EXPECT_EQ(sizes[2], 1);        // u32
  EXPECT_EQ(sizes[7], 2);
  EXPECT_NE(sizes[0], sizes[5]);
}

}  // namespace
}  // namespace sinter::test::weight_statistics_test
