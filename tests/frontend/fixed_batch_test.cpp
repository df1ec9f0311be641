// TrainerOptions::fixed_batch: batches whose samples are compared with each other.
#include <cmath>
#include <numeric>

#include "tests/frontend/helpers.h"

namespace sinter::test::fixed_batch_test {
namespace {

using ::testing::HasSubstr;

/// The softmax over the scores of each sample's first half with the second halves of all.
Tensor in_batch_negatives(const Tensor& pairs, const Tensor&) {
  const std::int64_t half = pairs.dim(-1).factor() / 2, samples = pairs.dim(0).factor();
  const Tensor scores = matmul(slice(pairs, -1, 0, half), transpose(slice(pairs, -1, half, 2 * half)));
  std::vector<std::int32_t> own(static_cast<std::size_t>(samples));
  std::iota(own.begin(), own.end(), 0);
  return loss::categorical_crossentropy_from_logits(scores, Tensor(own, {samples}));
}

struct Towers {
  nn::Sequential model;
  Trainer trainer;
  explicit Towers(Mode mode, TrainerOptions options = {.fixed_batch = 8})
      : model((seed(3), nn::Sequential{nn::Dense(5, 6)})), trainer(model, Loss(in_batch_negatives), optim::Adam({.learning_rate = 0.05}), [&] {
          options.mode = mode;
          return options;
        }()) {}
};

const Dataset& data() {
  static const Dataset rows{random({21, 5}, 1), Tensor::zeros({DType::f32, {21, 1}})};
  return rows;
}

TEST(FixedBatch, ComparesTheSamplesOfABatchWithEachOther) {
  for (const Mode mode : modes()) {
    Towers towers(mode);
    const std::vector<EpochResult> epochs = towers.trainer.fit(data(), {.epochs = 40, .batch_size = 8, .verbose = false});
    EXPECT_LT(epochs.back().loss, 0.8 * epochs.front().loss);
    // Of 21 samples, two batches of 8; the rest is left out.
    const Tensor pairs = towers.model(slice(data().x[0], 0, 0, 16));
    const double wanted = (in_batch_negatives(slice(pairs, 0, 0, 8), {}).item() + in_batch_negatives(slice(pairs, 0, 8, 16), {}).item()) / 2;
    EXPECT_NEAR(towers.trainer.evaluate(data()).loss, wanted, 1e-5 * std::abs(wanted));
    EXPECT_EQ(towers.trainer.predict(data().x).shape(), Shape({21, 6})) << "any number of samples";
  }
}

TEST(FixedBatch, OfALoadedTrainerIsThatOfTheFile) {
  const TemporaryFolder folder;
  const std::string file = folder.path + "/towers.sinter";
  Towers towers(modes().back());
  towers.trainer.fit(data(), {.batch_size = 8, .verbose = false});
  towers.trainer.save(file);
  Trainer loaded = Trainer::load(file, {.mode = modes().back()});
  EXPECT_EQ(loaded.evaluate(data()).loss, towers.trainer.evaluate(data()).loss);
  EXPECT_THAT(error_of([&] { loaded.fit(data(), {.batch_size = 4, .verbose = false}); }), HasSubstr("[fit] batches have 8 samples here"));
}

TEST(FixedBatch, Mistakes) {
  Towers towers(modes().back()), without(modes().back(), {});
  const Dataset few = data().slice(0, 7);
  const std::string error = error_of([&] { without.trainer.fit(data(), {.batch_size = 8, .verbose = false}); });
  EXPECT_THAT(error,
              HasSubstr("at most one batch dimension per shape, got [N,N]; sum over N first, as x^T y does, or give the batch a size, with which "
                        "[N, N] is a shape: TrainerOptions::fixed_batch or Spec::fixed"));
  EXPECT_THAT(error_of([&] { Towers(Mode::eager, {.fixed_batch = -1}); }), HasSubstr("[Trainer] fixed_batch must not be negative, got -1"));
  const Generator small = [&](std::int64_t, std::int64_t piece) { return piece ? std::nullopt : std::optional(few); };
  const char* too_few = " batches have 8 samples here, by TrainerOptions::fixed_batch, and there are only 7";
  EXPECT_THAT(error_of([&] { towers.trainer.fit(few, {.batch_size = 8, .verbose = false}); }), HasSubstr(std::string("[fit]") + too_few));
  EXPECT_THAT(error_of([&] { towers.trainer.fit(small, {.batch_size = 8, .verbose = false}); }), HasSubstr(std::string("[fit]") + too_few));
  EXPECT_THAT(error_of([&] { towers.trainer.evaluate(few); }), HasSubstr(std::string("[evaluate]") + too_few));
  const char* other = " batches have 8 samples here, by TrainerOptions::fixed_batch, got a batch size of ";
  EXPECT_THAT(error_of([&] { towers.trainer.fit(data(), {.batch_size = 4, .verbose = false}); }), HasSubstr(std::string("[fit]") + other + "4"));
  EXPECT_THAT(error_of([&] { towers.trainer.fit(small, {.verbose = false}); }), HasSubstr(std::string("[fit]") + other + "32"));
  EXPECT_THAT(error_of([&] { towers.trainer.train_on_batch(few.x, few.y); }), HasSubstr(std::string("[train_on_batch]") + other + "7"));
  EXPECT_THAT(error_of([&] { (void)towers.trainer.time(data(), 4); }), HasSubstr(std::string("[time]") + other + "4"));
}

}  // namespace
}  // namespace sinter::test::fixed_batch_test
