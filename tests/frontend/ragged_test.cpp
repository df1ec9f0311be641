// Training on sequences of different lengths.
#include <gmock/gmock.h>

#include <algorithm>
#include <numeric>

#include "frontend/checkpoint/data_digest.h"
#include "frontend/nn/mask.h"
#include "frontend/nn/recurrent.h"
#include "frontend/train/order.h"
#include "tests/frontend/mistakes.h"

namespace sinter::test::ragged_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Word numbers from 1 to 8, of samples of 0 to `longest` words.
Sequences reviews(std::int64_t samples, std::int64_t longest, std::uint64_t seed) {
  RandomStream random(seed, 0);
  std::vector<std::vector<std::int32_t>> lists(static_cast<std::size_t>(samples));
  for (auto& list : lists) {
    list.resize(random.below(static_cast<std::uint32_t>(longest) + 1));
    for (std::int32_t& word : list) word = static_cast<std::int32_t>(1 + random.below(8));
  }
  return Sequences(lists);
}

/// Features [steps, 3] in place of words.
Sequences series(const Sequences& like, std::uint64_t seed) {
  return {random({like.steps(), 3}, seed), {like.offsets().begin(), like.offsets().end()}};
}

nn::Sequential reader(bool recurrent) {
  seed(3);
  nn::Sequential model{nn::Embedding(9, 4, {.mask_zero = true})};
  if (recurrent) model.add(nn::GRU(4, 5));
  else model.add(nn::Sequential{nn::Dense(4, 5, Activation::relu), nn::GlobalAveragePool()});
  model.add(nn::Dense(5, 3));
  return model;
}

Trainer trainer_of(nn::Sequential model, Mode mode, TrainerOptions options = {}) {
  options.mode = mode;
  return {std::move(model), loss::sparse_categorical_crossentropy_from_logits, optim::Adam({.learning_rate = 0.01f}), std::move(options)};
}

TEST(Ragged, TrainsAsPaddedDataDo) {
  const Sequences x = reviews(50, 12, 1);
  const Tensor y = random_labels(50, 3, 2);
  for (const Mode mode : modes())
    for (const bool recurrent : {true, false}) {
      Trainer ragged = trainer_of(reader(recurrent), mode), padded = trainer_of(reader(recurrent), mode);
      const FitOptions options{.epochs = 3, .batch_size = 8, .verbose = false};
      const std::vector<EpochResult> a = ragged.fit({x, y}, options), b = padded.fit({x.padded(), y}, options);
      for (std::size_t i = 0; i < a.size(); ++i) {
        EXPECT_NEAR(a[i].loss, b[i].loss, 1e-6) << i;
        EXPECT_EQ(*a[i].accuracy, *b[i].accuracy) << i;
      }
      EXPECT_NEAR(ragged.evaluate({x, y}).loss, padded.evaluate({x.padded(), y}).loss, 1e-6);
    }
}

TEST(Ragged, CompilesOnceForAllLengths) {
  NEEDS_CODEGEN();
  Trainer trainer = trainer_of(reader(true), Mode::graph);
  for (const std::int64_t longest : {5, 20, 3}) trainer.fit({reviews(30, longest, 1), random_labels(30, 3, 2)}, {.batch_size = 8, .verbose = false});
  (void)trainer.evaluate({reviews(10, 40, 3), random_labels(10, 3, 2)});
  (void)trainer.predict(reviews(9, 7, 4));
  (void)trainer.predict(reviews(9, 17, 4));
  EXPECT_EQ(trainer.train_step().compile_count(), 1u);
  EXPECT_EQ(trainer.predict_step().compile_count(), 1u);
}

/// Says the class of each step.
nn::Sequential tagger() {
  seed(5);
  return nn::Sequential{nn::SimpleRNN(3, 6, {.return_sequences = true}), nn::Dense(6, 4)};
}

