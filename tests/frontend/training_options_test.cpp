// Options of training that no other test needs: on_epoch, logs that go on, monitors, own metrics, class weights beside sample weights, averages; and
// what Trainer, callbacks and metrics refuse.
#include <cmath>
#include <fstream>

#include "frontend/checkpoint/run_state.h"
#include "tests/frontend/mistakes.h"

namespace sinter::test::training_options_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Dataset points(std::int64_t samples) { return {random({samples, 2}, 1), random_labels(samples, 3, 2)}; }

nn::Sequential linear() {
  seed(3);
  return nn::Sequential{nn::Dense(2, 3)};
}

Trainer trainer_of(nn::Module& model, TrainerOptions options = {.mode = modes().back()}) {
  return Trainer(model, loss::categorical_crossentropy_from_logits, optim::SGD({.learning_rate = 0.5}), std::move(options));
}

TEST(FitOptions, TellsOfEachEpoch) {
  nn::Sequential model = linear();
  Trainer trainer = trainer_of(model, {.mode = modes().back(), .metrics = {metric::accuracy()}});
  std::vector<std::int64_t> epochs;
  std::vector<double> losses;
  const auto history = trainer.fit(points(30), {.epochs = 3, .validation = points(9), .verbose = false, .on_epoch = [&](const EpochResult& r) {
                                                  epochs.push_back(r.epoch);
                                                  losses.push_back(r.loss);
                                                  EXPECT_GE(r.seconds, 0);
                                                  ASSERT_EQ(r.validation_metrics.size(), 1u);
                                                  EXPECT_EQ(r.validation_metrics[0].first, "accuracy");
                                                }});
  EXPECT_THAT(epochs, ElementsAre(1, 2, 3));
  for (std::size_t i = 0; i < losses.size(); ++i) EXPECT_EQ(losses[i], history[i].loss);
}

/// Each sample counts by the product of its own weight and that of its class: as weights that are that product.
TEST(FitOptions, ClassWeightsMultiplySampleWeights) {
  for (const Mode mode : modes()) {
    const Dataset data = points(20);
    const std::vector<double> of_class{0.5, 2, 0};
    const auto classes = data.y.only().to_vector<std::int32_t>();
    std::vector<float> own, product;
    for (std::size_t i = 0; i < classes.size(); ++i) {
      own.push_back(static_cast<float>(i % 3));
      product.push_back(own.back() * static_cast<float>(of_class[static_cast<std::size_t>(classes[i])]));
    }
    const auto trained = [&](const std::vector<float>& weights, std::vector<double> class_weights) {
      nn::Sequential model = linear();
      Trainer trainer = trainer_of(model, {.mode = mode});
      Dataset weighted = data;
      weighted.weights = Tensor(weights, {20});
      trainer.fit(weighted, {.epochs = 2, .batch_size = 7, .class_weights = std::move(class_weights), .verbose = false});
      return model.parameters()[0].read().to_vector<float>();
    };
    EXPECT_EQ(trained(own, of_class), trained(product, {}));
    EXPECT_NE(trained(own, of_class), trained(own, {}));
  }
}

TEST(FitOptions, AveragesAreExchangedThroughTheTrainer) {
  nn::Sequential model = linear();
  Trainer trainer(model, loss::categorical_crossentropy_from_logits, optim::SGD({.learning_rate = 0.5, .common = {.average_decay = 0.9}}),
                  {.mode = modes().back()});
  const Dataset data = points(30);
  trainer.fit(data, {.epochs = 3, .verbose = false});
  const auto values = [&] { return model.parameters()[0].read().to_vector<float>(); };
  const std::vector<float> latest = values();
  const double loss = trainer.evaluate(data).loss;
  trainer.exchange_averages();
  EXPECT_NE(values(), latest);
  EXPECT_NE(trainer.evaluate(data).loss, loss) << "compiled steps read the averages";
  trainer.exchange_averages();
  EXPECT_EQ(values(), latest);
  EXPECT_EQ(trainer.evaluate(data).loss, loss);
}

TEST(TrainerParts, AreMetadataAndSteps) {
  nn::Sequential model = linear();
  Trainer trainer = trainer_of(model);
  EXPECT_FALSE(trainer.has_metadata("units"));
  trainer.set_metadata("units", "m");
  EXPECT_TRUE(trainer.has_metadata("units"));
  const Dataset data = points(4);
  trainer.train_on_batch(data.x, data.y);
  (void)trainer.predict(data.x);
  EXPECT_EQ(trainer.predict_step().options().name, "predict");
}

