// Trainer::fit: weights, metrics, callbacks, and all of it at once.
#include <csignal>
#include <filesystem>
#include <fstream>

#include "tests/frontend/helpers.h"

namespace sinter::test::fit_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// Three classes of points in the plane, the last one rare.
Dataset points(std::int64_t samples, std::uint64_t stream) {
  RandomStream random(77, stream);
  std::vector<float> x;
  std::vector<std::int32_t> y;
  for (std::int64_t i = 0; i < samples; ++i) {
    const auto c = static_cast<std::int32_t>(std::min<std::uint32_t>(2, random.below(9) / 4));
    y.push_back(c);
    x.push_back(static_cast<float>(random.normal() + 2 * (c == 1)));
    x.push_back(static_cast<float>(random.normal() + 2 * (c == 2)));
  }
  return {Tensor(x, {samples, 2}), Tensor(y, {samples})};
}

nn::Sequential small() {
  seed(3);
  return nn::Sequential{nn::Dense(2, 16, nn::Activation::relu), nn::Dense(16, 3)};
}

TEST(Fit, WeightsCountAsRepetitions) {
  for (const Mode mode : modes()) {
    const Dataset all = points(40, 1);
    // Sample i counts i % 3 times: by weights, and by being there so often.
    std::vector<float> weights, x;
    std::vector<std::int32_t> y;
    const auto from_x = all.x.only().to_vector<float>();
    const auto from_y = all.y.only().to_vector<std::int32_t>();
    for (std::size_t i = 0; i < 40; ++i) {
      weights.push_back(static_cast<float>(i % 3));
      for (std::size_t k = 0; k < i % 3; ++k) {
        x.insert(x.end(), {from_x[2 * i], from_x[2 * i + 1]});
        y.push_back(from_y[i]);
      }
    }
    const auto count = static_cast<std::int64_t>(y.size());
    nn::Sequential model = small();
    Trainer trainer(model, loss::categorical_crossentropy_from_logits, optim::SGD(), {.mode = mode});
    Dataset weighted = all;
    weighted.weights = Tensor(weights, {40});
    const double mean_weighted = trainer.evaluate(weighted).loss, mean_repeated = trainer.evaluate({Tensor(x, {count, 2}), Tensor(y, {count})}).loss;
    EXPECT_NEAR(mean_weighted * 40, mean_repeated * static_cast<double>(count), 1e-4);
    const auto history = trainer.fit(all, {.batch_size = 40, .class_weights = {1, 0, 0}, .verbose = false});
    EXPECT_LT(history[0].loss, mean_repeated);
  }
}

/// bool targets train as the numbers 0 and 1 do, with the same metrics and weights.
TEST(Fit, TakesTargetsOfTruth) {
  const Dataset all = points(60, 1);
  const Tensor yes = all.y.only() == 1;
  for (const Mode mode : modes()) {
    const auto run = [&](const Tensor& y, std::int64_t units, const Loss& loss, const metric::Pointer& metric) {
      seed(4);
      nn::Sequential model{nn::Dense(2, units)};
      Trainer trainer(model, loss, optim::SGD(), {.mode = mode, .metrics = {metric}});
      const auto history = trainer.fit({all.x, y}, {.epochs = 2, .batch_size = 16, .class_weights = {1, 2}, .verbose = false});
      return history.back().values();
    };
    const auto expect_same = [](auto got, auto wanted) {
      const auto is_time = [](const auto& value) { return value.first == "seconds"; };
      std::erase_if(got, is_time), std::erase_if(wanted, is_time);
      EXPECT_EQ(got, wanted);
    };
    const Tensor numbers = cast(yes, DType::u8);
    expect_same(run(yes, 1, loss::binary_crossentropy_from_logits, metric::binary_accuracy()),
                run(numbers, 1, loss::binary_crossentropy_from_logits, metric::binary_accuracy()));
    expect_same(run(yes, 2, loss::sparse_categorical_crossentropy_from_logits, metric::accuracy()),
                run(numbers, 2, loss::sparse_categorical_crossentropy_from_logits, metric::accuracy()));
  }
  EXPECT_TRUE(data::are_class_numbers(yes.type()));
  EXPECT_FALSE(data::are_class_numbers(all.x.only().type()));
  EXPECT_EQ(data::balanced_class_weights(yes, 2), data::balanced_class_weights(cast(yes, DType::u8), 2));
}