TEST(Ragged, LossesAndMetricsCountOnlyStepsThatExist) {
  const Sequences like = reviews(20, 9, 7), x = series(like, 1);
  std::vector<std::int32_t> classes = random_labels(like.steps(), 4, 3).to_vector<std::int32_t>();
  const Sequences y(Tensor(classes, {like.steps()}), {like.offsets().begin(), like.offsets().end()});
  for (const Mode mode : modes()) {
    const auto confusion = std::make_shared<metric::ConfusionMatrix>(4);
    nn::Sequential model = tagger();
    Trainer trainer = trainer_of(model, mode, {.metrics = {metric::accuracy(), confusion}});
    const Evaluation judged = trainer.evaluate({x, y});
    // By hand, sample by sample.
    double loss = 0, hits = 0;
    for (std::int64_t i = 0; i < like.size(); ++i) {
      if (!like.length(i)) continue;
      const Tensor logits = model(x.slice(i, i + 1).padded()), own = y.slice(i, i + 1).padded();
      loss += loss::sparse_categorical_crossentropy_from_logits(logits, own).item() * static_cast<double>(like.length(i));
      hits += sum(equal(argmax(logits), own)).item();
    }
    const auto steps = static_cast<double>(like.steps());
    EXPECT_NEAR(judged.loss, loss / steps, 1e-6);
    EXPECT_NEAR(*judged.accuracy, hits / steps, 1e-12);
    EXPECT_NEAR(judged.metrics[0].second, hits / steps, 1e-12);
    double counted = 0;
    for (std::int64_t actual = 0; actual < 4; ++actual)
      for (std::int64_t predicted = 0; predicted < 4; ++predicted) counted += confusion->count(actual, predicted);
    EXPECT_EQ(counted, steps);
    const std::vector<EpochResult> epochs = trainer.fit({x, y}, {.epochs = 30, .batch_size = 4, .verbose = false});
    EXPECT_LT(epochs.back().loss, epochs.front().loss);
  }
}

TEST(Ragged, SamplesOfStepsHaveWeights) {
  const Sequences like = reviews(12, 6, 7), x = series(like, 1);
  const Sequences y(random({like.steps(), 1}, 2), {like.offsets().begin(), like.offsets().end()});
  std::vector<float> weights(12, 1);
  weights[3] = 0, weights[5] = 2;
  nn::Sequential model{nn::Dense(3, 1)};
  double wanted = 0;
  for (std::int64_t i = 0; i < like.size(); ++i)
    if (like.length(i))
      wanted += sum(square(model(x.slice(i, i + 1).values()) - y.slice(i, i + 1).values())).item() *
                static_cast<double>(weights[static_cast<std::size_t>(i)]);
  for (const Mode mode : modes()) {
    Trainer trainer(model, loss::mean_squared_error, optim::SGD(), {.mode = mode, .weighted_metrics = {metric::mean_squared_error()}});
    const Evaluation judged = trainer.evaluate({.x = x, .y = y, .weights = Tensor(weights, {12})});
    EXPECT_NEAR(judged.loss, wanted / static_cast<double>(like.steps()), 1e-6);
    double all = 0;
    for (std::int64_t i = 0; i < like.size(); ++i) all += weights[static_cast<std::size_t>(i)] * static_cast<double>(like.length(i));
    EXPECT_NEAR(judged.metrics[0].second, wanted / all, 1e-6);
  }
}

TEST(Ragged, MasksOfPredictionsCountToo) {
  // Arrays: which words exist, the embedding says.
  const Sequences like = reviews(20, 9, 7);
  const Tensor x = like.padded(), y = random({20, x.dim(1).factor(), 2}, 3);
  nn::Sequential model{nn::Embedding(9, 2, {.mask_zero = true}), nn::Dense(2, 2)};
  for (const Mode mode : modes()) {
    Trainer trainer(model, loss::mean_squared_error, optim::SGD(), {.mode = mode, .metrics = {metric::mean_squared_error()}});
    const Evaluation judged = trainer.evaluate({x, y});
    const Tensor exists = cast(not_equal(x, 0), DType::f32);
    const double wanted = sum(mean(square(model(x) - y), {2}) * exists).item() / static_cast<double>(like.steps());
    EXPECT_NEAR(judged.loss, wanted, 1e-6);
    EXPECT_NEAR(judged.metrics[0].second, wanted, 1e-6);
  }
}

