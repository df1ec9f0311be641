// FitOptions::validations and evaluate_training: more sets that are judged after each epoch.
#include <filesystem>

#include "frontend/train/epoch_result.h"
#include "tests/frontend/helpers.h"
#include "tests/support/bytes.h"

namespace sinter::test::validations_test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

Dataset points(std::int64_t samples, std::uint64_t stream) {
  const Tensor x = random({samples, 2}, stream);
  return {x, reshape(cast(slice(x, 1, 0, 1) > 0, DType::i32), {samples})};
}

struct Classifier {
  nn::Sequential model;
  Trainer trainer;
  explicit Classifier(std::vector<metric::Pointer> metrics = {})
      : model((seed(2), nn::Sequential{nn::Dense(2, 8, Activation::tanh), nn::Dropout(0.2), nn::Dense(8, 2)})),
        trainer(model, loss::sparse_categorical_crossentropy_from_logits, optim::Adam({.learning_rate = 0.02}),
                {.mode = modes().back(), .metrics = std::move(metrics)}) {}
};

std::vector<std::string> names_of(const EpochResult& result) {
  std::vector<std::string> names;
  for (const auto& [name, value] : result.values()) names.push_back(name);
  return names;
}

TEST(Validations, EachSetHasValuesOfItsName) {
  Classifier c({metric::top_k_accuracy(2)});
  const Dataset train = points(120, 1), test = points(30, 2), dirty = points(17, 3);
  const auto history = c.trainer.fit(
      train, {.epochs = 2, .validation = test, .validations = {{"test", test}, {"dirty", dirty}}, .evaluate_training = true, .verbose = false});
  EXPECT_THAT(names_of(history.back()),
              ElementsAre("loss", "accuracy", "top_2_accuracy", "val_loss", "val_accuracy", "val_top_2_accuracy", "val_test_loss",
                          "val_test_accuracy", "val_test_top_2_accuracy", "val_dirty_loss", "val_dirty_accuracy", "val_dirty_top_2_accuracy",
                          "train_loss", "train_accuracy", "train_top_2_accuracy", "learning_rate", "seconds"));
  EXPECT_EQ(history.back().value("val_test_loss"), history.back().value("val_loss"));
  EXPECT_EQ(history.back().value("val_dirty_loss"), c.trainer.evaluate(dirty).loss);
  EXPECT_EQ(history.back().value("train_loss"), c.trainer.evaluate(train).loss);
  EXPECT_NE(history.back().value("train_loss"), history.back().loss);  // without dropout, after the last step
  EXPECT_EQ(history.back().validations[1].first, "dirty");
  EXPECT_EQ(*history.back().training_set->accuracy, history.back().value("train_accuracy"));
}

TEST(Validations, ValuesBySet) {
  EpochResult result;
  result.loss = 0.5;
  result.metrics = {{"auc", 0.25}};
  result.validations.emplace_back("test", Evaluation());
  const std::vector<ValuesOfSet> sets = result.sets();
  ASSERT_EQ(sets.size(), 2u);
  EXPECT_EQ(sets[0].set + sets[0].prefix, "training");
  EXPECT_EQ(sets[0].values, (std::vector<std::pair<std::string, double>>{{"loss", 0.5}, {"auc", 0.25}}));
  EXPECT_EQ(sets[1].set + " " + sets[1].prefix, "test val_test_");
  EXPECT_EQ(sets[1].values.size(), 1u);
}

/// Whether sets are judged must not change what is learned.
TEST(Validations, DoNotChangeTheTraining) {
  Classifier plain, judged;
  const Dataset train = points(60, 1);
  const double loss = plain.trainer.fit(train, {.epochs = 3, .verbose = false}).back().loss;
  EXPECT_EQ(
      judged.trainer.fit(train, {.epochs = 3, .validations = {{"test", points(9, 2)}}, .evaluate_training = true, .verbose = false}).back().loss,
      loss);
}