TEST(Fit, FreezingTakesEffectAtOnce) {
  for (const Mode mode : modes()) {
    seed(6);
    nn::Dense body(2, 8, nn::Activation::relu);
    nn::BatchNorm norm(8);
    nn::Sequential model{body, norm, nn::Dense(8, 3)};
    Trainer trainer(model, loss::categorical_crossentropy_from_logits, optim::Adam(), {.mode = mode});
    const Dataset data = points(64, 3);
    const auto fit = [&] { trainer.fit(data, {.epochs = 2, .batch_size = 16, .verbose = false}); };
    const auto values = [&] { return std::pair(body.weight.read().to_vector<float>(), norm.running_mean.read().to_vector<float>()); };
    const auto at_first = values();
    fit();
    const auto trained = values();
    EXPECT_NE(trained.first, at_first.first);
    EXPECT_NE(trained.second, at_first.second);
    body.set_trainable(false);
    norm.set_trainable(false);
    fit();
    EXPECT_EQ(values(), trained);  // frozen statistics stay too
    body.set_trainable(true);
    fit();
    EXPECT_NE(values().first, trained.first);
    EXPECT_EQ(values().second, trained.second);
  }
}

TEST(Fit, ClassWeightsBalance) {
  const Tensor y(std::vector<std::int32_t>{0, 0, 0, 1, 2, 2}, {6});
  EXPECT_THAT(data::balanced_class_weights(y, 3), ElementsAre(6.0 / 9, 2, 1));
  EXPECT_THAT(data::balanced_class_weights(y, 4), ElementsAre(6.0 / 9, 2, 1, 1));  // a class without samples takes no share
  EXPECT_THAT(error_of([&] { data::balanced_class_weights(y, 2); }), HasSubstr("[class weights] class 2 is outside [0, 2)"));
  nn::Sequential model = small();
  Trainer trainer(model, loss::categorical_crossentropy_from_logits, optim::SGD(), {.mode = modes().back()});
  const Dataset data = points(30, 2);
  EXPECT_THAT(error_of([&] { trainer.fit(data, {.class_weights = {1, 1}, .verbose = false}); }),
              HasSubstr("[fit] class_weights has 2 weights, but there is a class 2; give one per class"));
  EXPECT_THAT(error_of([&] { trainer.fit(data, {.class_weights = {1, 1, -1}, .verbose = false}); }), HasSubstr("got -1"));
  Dataset bad = data;
  bad.weights = Tensor({1, 2}, {2});
  EXPECT_THAT(error_of([&] { trainer.fit(bad, {.verbose = false}); }), HasSubstr("[fit] weights must be f32[30], one per sample, got f32[2]"));
}

TEST(Fit, MetricsAreThoseOfThePredictions) {
  for (const Mode mode : modes()) {
    nn::Sequential model = small();
    const auto matrix = std::make_shared<metric::ConfusionMatrix>(3);
    Trainer trainer(model, loss::categorical_crossentropy_from_logits, optim::Adam(), {.mode = mode, .metrics = {metric::top_k_accuracy(2), matrix}});
    const Dataset train = points(300, 3), test = points(100, 4);
    const auto history = trainer.fit(train, {.epochs = 2, .validation = test, .verbose = false});
    const Evaluation judged = trainer.evaluate(test);
    EXPECT_EQ(history[1].value("val_top_2_accuracy"), judged.metrics[0].second);
    EXPECT_EQ(matrix->result(), *judged.accuracy);
    const auto own = metric::top_k_accuracy(2);
    own->add(trainer.predict(test.x), test.y);
    EXPECT_NEAR(own->result(), judged.metrics[0].second, 1e-12);
    EXPECT_THAT(error_of([&] { (void)history[0].value("auc"); }),
                HasSubstr("an epoch has no 'auc'; it has loss, accuracy, top_2_accuracy, confusion_matrix, val_loss"));
  }
}