/// The bytes of each sample's row.
std::vector<std::vector<float>> rows_of(const Tensor& tensor) {
  std::vector<std::vector<float>> rows;
  for (std::int64_t i = 0; i < tensor.dim(0).factor(); ++i) rows.push_back(slice(tensor, 0, i, i + 1).to_vector<float>());
  return rows;
}

TEST(Ragged, PredictionsHaveTheSameBytesInAnyCompany) {
  const Sequences x = reviews(40, 30, 9);
  for (const Mode mode : modes())
    for (const bool recurrent : {true, false}) {
      Trainer trainer = trainer_of(reader(recurrent), mode);
      trainer.fit({x, random_labels(40, 3, 2)}, {.batch_size = 8, .verbose = false});
      const auto all = rows_of(trainer.predict(x));
      for (const std::int64_t batch_size : {1, 3, 16}) EXPECT_EQ(rows_of(trainer.predict(x, batch_size)), all) << batch_size;
      std::vector<std::int32_t> backwards(40);
      std::iota(backwards.rbegin(), backwards.rend(), 0);
      auto turned = rows_of(trainer.predict(x.select(backwards)));
      std::reverse(turned.begin(), turned.end());
      EXPECT_EQ(turned, all);
      EXPECT_EQ(rows_of(trainer.predict(x.padded().detach(), 7)), rows_of(trainer.predict(Sequences::from_padded(x.padded())))) << "an array";
    }
}

TEST(Ragged, PredictionsOfStepsAreZeroBehindTheEnd) {
  const Sequences x = series(reviews(20, 9, 7), 1);
  for (const Mode mode : modes()) {
    nn::Sequential model = tagger();
    Trainer trainer(model, loss::mean_squared_error, optim::SGD(), {.mode = mode});
    const Tensor all = trainer.predict(x, 3);
    ASSERT_EQ(all.shape(), (Shape{20, 9, 4}));
    for (std::int64_t i = 0; i < 20; ++i) {
      const std::vector<float> own = slice(all, 0, i, i + 1).to_vector<float>();
      const auto end = static_cast<std::size_t>(4 * x.length(i));
      EXPECT_TRUE(std::all_of(own.begin() + static_cast<std::ptrdiff_t>(end), own.end(), [](float value) { return value == 0; })) << i;
      EXPECT_TRUE(std::all_of(own.begin(), own.begin() + static_cast<std::ptrdiff_t>(end), [](float value) { return value != 0; })) << i;
    }
  }
}

TEST(Ragged, AnEmptySequenceIsOne) {
  const Sequences x({{}, {3, 4}, {}, {1}});
  for (const Mode mode : modes()) {
    Trainer trainer = trainer_of(reader(true), mode);
    trainer.fit({x, random_labels(4, 3, 2)}, {.batch_size = 1, .verbose = false});
    const Tensor one = trainer.predict(Sequences(std::vector<std::vector<std::int32_t>>(1)));
    EXPECT_EQ(one.to_vector<float>(), slice(trainer.predict(x), 0, 2, 3).to_vector<float>());
  }
}

TEST(Ragged, GoesToAFileAndOn) {
  const TemporaryFolder folder;
  const std::string file = folder / "model.sinter";
  const Sequences like = reviews(20, 9, 7), x = series(like, 1);
  const Sequences y(random_labels(like.steps(), 4, 3), {like.offsets().begin(), like.offsets().end()});
  const Dataset data{x, y};
  for (const Mode mode : modes()) {
    Trainer trainer = trainer_of(tagger(), mode);
    const FitOptions options{.epochs = 2, .batch_size = 8, .verbose = false};
    trainer.fit(data, options);
    trainer.save(file);
    Trainer loaded = Trainer::load(file, {.mode = mode, .metrics = {metric::accuracy()}});
    EXPECT_EQ(loaded.predict(x).to_vector<float>(), trainer.predict(x).to_vector<float>());
    const Evaluation a = trainer.evaluate(data), b = loaded.evaluate(data);
    EXPECT_EQ(a.loss, b.loss);
    EXPECT_EQ(*a.accuracy, *b.accuracy);
    EXPECT_NEAR(b.metrics.at(0).second, *b.accuracy, 1e-12);
    EXPECT_EQ(trainer.fit(data, options).back().loss, loaded.fit(data, options).back().loss);
    loaded.save(file);
    EXPECT_EQ(Trainer::load(file, {.mode = mode}).predict(x).to_vector<float>(), loaded.predict(x).to_vector<float>()) << "saved once more";
  }
}