TEST(Validations, CanBeMonitored) {
  Classifier c({metric::top_k_accuracy(2)});
  const auto stop = std::make_shared<callback::EarlyStopping>(callback::EarlyStoppingOptions{.monitor = "val_test_accuracy", .patience = 1});
  const auto plateau = std::make_shared<callback::ReduceOnPlateau>(callback::ReduceOnPlateauOptions{.monitor = "train_loss"});
  const auto best = std::make_shared<callback::EarlyStopping>(callback::EarlyStoppingOptions{.monitor = "val_test_top_2_accuracy", .patience = 1000});
  FitOptions options{
      .epochs = 40, .validations = {{"test", points(40, 2)}}, .evaluate_training = true, .verbose = false, .callbacks = {stop, plateau, best}};
  const auto history = c.trainer.fit(points(200, 1), options);
  ASSERT_LT(history.size(), 40u);
  // It stopped because accuracy, of which more is better, did not rise twice.
  double most = 0;
  std::int64_t at = 0;
  for (const EpochResult& epoch : history)
    if (epoch.value("val_test_accuracy") > most) most = epoch.value("val_test_accuracy"), at = epoch.epoch;
  EXPECT_EQ(stop->best_epoch(), at);
  EXPECT_EQ(stop->stopped_epoch(), at + 2);
  EXPECT_EQ(c.trainer.monitor_mode("val_test_loss"), MonitorMode::min);
  EXPECT_EQ(c.trainer.monitor_mode("val_test_top_2_accuracy"), MonitorMode::max);
  EXPECT_EQ(c.trainer.monitor_mode("train_accuracy"), MonitorMode::max);
  options.callbacks = {std::make_shared<callback::EarlyStopping>(callback::EarlyStoppingOptions{.monitor = "val_tset_loss"})};
  EXPECT_THAT(error_of([&] { c.trainer.fit(points(20, 1), options); }),
              HasSubstr("a callback monitors 'val_tset_loss', which no epoch of this fit will have; the nearest is 'val_test_loss'"));
}

TEST(Validations, AreInTheEpochsLine) {
  EpochResult result;
  result.epoch = 1;
  result.loss = 0.5;
  result.accuracy = 0.25;
  result.validation_loss = 0.75;
  result.validation_accuracy = 0.5;
  result.validations = {{"test", {.loss = 1, .accuracy = 0.125, .metrics = {{"auc", 0.875}}}}};
  result.training_set = Evaluation{.loss = 2, .accuracy = 1};
  EXPECT_EQ(epoch_line(result, 3),
            "epoch 1/3: 0.000 s, loss 0.5000, accuracy 25.00 %, validation loss 0.7500, validation accuracy 50.00 %, test loss 1.0000, test accuracy "
            "12.50 %, test auc 0.875, training set loss 2.0000, training set accuracy 100.00 %");
}

TEST(Validations, AreInLogsAndReports) {
  const TemporaryFolder folder;
  Classifier c;
  const Dataset train = points(64, 1), test = points(16, 2);
  const auto history = c.trainer.fit(
      train, {.epochs = 2,
              .validations = {{"test", test}},
              .evaluate_training = true,
              .verbose = false,
              .callbacks = {std::make_shared<callback::CsvLog>(folder / "log.csv"), std::make_shared<callback::TensorBoard>(folder / "board"),
                            std::make_shared<callback::Report>(folder / "report.html")}});
  EXPECT_THAT(read_bytes(folder / "log.csv"),
              HasSubstr("epoch,loss,accuracy,val_test_loss,val_test_accuracy,train_loss,train_accuracy,learning_rate,seconds\n1,"));
  for (const char* run : {"train", "validation_test", "training_set"}) {
    SCOPED_TRACE(run);
    ASSERT_TRUE(std::filesystem::is_directory(std::string(folder / "board") + "/" + run));
    const auto file = std::filesystem::directory_iterator(std::string(folder / "board") + "/" + run)->path();
    EXPECT_THAT(read_bytes(file.string()), AllOf(HasSubstr("epoch_loss"), Not(HasSubstr("epoch_val_")), Not(HasSubstr("epoch_train_"))));
  }
  const std::string curves = report::learning_curves(history);
  EXPECT_THAT(curves, AllOf(HasSubstr(">training set<"), HasSubstr(">test<"), HasSubstr(">Learning rate<"), Not(HasSubstr("Val test"))));
  EXPECT_THAT(read_bytes(folder / "report.html"), AllOf(HasSubstr("<div class=\"side\">test</div>"),
                                                        HasSubstr("<div class=\"side\">training set</div>"), HasSubstr("val_test_accuracy</th>")));
}