TEST(Fit, ValidationSplitHoldsOutTheEnd) {
  nn::Sequential model = small();
  Trainer trainer(model, loss::categorical_crossentropy_from_logits, optim::Adam(), {.mode = modes().back()});
  const Dataset data = points(100, 5);
  const auto history = trainer.fit(data, {.validation_split = 0.2, .verbose = false});
  EXPECT_EQ(*history[0].validation_loss, trainer.evaluate(data.slice(80, 100)).loss);
  EXPECT_THAT(error_of([&] { trainer.fit(data, {.validation_split = 1, .verbose = false}); }),
              HasSubstr("validation_split must be in [0, 1), got 1"));
  EXPECT_THAT(error_of([&] { trainer.fit(data, {.validation = data, .validation_split = 0.5, .verbose = false}); }),
              HasSubstr("give either validation or validation_split"));
}

TEST(Callback, RunInOrderAndCanStop) {
  struct Note : Callback {
    std::string seen;
    void on_train_begin(Trainer&) override { seen += "b"; }
    void on_epoch_begin(Trainer&, std::int64_t epoch) override { seen += str(" ", epoch); }
    void on_batch_end(Trainer& trainer, std::int64_t step, double) override {
      seen += ".";
      if (step == 5) trainer.stop();
    }
    void on_epoch_end(Trainer&, const EpochResult&) override { seen += "|"; }
    void on_train_end(Trainer&) override { seen += "e"; }
  };
  const auto note = std::make_shared<Note>();
  nn::Sequential model = small();
  Trainer trainer(model, loss::categorical_crossentropy_from_logits, optim::Adam(), {.mode = modes().back()});
  EXPECT_EQ(trainer.fit(points(90, 6), {.epochs = 4, .verbose = false, .callbacks = {note}}).size(), 2u);
  EXPECT_EQ(note->seen, "b 1...| 2..|e");
}

TEST(Callback, EarlyStoppingRestoresTheBest) {
  nn::Sequential model = small();
  Trainer trainer(model, loss::categorical_crossentropy_from_logits, optim::SGD({.learning_rate = 0.1}), {.mode = modes().back()});
  const Dataset data = points(60, 7);
  // From the third epoch on the rate makes things worse.
  const auto stopping =
      std::make_shared<callback::EarlyStopping>(callback::EarlyStoppingOptions{.monitor = "val_loss", .patience = 1, .restore_best = true});
  const auto history = trainer.fit(data, {.epochs = 10,
                                          .batch_size = 60,
                                          .validation = data,
                                          .verbose = false,
                                          .schedule = schedule::piecewise({2}, {0.1, 30}),
                                          .callbacks = {stopping}});
  EXPECT_EQ(stopping->best_epoch(), 2);
  EXPECT_EQ(stopping->stopped_epoch(), 4);
  EXPECT_EQ(history.size(), 4u);
  EXPECT_EQ(trainer.evaluate(data).loss, *history[1].validation_loss);
  EXPECT_THAT(error_of([&] { trainer.fit(data, {.verbose = false, .callbacks = {stopping}}); }),
              HasSubstr("a callback monitors 'val_loss', which no epoch of this fit will have"));
  EXPECT_THAT(error_of([&] { (void)history[0].value("val_los"); }), HasSubstr("an epoch has no 'val_los'; it has loss, "));
  EXPECT_THAT(error_of([] { callback::EarlyStopping({.patience = -1}); }), HasSubstr("patience must not be negative, got -1"));
}

