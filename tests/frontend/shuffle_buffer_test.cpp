// FitOptions::shuffle_buffer: pieces of a generator that are shuffled together.
#include <set>

#include "frontend/train/piece_queue.h"
#include "tests/frontend/helpers.h"

namespace sinter::test::shuffle_buffer_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// Samples number `first` to `first + count - 1`: x is the number.
Dataset numbered(std::int64_t first, std::int64_t count) {
  std::vector<float> x(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) x[static_cast<std::size_t>(i)] = static_cast<float>(first + i);
  const Tensor numbers(x, {count, 1});
  return {numbers, numbers};
}

/// Whole numbers seen by each step of a run, in order: a model whose output the test reads.
std::vector<std::vector<float>> batches_of(const Generator& generator, FitOptions options) {
  std::vector<std::vector<float>> seen;
  struct Watch : Metric {
    std::vector<std::vector<float>>& seen;
    explicit Watch(std::vector<std::vector<float>>& list) : Metric("watch", MonitorMode::min), seen(list) {}
    void reset() override {}
    void update(const MetricBatch& batch) override { seen.emplace_back(batch.target.begin(), batch.target.end()); }
    double result() const override { return 0; }
  };
  nn::Sequential model{nn::Dense(1, 1)};
  Trainer trainer(model, loss::mean_squared_error, optim::SGD({.learning_rate = 0}),
                  {.mode = Mode::eager, .metrics = {std::make_shared<Watch>(seen)}});
  options.verbose = false;
  (void)trainer.fit(generator, options);
  return seen;
}

Generator pieces_of_ten(std::int64_t count) {
  return [=](std::int64_t, std::int64_t piece) { return piece == count ? std::nullopt : std::optional(numbered(10 * piece, 10)); };
}

TEST(ShuffleBuffer, MixesSoManyPieces) {
  const auto seen = batches_of(pieces_of_ten(5), {.batch_size = 10, .shuffle_buffer = 3});
  ASSERT_EQ(seen.size(), 5u);  // 30 samples, then the 20 that are left
  std::set<float> first, rest;
  for (int i = 0; i < 3; ++i) first.insert(seen[static_cast<std::size_t>(i)].begin(), seen[static_cast<std::size_t>(i)].end());
  for (int i = 3; i < 5; ++i) rest.insert(seen[static_cast<std::size_t>(i)].begin(), seen[static_cast<std::size_t>(i)].end());
  EXPECT_EQ(first.size(), 30u);
  EXPECT_EQ(*first.rbegin(), 29);
  EXPECT_EQ(rest.size(), 20u);
  EXPECT_EQ(*rest.begin(), 30);
  const std::set<float> of_batch(seen[0].begin(), seen[0].end());
  EXPECT_LT(*of_batch.begin(), 10);   // of the first piece
  EXPECT_GE(*of_batch.rbegin(), 20);  // and of the third
}

TEST(ShuffleBuffer, IsTheSameForTheSameSeedAndAnyPrefetch) {
  const auto run = [](std::uint64_t seed, std::size_t prefetch) {
    return batches_of(pieces_of_ten(5), {.epochs = 3, .batch_size = 7, .prefetch = prefetch, .shuffle_buffer = 2, .seed = seed});
  };
  const auto wanted = run(1, 2);
  EXPECT_EQ(run(1, 0), wanted);
  EXPECT_EQ(run(1, 5), wanted);
  EXPECT_NE(run(2, 2), wanted);
}

TEST(ShuffleBuffer, OfOnePieceIsNone) {
  const FitOptions options{.epochs = 2, .batch_size = 4};
  FitOptions one = options;
  one.shuffle_buffer = 1;
  EXPECT_EQ(batches_of(pieces_of_ten(3), options), batches_of(pieces_of_ten(3), one));
}

TEST(ShuffleBuffer, OfMorePiecesThanThereAreIsAllOfTheEpoch) {
  const auto seen = batches_of(pieces_of_ten(3), {.epochs = 2, .batch_size = 30, .shuffle_buffer = std::numeric_limits<std::int64_t>::max()});
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_NE(seen[0], seen[1]);  // each epoch has its own order
}

TEST(ShuffleBuffer, AsksForNoMoreThanAnEpochTakes) {
  std::vector<std::pair<std::int64_t, std::int64_t>> asked;
  const auto endless = [&](std::int64_t epoch, std::int64_t piece) {
    asked.emplace_back(epoch, piece);
    return std::optional(numbered(10 * piece, 10));
  };
  (void)batches_of(endless, {.epochs = 2, .batch_size = 10, .steps_per_epoch = 5, .prefetch = 0, .shuffle_buffer = 4});
  std::vector<std::pair<std::int64_t, std::int64_t>> wanted;
  for (std::int64_t epoch = 1; epoch <= 2; ++epoch)
    for (std::int64_t piece = 0; piece < 5; ++piece) wanted.emplace_back(epoch, piece);
  EXPECT_EQ(asked, wanted);
  asked.clear();
  const auto ends = [&](std::int64_t epoch, std::int64_t piece) {
    asked.emplace_back(epoch, piece);
    return piece == 3 ? std::nullopt : std::optional(numbered(10 * piece, 10));
  };
  (void)batches_of(ends, {.batch_size = 10, .prefetch = 0, .shuffle_buffer = 4});
  EXPECT_EQ(asked.size(), 4u);  // the end is asked for once
}

