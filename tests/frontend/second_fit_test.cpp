// Calls of fit that follow each other go on where the last one ended: callbacks know the best so far, and epochs shorter than the data take turns.
#include <filesystem>

#include "tests/frontend/mistakes.h"

namespace sinter::test::second_fit_test {
namespace {

using ::testing::ElementsAre;

struct Fitted {
  nn::Sequential model{(seed(3), nn::Dense(2, 1))};
  Trainer trainer{model, loss::mean_squared_error, optim::SGD({.learning_rate = 0}), {.mode = modes().back()}};

  Fitted() { trainer.train_on_batch(random({4, 2}, 1), random({4, 1}, 2)); }
  void set_bias(float value) { model.parameter("dense_1.bias").assign(Tensor({value}, {1})); }
  float bias() const { return model.parameter("dense_1.bias").read().to_vector<float>()[0]; }
  /// The epochs of one fit, as callbacks see them; the bias is the epoch's number.
  void epochs(Callback& callback, const std::vector<double>& losses) {
    callback.on_train_begin(trainer);
    for (const double loss : losses) {
      set_bias(static_cast<float>(++epoch));
      EpochResult result;
      result.epoch = epoch;
      result.loss = loss;
      callback.on_epoch_end(trainer, result);
    }
    callback.on_train_end(trainer);
  }
  std::int64_t epoch = 0;
};

float bias_in(const std::string& path) {
  for (const Parameter& p : Trainer::load(path).parameters())
    if (p.name() == "dense_1.bias") return p.read().to_vector<float>()[0];
  return -1;
}

TEST(SecondFit, KeepsTheFileOfTheBestModel) {
  const TemporaryFolder folder;
  Fitted fitted;
  callback::BestCheckpoint best(folder / "best.sinter", "loss");
  fitted.epochs(best, {3, 1, 2});
  EXPECT_EQ(bias_in(folder / "best.sinter"), 2);
  fitted.epochs(best, {2, 1.5});
  EXPECT_EQ(bias_in(folder / "best.sinter"), 2) << "no epoch of the second fit was better";
  fitted.epochs(best, {0.5, 1});
  EXPECT_EQ(bias_in(folder / "best.sinter"), 6);
}

/// Ends fit after so many epochs.
class StopAfter : public Callback {
 public:
  explicit StopAfter(std::int64_t epochs) : left_(epochs) {}
  void on_epoch_end(Trainer& trainer, const EpochResult&) override {
    if (--left_ == 0) trainer.stop();
  }