TEST(Callback, ReduceOnPlateau) {
  nn::Sequential model = small();
  Trainer trainer(model, loss::categorical_crossentropy_from_logits, optim::SGD({.learning_rate = 0.5}), {.mode = modes().back()});
  const auto reduce = std::make_shared<callback::ReduceOnPlateau>(
      callback::ReduceOnPlateauOptions{.monitor = "loss", .factor = 0.5, .patience = 1, .min_delta = 100});
  const auto history = trainer.fit(points(40, 8), {.epochs = 6, .verbose = false, .callbacks = {reduce}});
  std::vector<double> rates;
  for (const EpochResult& r : history) rates.push_back(r.learning_rate);
  EXPECT_THAT(rates, ElementsAre(0.5, 0.5, 0.5, 0.25, 0.25, 0.125));
  EXPECT_THAT(error_of([] { callback::ReduceOnPlateau({.factor = 1}); }), HasSubstr("the factor must be between 0 and 1, got 1"));
}

TEST(Callback, BestCheckpointAndCsvLog) {
  const TemporaryFolder folder;
  const std::string file = folder.path + "/best.sinter", log = folder.path + "/log.csv";
  nn::Sequential model = small();
  const Dataset data = points(120, 9);
  Trainer trainer(model, loss::categorical_crossentropy_from_logits, optim::Adam({.learning_rate = 0.02}),
                  {.mode = modes().back(), .metrics = {metric::accuracy()}});
  const auto history = trainer.fit(data, {.epochs = 4,
                                          .validation = data,
                                          .verbose = false,
                                          .callbacks = {std::make_shared<callback::BestCheckpoint>(file), std::make_shared<callback::CsvLog>(log)}});
  double best = 1e9;
  for (const EpochResult& r : history) best = std::min(best, *r.validation_loss);
  Trainer loaded = Trainer::load(file, {.mode = modes().back()});
  EXPECT_NEAR(loaded.evaluate(data).loss, best, 1e-6);
  std::ifstream in(log);
  std::string line;
  std::getline(in, line);
  EXPECT_EQ(line, "epoch,loss,accuracy,val_loss,val_accuracy,learning_rate,seconds");
  int lines = 0;
  while (std::getline(in, line)) ++lines;
  EXPECT_EQ(lines, 4);
  EXPECT_THAT(error_of([] { callback::CsvLog("/nowhere/at/all.csv"); }),
              HasSubstr("csv] cannot write the file: failed to open it (No such file or directory)"));
  EXPECT_THAT(error_of([] { callback::BestCheckpoint("/nowhere/at/all.sinter"); }), HasSubstr("sinter] cannot write the file: failed to create it"));
}

TEST(Fit, StopsOnInterruptAndPutsTheHandlerBack) {
  static int own = 0;
  const auto before = std::signal(SIGINT, [](int) { ++own; });
  nn::Sequential model = small();
  Trainer trainer(model, loss::categorical_crossentropy_from_logits, optim::Adam(), {.mode = modes().back()});
  struct Raise : Callback {
    void on_batch_end(Trainer&, std::int64_t step, double) override {
      if (step == 2) std::raise(SIGINT);
    }
  };
  const auto history =
      trainer.fit(points(200, 10), {.epochs = 50, .verbose = false, .callbacks = {std::make_shared<Raise>()}, .stop_on_interrupt = true});
  EXPECT_EQ(history.size(), 1u);
  EXPECT_EQ(own, 0);
  std::raise(SIGINT);
  EXPECT_EQ(own, 1);
  std::signal(SIGINT, before);
}

/// Dropout, batch normalization, Adam, a schedule, class weights and penalties at once: the promises of simple models hold.
class EverythingAtOnce : public testing::Test {
 protected:
  struct Run {
    std::vector<float> values;
    std::vector<double> losses;
    std::size_t compiles;
  };