TEST(Validations, SurviveACheckpoint) {
  const Dataset train = points(64, 1);
  FitOptions options{
      .epochs = 4, .batch_size = 16, .validations = {{"test", points(16, 2)}, {"other", points(5, 3)}}, .evaluate_training = true, .verbose = false};
  Classifier whole({metric::top_k_accuracy(2)});
  const auto wanted = whole.trainer.fit(train, options);
  const TemporaryFolder folder;
  options.checkpoint = {.folder = folder / "run"};
  Classifier first({metric::top_k_accuracy(2)}), second({metric::top_k_accuracy(2)});
  options.epochs = 2;
  (void)first.trainer.fit(train, options);
  options.epochs = 4;
  const auto resumed = second.trainer.fit(train, options);
  ASSERT_EQ(resumed.size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(names_of(resumed[i]), names_of(wanted[i]));
    for (const auto& [name, value] : wanted[i].values()) {
      if (name == "seconds") continue;
      EXPECT_EQ(resumed[i].value(name), value) << name << " of epoch " << i + 1;
    }
  }
  const auto refused = [&](const FitOptions& other) {
    Classifier c({metric::top_k_accuracy(2)});
    return error_of([&] { c.trainer.fit(train, other); });
  };
  FitOptions other = options;
  other.validations[0].second = points(16, 9);
  EXPECT_THAT(refused(other), HasSubstr("the checkpoint was made with validation data of test that has other samples now; use the same"));
  other = options;
  other.validations.pop_back();
  EXPECT_THAT(refused(other), HasSubstr("the checkpoint was made with validation data of other that is not there now; use the same"));
  other = options;
  other.evaluate_training = false;
  EXPECT_THAT(refused(other), HasSubstr("the checkpoint was made with FitOptions::evaluate_training 1, now it is 0; use the same"));
}

TEST(Validations, AreCheckedBeforeTheFirstStep) {
  Classifier c;
  const Dataset train = points(32, 1);
  const auto error = [&](FitOptions options) {
    options.verbose = false;
    return error_of([&] { c.trainer.fit(train, options); });
  };
  EXPECT_EQ(error({.validations = {{"test", train}, {"test", train}}}), "[fit] two validations are called 'test'; give each a name of its own");
  EXPECT_THAT(error({.validations = {{"", train}}}), HasSubstr("[fit, validations] a name"));
  EXPECT_THAT(error({.validations = {{"../x", train}}}), HasSubstr("[fit, validations] the name '../x' must not contain '.' or '/'"));
  EXPECT_THAT(error({.validations = {{"test", {random({3, 5}, 1), train.y}}}}), HasSubstr("[fit, validation 'test'] "));
  Tensor bad({std::numeric_limits<float>::quiet_NaN(), 1}, {1, 2});
  EXPECT_THAT(error({.validations = {{"test", {bad, Tensor(std::vector<std::int32_t>{1}, {1})}}}}), HasSubstr("[fit, validation 'test'] x has nan"));
  const auto generator = [&](std::int64_t, std::int64_t piece) { return piece ? std::nullopt : std::optional(train); };
  EXPECT_EQ(error_of([&] { c.trainer.fit(generator, {.evaluate_training = true}); }),
            "[fit] evaluate_training needs data in memory; with a generator, give samples of it as one of the validations");
  struct Odd : Metric {
    Odd() : Metric("train_loss", MonitorMode::min) {}
    void reset() override {}
    void update(const MetricBatch&) override {}
    double result() const override { return 0; }
  };
  Classifier odd({std::make_shared<Odd>()});
  EXPECT_EQ(error_of([&] { odd.trainer.fit(train, {.evaluate_training = true, .verbose = false}); }),
            "[fit] two values of an epoch would be called 'train_loss'; give the validation set or the metric another name");
}

TEST(Validations, OfAGenerator) {
  Classifier c;
  const auto generator = [](std::int64_t, std::int64_t piece) { return piece == 2 ? std::nullopt : std::optional(points(32, 7)); };
  const auto history = c.trainer.fit(generator, {.validations = {{"test", points(16, 2)}}, .verbose = false});
  EXPECT_EQ(history[0].value("val_test_loss"), c.trainer.evaluate(points(16, 2)).loss);
}

}  // namespace
}  // namespace sinter::test::validations_test
