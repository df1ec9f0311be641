// Metrics of a Trainer: weighted or not, each with a name of its own and a direction.
#include "tests/frontend/mistakes.h"

namespace sinter::test::metric_names_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Two samples of two classes: the first is right, with a weight of 3, the second wrong, with a weight of 1.
struct Judged {
  Dataset data{Tensor({1, 0, 1, 0}, {2, 2}), Tensor(std::vector<std::int32_t>{0, 1}, {2}), 1, Tensor({3, 1}, {2})};
  nn::Sequential model{nn::Dense(2, 2)};
  Judged() { model.parameter("dense_1.weight").assign(Tensor({1, 0, 0, 1}, {2, 2})); }
  Trainer trainer(TrainerOptions options) {
    options.mode = modes().back();
    return Trainer(model, loss::sparse_categorical_crossentropy_from_logits, optim::SGD({.learning_rate = 0}), std::move(options));
  }
};

std::vector<std::string> names_of(const EpochResult& result) {
  std::vector<std::string> names;
  for (const auto& [name, value] : result.values()) names.push_back(name);
  return names;
}

TEST(TrainerMetrics, AreWeightedWhereTheyAreListedSo) {
  Judged judged;
  Trainer trainer = judged.trainer({.metrics = {metric::accuracy()}, .weighted_metrics = {metric::accuracy()}});
  const Evaluation evaluation = trainer.evaluate(judged.data);
  EXPECT_EQ(*evaluation.accuracy, 0.5);
  EXPECT_THAT(evaluation.metrics,
              ElementsAre(std::pair<std::string, double>("accuracy", 0.5), std::pair<std::string, double>("weighted_accuracy", 0.75)));
  const EpochResult epoch = trainer.fit(judged.data, {.class_weights = {1, 3}, .verbose = false})[0];
  EXPECT_EQ(epoch.value("accuracy"), 0.5);
  EXPECT_EQ(epoch.value("weighted_accuracy"), 0.5) << "class weights are weights of samples";
  const TemporaryFolder folder;
  trainer.save(folder / "model.sinter");
  Trainer loaded = Trainer::load(folder / "model.sinter", {.mode = modes().back(), .weighted_metrics = {metric::accuracy()}});
  EXPECT_EQ(loaded.evaluate(judged.data).metrics[0].second, 0.75);
}

TEST(TrainerMetrics, HaveNamesOfTheirOwn) {
  struct Loss : Metric {
    Loss() : Metric("loss") {}
    void reset() override {}
    void update(const MetricBatch&) override {}
    double result() const override { return 0; }
  };
  Judged judged;
  Trainer trainer = judged.trainer({.metrics = {metric::accuracy(), metric::top_k_accuracy(1), metric::top_k_accuracy(1), std::make_shared<Loss>()},
                                    .weighted_metrics = {metric::accuracy()}});
  EXPECT_THAT(names_of(trainer.fit(judged.data, {.validation = judged.data, .verbose = false})[0]),
              ElementsAre("loss", "accuracy", "top_1_accuracy", "top_1_accuracy_2", "loss_2", "weighted_accuracy", "val_loss", "val_accuracy",
                          "val_top_1_accuracy", "val_top_1_accuracy_2", "val_loss_2", "val_weighted_accuracy", "learning_rate", "seconds"));
  const metric::Pointer once = metric::accuracy();
  EXPECT_THAT(error_of([&] { judged.trainer({.metrics = {once}, .weighted_metrics = {once}}); }),
              HasSubstr("[Trainer] the metric accuracy is listed twice; make one for each place"));
}

// ---- which values are better ----

struct Own : Metric {
  explicit Own(const std::string& name, MonitorMode mode = MonitorMode::automatic) : Metric(name, mode) {}
  void reset() override {}
  void update(const MetricBatch&) override {}
  double result() const override { return ++epochs; }
  mutable double epochs = 0;
};

TEST(MonitorMode, IsWhatTheMetricSays) {
  for (const metric::Pointer& m :
       {metric::accuracy(), metric::top_k_accuracy(2), metric::binary_accuracy(), metric::precision(), metric::recall(), metric::f1(), metric::auc(),
        metric::r2(), metric::Pointer(std::make_shared<metric::ConfusionMatrix>(2)), metric::scaled(-1, metric::mean_squared_error())})
    EXPECT_EQ(m->mode(), MonitorMode::max) << m->name();
  for (const metric::Pointer& m : {metric::mean_absolute_error(), metric::mean_squared_error(), metric::root_mean_squared_error(),
                                   metric::scaled(2, metric::mean_absolute_error()), metric::of_output(0, metric::mean_squared_error())})
    EXPECT_EQ(m->mode(), MonitorMode::min) << m->name();
  EXPECT_EQ(mode_of_value("val_output_12_loss"), MonitorMode::min);
  EXPECT_EQ(mode_of_value("output_1_accuracy"), MonitorMode::max);
  EXPECT_EQ(mode_of_value("glossary"), MonitorMode::automatic);
  EXPECT_EQ(callback::Monitor("rmse", 0, MonitorMode::min).mode(), MonitorMode::min);
}

TEST(MonitorMode, IsAskedForWhereNobodySays) {
  Judged judged;
  const auto own = std::make_shared<Own>("rmse");
  const auto stopped = [&](metric::Pointer metric, MonitorMode mode) {
    Trainer trainer = judged.trainer({.metrics = {std::move(metric)}});
    const auto stopping = std::make_shared<callback::EarlyStopping>(callback::EarlyStoppingOptions{.monitor = "rmse", .mode = mode});
    trainer.fit(judged.data, {.epochs = 4, .verbose = false, .callbacks = {stopping}});
    return stopping->stopped_epoch();
  };
  EXPECT_THAT(error_of([&] { stopped(own, MonitorMode::automatic); }),
              HasSubstr("[Trainer] it is not known whether a smaller or a greater 'rmse' is better, but only of loss, accuracy; give the callback"));
  EXPECT_EQ(own->epochs, 0) << "before the first step";
  EXPECT_EQ(stopped(own, MonitorMode::min), 2);
  EXPECT_EQ(stopped(std::make_shared<Own>("rmse"), MonitorMode::max), 0);
  EXPECT_EQ(stopped(std::make_shared<Own>("rmse", MonitorMode::min), MonitorMode::automatic), 2);
  Trainer trainer = judged.trainer({.metrics = {std::make_shared<Own>("brier", MonitorMode::min)}});
  EXPECT_EQ(trainer.monitor_mode("val_brier"), MonitorMode::min);
  EXPECT_EQ(trainer.monitor_mode("nothing"), MonitorMode::automatic);
  callback::Monitor monitor("seconds");
  EXPECT_THAT(error_of([&] { monitor.improved({}); }), HasSubstr("[callback] it is not known whether a smaller or a greater 'seconds' is better"));
  EXPECT_THAT(error_of([&] { monitor.begin(trainer); }), HasSubstr("of loss, accuracy, brier"));
}

}  // namespace
}  // namespace sinter::test::metric_names_test