TEST(Losses, CountByTheirFactor) {
  const Losses one = loss::hinge, two{{loss::hinge, 1}, {loss::huber(), 0.25}};
  EXPECT_EQ(one[0].factor, 1);
  EXPECT_EQ(two[1].factor, 0.25);
}

// ---- callbacks ----

std::vector<std::string> lines_of(const std::string& path) {
  std::vector<std::string> lines;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) lines.push_back(line.substr(0, line.find(',')));
  return lines;
}

TEST(CallbackOptions, ALogGoesOnWhereItIsAskedTo) {
  const TemporaryFolder folder;
  const std::string path = folder.path + "/log.csv";
  nn::Sequential model = linear();
  Trainer trainer = trainer_of(model);
  const auto fit = [&](bool append) {
    trainer.fit(points(8), {.epochs = 2, .verbose = false, .callbacks = {std::make_shared<callback::CsvLog>(path, append)}});
  };
  fit(true);
  fit(true);
  EXPECT_THAT(lines_of(path), ElementsAre("epoch", "1", "2", "3", "4")) << "one header";
  fit(false);
  EXPECT_THAT(lines_of(path), ElementsAre("epoch", "5", "6"));
}

TEST(CallbackOptions, ThePlateauEndsAtTheLeastRate) {
  nn::Sequential model = linear();
  Trainer trainer = trainer_of(model);
  const auto reduce = std::make_shared<callback::ReduceOnPlateau>(
      callback::ReduceOnPlateauOptions{.monitor = "loss", .factor = 0.25, .patience = 0, .min_delta = 100, .min_rate = 0.0625});
  std::vector<double> rates;
  for (const EpochResult& r : trainer.fit(points(8), {.epochs = 5, .verbose = false, .callbacks = {reduce}})) rates.push_back(r.learning_rate);
  EXPECT_THAT(rates, ElementsAre(0.5, 0.5, 0.125, 0.0625, 0.0625));
}

EpochResult epoch_with(double loss, double accuracy) {
  EpochResult result;
  result.loss = loss;
  result.accuracy = accuracy;
  return result;
}

TEST(CallbackOptions, AMonitorKeepsTheBestAndGoesOn) {
  callback::Monitor loss("loss", 0.1), accuracy("accuracy");
  EXPECT_EQ(loss.name(), "loss");
  EXPECT_TRUE(loss.improved(epoch_with(2, 0)));
  EXPECT_FALSE(loss.improved(epoch_with(1.95, 0))) << "less than min_delta";
  EXPECT_FALSE(loss.improved(epoch_with(NAN, 0)));
  EXPECT_TRUE(loss.improved(epoch_with(1.5, 0)));
  EXPECT_EQ(loss.best(), 1.5);
  EXPECT_TRUE(accuracy.improved(epoch_with(0, 0.5)));
  EXPECT_FALSE(accuracy.improved(epoch_with(0, 0.25))) << "more is better, but for losses and errors";
  SavedState state;
  loss.save(state);
  callback::Monitor other("loss", 0.1);
  other.restore(state);
  EXPECT_FALSE(other.improved(epoch_with(1.5, 0)));
  other.reset();
  EXPECT_TRUE(other.improved(epoch_with(9, 0)));
}

// ---- metrics ----

/// The greatest weighted distance from the target, kept from checkpoint to checkpoint.
struct Worst : Metric {
  Worst() : Metric("worst") {}
  double worst = 0;
  void reset() override { worst = 0; }
  void update(const MetricBatch& batch) override {
    EXPECT_EQ(batch.width, batch.target_width);
    for (std::int64_t i = 0; i < batch.samples * batch.width; ++i) {
      const auto at = static_cast<std::size_t>(i);
      worst = std::max(worst, batch.weight_of(i / batch.width) * std::abs(static_cast<double>(batch.prediction[at]) - batch.target[at]));
    }
  }
  double result() const override { return worst; }
  void save(SavedState& state) const override { state.set("worst", worst); }
  void restore(const SavedState& state) override { worst = state.number("worst"); }
};

/// What nobody can keep in the middle of an epoch.
struct Forgetful : Worst {
  void save(SavedState& state) const override { Metric::save(state); }
  void restore(const SavedState& state) override { Metric::restore(state); }
};