TEST(Ragged, PiecesOfAGeneratorAreJoined) {
  const Dataset all{reviews(48, 12, 1), random_labels(48, 3, 2)};
  const Generator pieces = [&](std::int64_t, std::int64_t piece) -> std::optional<Dataset> {
    if (piece == 3) return std::nullopt;
    return all.slice(16 * piece, 16 * piece + 16);
  };
  for (const Mode mode : modes()) {
    Trainer whole = trainer_of(reader(true), mode), joined = trainer_of(reader(true), mode);
    const FitOptions options{.epochs = 2, .batch_size = 8, .bucket_batches = 2, .shuffle_buffer = 3, .verbose = false};
    EXPECT_EQ(joined.fit(pieces, options).back().loss, whole.fit(all, options).back().loss);
  }
}

TEST(Ragged, OtherLengthsAreOtherData) {
  const Tensor values = random({6, 2}, 1), y = random_labels(2, 3, 2);
  EXPECT_NE(digest_of({Sequences(values, {0, 2, 6}), y}), digest_of({Sequences(values, {0, 3, 6}), y}));
  EXPECT_EQ(digest_of({Sequences(values, {0, 2, 6}), y}), digest_of({Sequences(values, {0, 2, 6}), y}));
}

TEST(Ragged, BucketsHoldEverySampleOnceAndBatchesOfAlikeLengths) {
  const Sequences x = reviews(103, 40, 1);
  const Dataset data{x, random_labels(103, 3, 2)};
  const auto padding = [&](std::int64_t bucket_batches) {
    Order order(true, 10, false, bucket_batches);
    RandomStream random(1, 0);
    order.start(data, random);
    std::vector<std::int32_t> all;
    std::int64_t steps = 0;
    while (!order.done()) {
      const std::vector<std::int32_t> batch = order.batch().to_vector<std::int32_t>();
      std::int64_t longest = 0;
      for (const std::int32_t sample : batch) longest = std::max(longest, x.length(sample));
      steps += longest * std::ssize(batch);
      all.insert(all.end(), batch.begin(), batch.end());
    }
    EXPECT_EQ(all.size(), 103u);
    std::sort(all.begin(), all.end());
    EXPECT_EQ(std::unique(all.begin(), all.end()), all.end());
    return steps - x.steps();
  };
  EXPECT_LT(2 * padding(4), padding(0));
  EXPECT_LT(padding(11), padding(4));
}

TEST(Ragged, BlocksOfLongSequencesHaveFewerSamples) {
  std::vector<std::vector<std::int32_t>> lists(100);
  for (std::size_t i = 0; i < 100; ++i) lists[i].resize(i < 5 ? 1000 : 3, 1);
  const Columns x = Sequences(lists);
  const auto blocks = blocks_of(x, 100, 32);
  std::vector<std::int32_t> all;
  for (const auto& block : blocks) {
    EXPECT_LE(block.size(), 32u);
    EXPECT_LE(std::ssize(block) * longest_of(sequences_of(x), block), 32 * 64);
    all.insert(all.end(), block.begin(), block.end());
  }
  EXPECT_EQ(blocks.front().size(), 2u);
  std::sort(all.begin(), all.end());
  EXPECT_EQ(std::unique(all.begin(), all.end()), all.end());
  EXPECT_EQ(all.size(), 100u);
  EXPECT_THAT(blocks_of(Columns(random({5, 2}, 1)), 5, 2), ElementsAre(ElementsAre(0, 1), ElementsAre(2, 3), ElementsAre(4)));
}