 private:
  std::int64_t left_;
};

TEST(SecondFit, TrainsAfterAFitWithoutEnd) {
  constexpr std::int64_t endless = std::numeric_limits<std::int64_t>::max();
  Fitted fitted;
  const Dataset data{random({40, 2}, 1), random({40, 1}, 2)};
  for (int times = 0; times < 3; ++times)
    EXPECT_EQ(fitted.trainer.fit(data, {.epochs = endless, .callbacks = {std::make_shared<StopAfter>(2)}}).size(), 2u) << times;
  const std::vector<EpochResult> whole = fitted.trainer.fit(data, {.epochs = 1, .batch_size = endless});
  ASSERT_EQ(whole.size(), 1u);
  EXPECT_EQ(whole[0].epoch, 7);
}

TEST(SecondFit, StopsEarlyByTheBestOfAll) {
  Fitted fitted;
  callback::EarlyStopping stopping({.monitor = "loss", .patience = 1, .restore_best = true});
  fitted.epochs(stopping, {3, 1, 2});
  EXPECT_EQ(stopping.best_epoch(), 2);
  EXPECT_EQ(fitted.bias(), 2);
  fitted.epochs(stopping, {2, 1.5});
  EXPECT_EQ(stopping.stopped_epoch(), 5);
  EXPECT_EQ(stopping.best_epoch(), 2);
  EXPECT_EQ(fitted.bias(), 2) << "the fit began with the best, and ends with it";
  fitted.epochs(stopping, {0.5, 1});
  EXPECT_EQ(stopping.best_epoch(), 6);
  EXPECT_EQ(stopping.stopped_epoch(), 0) << "patience is that of each fit";
  EXPECT_EQ(fitted.bias(), 6);
}

TEST(SecondFit, WithAnotherTrainerBeginsAnew) {
  Fitted fitted, other;
  callback::EarlyStopping stopping({.monitor = "loss", .restore_best = true});
  fitted.epochs(stopping, {1});
  other.epochs(stopping, {3, 2});
  EXPECT_EQ(stopping.best_epoch(), 2);
  EXPECT_EQ(other.bias(), 2);
}

TEST(SecondFit, ReducesTheRateByTheBestOfAll) {
  Fitted fitted;
  callback::ReduceOnPlateau reduce({.monitor = "loss", .factor = 0.5, .patience = 0});
  fitted.trainer.set_learning_rate(1);
  fitted.epochs(reduce, {1});
  fitted.epochs(reduce, {2, 0.5});
  EXPECT_EQ(fitted.trainer.learning_rate(), 0.5f);
}

// ---- epochs shorter than the data ----

/// Ten samples whose loss is their number, and a model that stays 0.
struct Numbers {
  nn::Sequential model{nn::Dense(1, 1, Activation::none, {.weight = init::zeros()})};
  Trainer trainer{model, loss::mean_absolute_error, optim::SGD({.learning_rate = 0}), {.mode = modes().back()}};
  static Dataset data() {
    std::vector<float> y(10);
    for (std::size_t i = 0; i < y.size(); ++i) y[i] = static_cast<float>(i);
    return {Tensor::zeros({DType::f32, {10, 1}}), Tensor(y, {10, 1})};
  }
  std::vector<double> losses(std::int64_t epochs, std::int64_t steps, bool shuffle, CheckpointOptions checkpoint = {}) {
    std::vector<double> result;
    for (const EpochResult& r : trainer.fit(
             data(), {.epochs = epochs, .batch_size = 2, .steps_per_epoch = steps, .shuffle = shuffle, .verbose = false, .checkpoint = checkpoint}))
      result.push_back(r.loss);
    return result;
  }
};

TEST(ShortEpochs, GoOnWhereTheLastOneStopped) {
  EXPECT_THAT(Numbers().losses(5, 2, false), ElementsAre(1.5, 5.5, (8.5 + 0.5) / 2, 3.5, 7.5)) << "the third wraps around";
  Numbers twice;
  EXPECT_THAT(twice.losses(1, 2, false), ElementsAre(1.5));
  EXPECT_THAT(twice.losses(2, 2, false), ElementsAre(5.5, 4.5)) << "a second fit too";
  EXPECT_THAT(Numbers().losses(2, 5, false), ElementsAre(4.5, 4.5)) << "as long as the data";
}

/// Five epochs of two steps are two passes over the data, each in an order of its own.
TEST(ShortEpochs, ShuffleOncePerPass) {
  const std::vector<double> losses = Numbers().losses(5, 2, true);
  double total = 0;
  for (const double loss : losses) total += loss;
  EXPECT_NEAR(total / 5, 4.5, 1e-6) << "each sample twice";
  EXPECT_NE(losses[0], losses[3]);
  EXPECT_NEAR(Numbers().losses(1, 5, true)[0], 4.5, 1e-6);
}

/// A run that dies after any step goes on with the same samples.
TEST(ShortEpochs, ResumeWithTheSameBytes) {
  struct Die : Callback {
    std::int64_t at;
    explicit Die(std::int64_t step) : at(step) {}
    void on_batch_end(Trainer&, std::int64_t step, double) override {
      if (step == at) throw std::runtime_error("killed");
    }
  };
  const auto run = [](const std::string& folder, std::int64_t die_at) {
    Numbers numbers;
    numbers.trainer.set_learning_rate(0.1f);
    FitOptions options{.epochs = 5, .batch_size = 2, .steps_per_epoch = 3, .verbose = false};
    options.checkpoint = {.folder = folder, .every_steps = 1};
    if (die_at) options.callbacks.push_back(std::make_shared<Die>(die_at));
    std::vector<double> losses;
    try {
      for (const EpochResult& r : numbers.trainer.fit(Numbers::data(), options)) losses.push_back(r.loss);
    } catch (const std::runtime_error&) {
    }
    return losses;
  };
  const TemporaryFolder folder;
  const auto wanted = run(folder / "whole", 0);
  for (const std::int64_t step : {2, 4, 6, 8, 13}) {
    const std::string path = folder / str("died", step);
    EXPECT_TRUE(run(path, step).empty());
    EXPECT_EQ(run(path, 0), wanted) << step;
  }
}

}  // namespace
}  // namespace sinter::test::second_fit_test