TEST(MetricOptions, MayBeOnesOwn) {
  Worst metric;
  metric.add(Tensor({1, 2, 3, 4}, {2, 2}), Tensor({1, 5, 3, 4.5f}, {2, 2}));
  EXPECT_EQ(metric.result(), 3);
  metric.reset();
  metric.add(Tensor({1, 2, 3, 4}, {2, 2}), Tensor({1, 5, 3, 4.5f}, {2, 2}), Tensor({0.1f, 10}, {2}));
  EXPECT_EQ(metric.result(), 5);
  EXPECT_EQ(metric.output(), 0u);
  metric.set_output(1);
  EXPECT_EQ(metric.output(), 1u);
  EXPECT_EQ(metric.name(), "output_2_worst");

  nn::Sequential model{nn::Dense(2, 2)};
  const auto own = std::make_shared<Worst>();
  Trainer trainer(model, loss::mean_squared_error, optim::SGD(), {.mode = modes().back(), .metrics = {own}});
  const Dataset data{random({9, 2}, 1), random({9, 2}, 2)};
  const auto history = trainer.fit(data, {.verbose = false});
  EXPECT_GT(history[0].value("worst"), 0);
}

/// Sums of a metric that another one saved.
SavedState saved(const std::string& name, std::vector<double> numbers) {
  SavedState state;
  state.set(name, std::move(numbers));
  return state;
}

TEST(MetricErrors, SayWhatIsWrong) {
  const Tensor p({0.5f, 0.5f}, {1, 2}), y(std::vector<std::int32_t>{1}, {1});
  metric::ConfusionMatrix matrix(3);
  SavedState state;
  expect_errors(
      {{"[accuracy] predictions must be f32, got i32[1]", [&] { metric::accuracy()->add(y, y); }},
       {"[accuracy] needs predictions and targets of as many samples, got f32[1,2] and i32[]", [&] { metric::accuracy()->add(p, reshape(y, {})); }},
       {"[accuracy] needs one weight per sample, got f32[2]", [&] { metric::accuracy()->add(p, y, Tensor({1, 1}, {2})); }},
       {"[worst] this metric cannot be saved in the middle of an epoch; override Metric::save and restore", [&] { Forgetful().save(state); }},
       {"[of_output] the metric is null", [] { metric::of_output(0, nullptr); }},
       {"[metric] needs 2 saved sums, got 3", [] { metric::accuracy()->restore(saved("sums", {1, 2, 3})); }},
       {"[auc] needs three saved numbers per prediction, got 2", [] { metric::auc()->restore(saved("seen", {1, 2})); }},
       {"[top_k_accuracy] k must be at least 1, got 0", [] { metric::top_k_accuracy(0); }},
       {"[confusion_matrix] was made for 3 classes, got predictions of 2", [&] { matrix.add(p, y); }},
       {"[confusion_matrix] needs three saved numbers per count, got 1", [&] { matrix.restore(saved("counts", {1})); }},
       {"[confusion_matrix] classes 3 and 0 must be in [0, 3)", [&] { (void)matrix.count(3, 0); }}});
}

// ---- errors ----

TEST(SavedStateErrors, SayWhatIsWrong) {
  const SavedState state = saved("many", {1, 2});
  expect_errors({{"[checkpoint] the saved state has no", [&] { (void)state.number("none"); }},
                 {"[checkpoint] 'many' must be one number, there are 2", [&] { (void)state.number("many"); }},
                 {"[checkpoint] 'half' must be a whole number in [0, 9], got 0.5", [] { (void)saved("half", {0.5}).integer("half", 0, 9); }}});
}

TEST(CallbackErrors, SayWhatIsWrong) {
  nn::Sequential model = linear();
  Trainer trainer = trainer_of(model);
  callback::EarlyStopping stopping;
  SavedState many = saved("waited", {0});
  many.set("best_epoch", 1);
  many.set("stopped_epoch", 0);
  for (int i = 0; i < 9; ++i) many.set(str("parameter.", i), Tensor(1.0f));
  stopping.restore(many);
  callback::CsvLog full("/dev/full");
  expect_errors({{"[callback] min_delta must be at least 0, got -1", [] { callback::Monitor("loss", -1); }},
                 {"[ReduceOnPlateau] min_rate must be at least 0, got -1", [] { callback::ReduceOnPlateau({.min_rate = -1}); }},
                 {"[BestCheckpoint] the path is empty", [] { callback::BestCheckpoint(""); }},
                 {"[EarlyStopping] has 9 parameters to restore, the trainer has 3", [&] { stopping.on_train_end(trainer); }},
                 {"[/dev/full] cannot write the file: failed to write to it (No space left on device)",
                  [&] { full.on_epoch_end(trainer, epoch_with(1, 1)); }}});
}