TEST(Ragged, RefusesWhatDoesNotFit) {
  const Sequences x = reviews(6, 5, 1);
  const Tensor y = random_labels(6, 3, 2);
  Trainer trainer = trainer_of(reader(true), Mode::eager);
  trainer.fit({x, y}, {.verbose = false});
  EXPECT_THAT(error_of([&] { trainer.fit({x.padded(), y}, {.verbose = false}); }),
              HasSubstr("[fit] the first data had x of i32[6,T] (samples first), now they are i32[6,5]; give sequences: Sequences::from_padded"));
  EXPECT_THAT(error_of([&] { (void)trainer.predict(series(x, 1)); }), HasSubstr("[predict] the first data had x of i32[6,T]"));
  EXPECT_THAT(error_of([&] { (void)trainer.predict({x, x}); }), HasSubstr("[predict] the first data had 1 x, now there are 2"));
  EXPECT_THAT(error_of([&] { (void)trainer.predict(Sequences()); }), HasSubstr("[predict] an x was never set"));
  std::array<float, 3> out{};
  EXPECT_THAT(error_of([&] { trainer.predict_one(std::array<float, 1>{1}, out); }),
              HasSubstr("[predict_one] takes samples of one size, but the model takes sequences; use predict"));
  EXPECT_THAT(error_of([&] { trainer.fit({Sequences(std::vector<std::vector<std::int32_t>>(6)), y}, {.verbose = false}); }),
              HasSubstr("[fit] the data set is empty: all sequences of x have no steps"));
  EXPECT_THAT(error_of([&] { trainer.fit({x, y}, {.bucket_batches = -1, .verbose = false}); }),
              HasSubstr("[fit] bucket_batches must not be negative, got -1"));
  Trainer of_arrays = trainer_of(reader(true), Mode::eager);
  of_arrays.fit({x.padded(), y}, {.verbose = false});
  EXPECT_THAT(error_of([&] { (void)of_arrays.predict(x); }),
              HasSubstr("[predict] the first data had x that are an array, now they are sequences, i32[6,T]; pad them with Sequences::padded"));
  Trainer fixed = trainer_of(reader(true), Mode::eager, {.fixed_batch = 2});
  EXPECT_THAT(error_of([&] { fixed.fit({x, y}, {.batch_size = 2, .verbose = false}); }),
              HasSubstr("[fit] TrainerOptions::fixed_batch needs arrays, and this data has sequences; pad them with Sequences::padded"));
  struct Both : nn::Model {
    nn::GlobalAveragePool pool;
    Both() : Model("both") { add(pool); }
    std::vector<Tensor> forward_all(std::span<const Tensor> in) override { return {pool(in[0]) + pool(in[1])}; }
  };
  Trainer both(Both(), loss::mean_squared_error, optim::SGD(), {.mode = Mode::eager});
  (void)both.evaluate({{series(x, 1), series(x, 2)}, random({6, 3}, 3)});
  EXPECT_THAT(error_of([&] { (void)both.predict({series(x, 1), series(x, 2).slice(0, 5)}); }),
              HasSubstr("[predict] needs at least one sample, and as many of each x; the first x has 6"));
  // A loss that says one number of the whole batch cannot leave steps out.
  Trainer whole(tagger(), Loss([](const Tensor& p, const Tensor& t) { return mean(square(p - t)); }), optim::SGD(), {.mode = Mode::eager});
  const Sequences features = series(x, 1);
  EXPECT_THAT(
      error_of([&] { whole.fit({features, Sequences(random({x.steps(), 4}, 2), {x.offsets().begin(), x.offsets().end()})}, {.verbose = false}); }),
      HasSubstr("[loss] needs a value for each step that may exist"));
}

}  // namespace
}  // namespace sinter::test::ragged_test