TEST(ShuffleBuffer, JoinsBytesTargetsAndWeights) {
  const Dataset a{Tensor(std::vector<std::uint8_t>{1, 2}, {1, 2}), Tensor(std::vector<std::int32_t>{3}, {1}), 0.5f},
      b{Tensor(std::vector<std::uint8_t>{5, 6, 7, 8}, {2, 2}), Tensor(std::vector<std::int32_t>{9, 8}, {2}), 0.5f};
  const Piece whole = joined({{a, {}}, {b, Tensor({2, 3}, {2})}}, "test");
  EXPECT_EQ(whole.data.x[0].to_vector<std::uint8_t>(), (std::vector<std::uint8_t>{1, 2, 5, 6, 7, 8}));
  EXPECT_EQ(whole.data.y[0].to_vector<std::int32_t>(), (std::vector<std::int32_t>{3, 9, 8}));
  EXPECT_EQ(whole.data.scale, 0.5f);
  EXPECT_EQ(whole.weights.to_vector<float>(), (std::vector<float>{1, 2, 3}));
  EXPECT_FALSE(joined({{a, {}}, {b, {}}}, "test").weights.defined());
}

TEST(ShuffleBuffer, SaysWhatDoesNotFit) {
  EXPECT_EQ(error_of([] { (void)batches_of(pieces_of_ten(1), {.shuffle_buffer = 0}); }), "[fit] shuffle_buffer must be at least 1 piece, got 0");
  const auto differ = [](std::int64_t, std::int64_t piece) {
    return std::optional(piece ? Dataset{random({3, 2}, 1), random({3, 1}, 1)} : numbered(0, 3));
  };
  EXPECT_THAT(error_of([&] { (void)batches_of(differ, {.shuffle_buffer = 2}); }),
              HasSubstr("[fit, epoch 1, pieces up to 1] pieces that are shuffled together have samples of different types, f32[3,1] and f32[3,2]"));
  const auto counts = [](std::int64_t, std::int64_t piece) {
    Dataset data = numbered(0, 3);
    if (piece) data.x = {data.x[0], data.x[0]};
    return std::optional(data);
  };
  EXPECT_THAT(error_of([&] { (void)batches_of(counts, {.shuffle_buffer = 2}); }),
              HasSubstr("pieces that are shuffled together have different numbers of x or y, or another scale"));
}

/// A model that learns, so that its bytes tell of every sample and its order.
struct Learner {
  nn::Sequential model;
  Trainer trainer;
  Learner()
      : model((seed(4), nn::Sequential{nn::Dense(1, 3, Activation::tanh), nn::Dropout(0.1), nn::Dense(3, 1)})),
        trainer(model, loss::mean_squared_error, optim::Adam(), {.mode = modes().back()}) {}
  std::vector<float> weights() const {
    std::vector<float> all;
    for (const Parameter& p : model.trainable_parameters())
      for (const float w : p.read().to_vector<float>()) all.push_back(w);
    return all;
  }
};

struct Stop {};

TEST(ShuffleBuffer, ResumesFromACheckpointToTheSameBytes) {
  const Generator generator = pieces_of_ten(5);
  const FitOptions plain{.epochs = 2, .batch_size = 4, .shuffle_buffer = 2, .verbose = false};
  Learner whole;
  const auto wanted = whole.trainer.fit(generator, plain);
  const std::int64_t steps = 2 * (5 + 5 + 3);
  for (std::int64_t last = 1; last < steps; ++last) {
    SCOPED_TRACE(last);
    const TemporaryFolder folder;
    FitOptions options = plain;
    options.checkpoint = {.folder = folder / "run", .every_steps = 1};
    struct StopAfter : Callback {
      std::int64_t last;
      explicit StopAfter(std::int64_t step) : last(step) {}
      void on_batch_end(Trainer&, std::int64_t step, double) override {
        if (step > last) throw Stop();
      }
    };
    options.callbacks = {std::make_shared<StopAfter>(last)};
    Learner first, second;
    EXPECT_THROW(first.trainer.fit(generator, options), Stop);
    options.callbacks.clear();
    const auto resumed = second.trainer.fit(generator, options);
    EXPECT_EQ(second.weights(), whole.weights());
    EXPECT_EQ(resumed.back().loss, wanted.back().loss);
  }
}

TEST(ShuffleBuffer, OfACheckpointMustBeTheSame) {
  const TemporaryFolder folder;
  FitOptions options{.epochs = 1, .batch_size = 4, .shuffle_buffer = 2, .verbose = false};
  options.checkpoint = {.folder = folder / "run"};
  Learner first, second;
  (void)first.trainer.fit(pieces_of_ten(5), options);
  options.shuffle_buffer = 3;
  EXPECT_THAT(error_of([&] { second.trainer.fit(pieces_of_ten(5), options); }),
              HasSubstr("the checkpoint was made with FitOptions::shuffle_buffer 2, now it is 3; use the same"));
}

}  // namespace
}  // namespace sinter::test::shuffle_buffer_test