TEST(FitErrors, SayWhatIsWrong) {
  nn::Sequential model = linear();
  Trainer trainer = trainer_of(model);
  const Dataset data = points(6);
  const auto fit = [&](const Dataset& with, FitOptions options) {
    options.verbose = false;
    trainer.fit(with, options);
  };
  Dataset two = data, floats = data;
  two.y = Columns{data.y.only(), data.y.only()};
  floats.y = random({6, 3}, 1);
  expect_errors({{"[fit] validation_split 0.01 of 6 samples makes one of the two parts empty", [&] { fit(data, {.validation_split = 0.01}); }},
                 {"[fit] class_weights must be finite numbers of at least 0, got -1", [&] { fit(data, {.class_weights = {1, 1, -1}}); }},
                 {"[fit] class_weights must be finite numbers of at least 0, got nan", [&] { fit(data, {.class_weights = {1, 1, NAN}}); }},
                 {"[fit] steps_per_epoch must not be negative, got -1", [&] { fit(data, {.steps_per_epoch = -1}); }},
                 {"[fit] checkpoint.every_steps must not be negative and checkpoint.keep at least 1, got 0 and 0",
                  [&] { fit(data, {.checkpoint = {.folder = "x", .keep = 0}}); }},
                 {"[fit] features must be f32, u8, i32 or u32, got bool[6,2]; convert them with cast",
                  [&] { fit({cast(data.x.only(), DType::boolean), data.y}, {}); }},
                 {"[class weights] targets must be class numbers [samples], got f32[6,2]", [&] { data::balanced_class_weights(data.x, 3); }},
                 {"[Dataset::slice] samples [4, 9) of 6 are empty or out of range", [&] { (void)data.slice(4, 9); }},
                 {"[Losses] needs a loss for each output of the model, got none", [] { Losses(std::vector<OutputLoss>{}); }},
                 {"[Losses] factors must be finite numbers of at least 0, got -1", [] { Losses{{loss::hinge, -1}}; }}});
  nn::Sequential regression = linear();
  Trainer numbers(regression, loss::mean_squared_error, optim::SGD(), {.mode = modes().back()});
  EXPECT_THAT(error_of([&] { numbers.fit(floats, {.class_weights = {1}, .verbose = false}); }),
              HasSubstr("[fit] class_weights need targets that are class numbers [samples], got f32[6,3]"));
}

/// A model of two outputs of three classes each.
struct TwoHeads : nn::Model {
  nn::Dense first{2, 3}, second{2, 3};
  TwoHeads() : Model("heads") { add(first), add(second); }
  std::vector<Tensor> forward_all(std::span<const Tensor> in) override { return {first(in[0]), second(in[0])}; }
};

TEST(FitErrors, OfSeveralTargets) {
  TwoHeads model;
  Trainer trainer(model, {{loss::categorical_crossentropy_from_logits, 1}, {loss::categorical_crossentropy_from_logits, 1}}, optim::SGD(),
                  {.mode = modes().back()});
  Dataset data = points(6);
  data.y = Columns{data.y.only(), data.y.only()};
  data.check("six points");
  data.check_finite("six points");
  EXPECT_THAT(error_of([&] { trainer.fit(data, {.class_weights = {1, 1, 1}, .verbose = false}); }),
              HasSubstr("[fit] class_weights need one target, there are 2; weight samples instead"));
}

/// What the graph reads beside its inputs may hold what is not finite too.
TEST(FitErrors, NumbersThatAreNotFinite) {
  const Tensor captured({1, NAN}, {2});
  const auto error = [&](std::function<Tensor()> regularizer) {
    nn::Sequential model = linear();
    Trainer trainer = trainer_of(model, {.mode = modes().back(), .regularizer = std::move(regularizer)});
    return error_of([&] { trainer.fit(points(6), {.verbose = false, .find_non_finite = true}); });
  };
  EXPECT_THAT(error([&] { return sum(captured); }), HasSubstr("the input holds nan at [1] of f32[2], in step 1 of epoch 1"));
  EXPECT_THAT(
      error([&] { return log(Tensor(-1.0f)); }),
      testing::AllOf(HasSubstr("log makes nan"), HasSubstr("Is the learning rate too high, or an operand outside of what the op is defined for?")));
}