  static nn::Sequential model() {
    seed(12);
    return nn::Sequential{nn::Dense(2, 24, nn::Activation::relu, {.penalty = {.l1 = 1e-5f, .l2 = 1e-4f}}),
                          nn::BatchNorm(24),
                          nn::Dropout(0.3),
                          nn::Dense(24, 16, nn::Activation::gelu),
                          nn::LayerNorm(16),
                          nn::Dropout(0.1),
                          nn::Dense(16, 3)};
  }
  static FitOptions options(std::int64_t epochs) {
    return {
        .epochs = epochs, .batch_size = 64, .class_weights = {1, 1, 4}, .verbose = false, .schedule = schedule::warm_up(3, schedule::cosine(1e-2))};
  }
  static Run run(TrainerOptions how, std::int64_t epochs = 5) {
    nn::Sequential network = model();
    Trainer trainer(network, loss::categorical({.from_logits = true, .label_smoothing = 0.05f}),
                    optim::AdamW({.weight_decay = 0.01, .common = {.clip = {.global_norm = 1}, .average_decay = 0.99}}), how);
    Run result;
    for (const EpochResult& r : trainer.fit(points(300, 11), options(epochs))) result.losses.push_back(r.loss);
    for (const Parameter& p : trainer.parameters())
      if (is_float(p.type().dtype))
        for (const float x : p.read().to_vector<float>()) result.values.push_back(x);
    result.compiles = trainer.train_step().compile_count();
    return result;
  }
};

TEST_F(EverythingAtOnce, SameBytesForAnyNumberOfThreadsAndOneCompile) {
  NEEDS_CODEGEN();
  const Run one = run({.threads = 1, .force = true});
  EXPECT_EQ(one.compiles, 1u);
  EXPECT_LT(one.losses.back(), one.losses.front());
  for (const int threads : {2, 3, 4}) EXPECT_EQ(run({.threads = threads, .force = true}).values, one.values) << threads;
}

TEST_F(EverythingAtOnce, EagerAndCompiledAgree) {
  NEEDS_CODEGEN();
  const Run eager = run({.mode = Mode::eager}), graph = run({.mode = Mode::graph});
  for (std::size_t i = 0; i < eager.losses.size(); ++i) EXPECT_NEAR(graph.losses[i], eager.losses[i], 1e-3 * eager.losses[i]);
}

TEST_F(EverythingAtOnce, VerifyFindsNothing) {
  NEEDS_CODEGEN();
  nn::Sequential network = model();
  Trainer trainer(network, loss::categorical_crossentropy_from_logits, optim::AdamW());
  const Dataset data = points(64, 13);
  trainer.fit(data, {.batch_size = 64, .class_weights = {1, 1, 4}, .verbose = false});
  std::vector<std::int32_t> rows(64);
  for (std::int32_t i = 0; i < 64; ++i) rows[static_cast<std::size_t>(i)] = 63 - i;
  const Tensor order(rows, {64}), weights = Tensor::filled({DType::f32, {64}}, 1);
  const std::array<const Tensor*, 4> in{&data.x.only(), &data.y.only(), &order, &weights};
  const VerifyReport report = trainer.train_step().verify(in);
  EXPECT_TRUE(report.ok()) << report;
}

TEST_F(EverythingAtOnce, ResumedTrainingHasTheSameBytes) {
  NEEDS_CODEGEN();
  const TemporaryFolder folder;
  const std::string file = folder.path + "/half.sinter";
  const Dataset data = points(300, 11);
  FitOptions twice = options(2);
  twice.schedule = schedule::constant(3e-3);
  const auto values = [](const Trainer& trainer) {
    std::vector<float> all;
    for (const Parameter& p : trainer.parameters())
      if (is_float(p.type().dtype))
        for (const float x : p.read().to_vector<float>()) all.push_back(x);
    std::sort(all.begin(), all.end());  // a file may list them in another order
    return all;
  };
  nn::Sequential network = model();
  Trainer trainer(network, loss::categorical_crossentropy_from_logits, optim::Adam());
  trainer.fit(data, twice);
  trainer.save(file);
  trainer.fit(data, twice);
  Trainer loaded = Trainer::load(file);
  loaded.fit(data, twice);
  EXPECT_EQ(values(loaded), values(trainer));
}

}  // namespace
}  // namespace sinter::test::fit_test