TEST(RunStateErrors, SayWhatIsWrong) {
  RunState run{.first_epoch = 2, .epoch = 4, .history = std::vector<EpochResult>(2), .now = {}};
  const SavedState good = run.save();
  EXPECT_EQ(RunState::restore(good).history.size(), 2u);
  const auto with = [&](const std::string& name, std::vector<double> numbers) {
    SavedState bad = good;
    bad.set(name, std::move(numbers));
    return [bad] { RunState::restore(bad); };
  };
  expect_errors({{"[checkpoint] the history has 3 epochs, not those from 3 to 4", with("history.loss", {1, 2, 3})},
                 {"[checkpoint] the history of 'seconds' is incomplete", with("history.seconds", {1})},
                 {"[checkpoint] the history of '1000.auc' is incomplete", with("history.metric.1000.auc", {1})},
                 {"[checkpoint] the history of a validation set has no name", with("history.evaluated1000.loss", {1, 2})},
                 {"[checkpoint] the history of 'loss' of the set 'training' is incomplete", [&] {
                    SavedState saved = good;
                    saved.set("history.evaluated training set.name.training", std::vector<double>{});
                    saved.set("history.evaluated training set.loss", 1);
                    RunState::restore(saved);
                  }}});
}

TEST(TrainerCallErrors, SayWhatIsWrong) {
  const TemporaryFolder folder;
  nn::Sequential model = linear();
  Trainer trainer = trainer_of(model);
  const Dataset data = points(6);
  const std::string path = folder.path + "/model.sinter";
  std::vector<float> room(9);
  expect_errors({{"[Trainer] the shapes of the data are not known yet; call fit, train_on_batch or evaluate first", [&] { (void)trainer.summary(); }},
                 {"[save] the shapes of the data are not known yet; call fit, train_on_batch or evaluate first", [&] { trainer.save(path); }},
                 {"[set_metadata] a name must not be empty; give one", [&] { trainer.set_metadata("", "x"); }},
                 {"[Trainer] there is no metadata 'unit'", [&] { (void)trainer.metadata("unit"); }},
                 {"[Trainer] a metric is null", [&] { trainer_of(model, {.metrics = {nullptr}}); }}});
  trainer.train_on_batch(data.x, data.y);
  Dataset bytes{cast(data.x.only(), DType::u8), data.y, 0.5f};
  nn::Sequential same = linear();
  Trainer scaled = trainer_of(same);
  scaled.train_on_batch(bytes.x, bytes.y);
  expect_errors({{"[time] batch_size and repeats must be at least 1, got 0 and 20", [&] { (void)trainer.time(data, 0); }},
                 {"the first data had scale 1, now it is 0.5", [&] { (void)scaled.evaluate(bytes); }},
                 {"the result is f32[1,3], but there is room for 9 numbers", [&] { trainer.predict_one(std::vector<float>(2), room); }}});
  nn::Sequential words{nn::Embedding(9, 4), nn::Flatten(), nn::Dense(8, 3)};
  Trainer reads = trainer_of(words);
  reads.train_on_batch(Tensor::zeros({DType::i32, {data.x.only().shape()[0], 2}}), data.y);
  EXPECT_EQ(error_of([&] { reads.predict_one(std::vector<float>(2), room); }),
            "[predict_one] takes one sample of f32 numbers, but the model's input is i32[N,2]; use predict");
  nn::Sequential lines = linear();
  Trainer eager = trainer_of(lines, {.mode = Mode::eager});
  eager.train_on_batch(data.x, data.y);
  EXPECT_THAT(error_of([&] { eager.predict_one(std::vector<float>(2), room); }),
              HasSubstr("[predict_one] the result is f32[1,3], but there is room for 9 numbers"));
  trainer.save(path);
  Trainer loaded = Trainer::load(path, {.mode = modes().back()});
  expect_errors(
      {{"[Trainer] a trainer from a file cannot exchange averages; do it before saving", [&] { loaded.exchange_averages(); }},
       {"judges output 1, but there are losses for 1", [&] { Trainer::load(path, {.metrics = {metric::of_output(1, metric::accuracy())}}); }},
       {"model.sinter] holds no step; is it the file of a Trainer?", [&] { load_step(path); }}});
}

}  // namespace
}  // namespace sinter::test::training_options_test
