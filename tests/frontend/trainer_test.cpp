#include <cmath>
#include <filesystem>
#include <map>
#include <numbers>

#include "tests/frontend/helpers.h"

namespace sinter::test::trainer_test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

/// Two interleaved half circles, three features.
Dataset moons(std::int64_t count) {
  std::vector<float> points;
  std::vector<std::int32_t> classes;
  RandomStream noise(1, 1);
  for (std::int64_t i = 0; i < count; ++i) {
    const double angle = std::numbers::pi * noise.uniform();
    const bool second = i % 2;
    points.push_back(static_cast<float>((second ? 1 - std::cos(angle) : std::cos(angle)) + 0.1 * noise.normal()));
    points.push_back(static_cast<float>((second ? 0.5 - std::sin(angle) : std::sin(angle)) + 0.1 * noise.normal()));
    points.push_back(1);
    classes.push_back(second);
  }
  return {Tensor(points, {count, 3}), Tensor(classes, {count})};
}

nn::Sequential moon_model() {
  seed(11);
  return nn::Sequential{nn::Dense(3, 24, Activation::tanh), nn::Dense(24, 2)};
}

Trainer moon_trainer(nn::Module& model, TrainerOptions options = {}) {
  return Trainer(model, loss::categorical_crossentropy_from_logits, optim::RMSprop({.learning_rate = 1e-2f}), options);
}

class TrainerFile : public ::testing::Test {
 protected:
  const TemporaryFolder folder_;
  const std::string file_ = folder_ / "model.sinter";
};

TEST_F(TrainerFile, PredictsOneSampleWhateverItWasTrainedOn) {
  std::vector<std::uint8_t> bytes(40 * 6);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(37 * i);
  const Dataset data{Tensor(bytes, {40, 2, 3}), random_labels(40, 3, 1), 1.0f / 255};
  std::vector<float> sample(6), scores(3), again(3);
  for (std::size_t i = 0; i < 6; ++i) sample[i] = static_cast<float>(bytes[i]) / 255;
  for (const Mode mode : modes()) {
    nn::Sequential model{nn::Flatten(), nn::Dense(6, 3)};
    Trainer trainer(model, loss::sparse_categorical_crossentropy_from_logits, optim::SGD(), {.mode = mode});
    trainer.fit(data, {.verbose = false});
    trainer.predict_one(sample, scores);
    const std::vector<float> all = trainer.predict(data.x).to_vector<float>();
    for (std::size_t c = 0; c < 3; ++c) EXPECT_NEAR(scores[c], all[c], 1e-6);
    trainer.save(file_);
    Trainer loaded = Trainer::load(file_, {.mode = mode});
    if (mode == Mode::graph) {
      loaded.predict_one(sample, again);
      EXPECT_EQ(again, scores);
    }
    EXPECT_EQ(loaded.predict(data.x).to_vector<float>(), all);
    EXPECT_THAT(error_of([&] { trainer.predict_one(std::vector<float>(5), scores); }), HasSubstr("5"));
  }
}

TEST(Trainer, LearnsInBothModes) {
  for (const Mode mode : modes()) {
    nn::Sequential model = moon_model();
    Trainer trainer = moon_trainer(model, {.mode = mode});
    const auto history = trainer.fit(moons(500), {.epochs = 60, .batch_size = 32, .validation = moons(100), .verbose = false});
    EXPECT_GT(*history.back().validation_accuracy, 0.97);
    EXPECT_LT(history.back().loss, history.front().loss / 2);
  }
}

/// All states, by name: the order differs between a trainer of a model and one of a file.
std::map<std::string, std::vector<float>> states_of(const Trainer& trainer) {
  std::map<std::string, std::vector<float>> all;
  for (const Parameter& p : trainer.parameters()) all[p.name()] = p.read().to_vector<float>();
  return all;
}

std::vector<float> bytes_of(const Trainer& trainer) {
  std::vector<float> all;
  for (const auto& [name, values] : states_of(trainer)) all.insert(all.end(), values.begin(), values.end());
  return all;
}

TEST(Trainer, OneCompileInAHundredEpochs) {
  NEEDS_CODEGEN();
  nn::Sequential model = moon_model();
  Trainer trainer = moon_trainer(model);
  const auto cosine = [](std::int64_t step, std::int64_t steps) {
    return static_cast<float>(0.01 * 0.5 * (1 + std::cos(std::numbers::pi * static_cast<double>(step) / static_cast<double>(steps))));
  };
  trainer.fit(moons(101), {.epochs = 100, .batch_size = 16, .verbose = false, .schedule = cosine});
  const Dataset one = moons(1);
  trainer.predict(one.x);
  trainer.train_on_batch(one.x, one.y);
  EXPECT_EQ(trainer.train_step().compile_count(), 1u);
  EXPECT_LT(trainer.learning_rate(), 1e-4);
}

TEST(Trainer, SwitchesModeInMidTraining) {
  NEEDS_CODEGEN();
  nn::Sequential model = moon_model(), same = moon_model();
  Trainer mixed = moon_trainer(model), graph = moon_trainer(same);
  mixed.fit(moons(100), {.epochs = 2, .verbose = false});
  mixed.set_mode(Mode::eager);
  mixed.fit(moons(100), {.epochs = 2, .verbose = false});
  graph.fit(moons(100), {.epochs = 4, .verbose = false});
  const auto a = bytes_of(mixed), b = bytes_of(graph);
  for (std::size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], 1e-4);
}

TEST(Trainer, U8FeaturesAreScaledInTheStep) {
  NEEDS_CODEGEN();
  std::vector<std::uint8_t> pixels(40 * 5);
  for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<std::uint8_t>(i * 37 % 256);
  std::vector<float> scaled(pixels.begin(), pixels.end());
  for (float& x : scaled) x *= 1.0f / 255;
  const Tensor labels = random_labels(40, 3, 1);
  const auto run = [&](const Dataset& data) {
    seed(2);
    nn::Sequential model{nn::Dense(5, 3)};
    Trainer trainer(model, loss::categorical_crossentropy_from_logits, optim::SGD({.learning_rate = 0.1f}));
    trainer.fit(data, {.epochs = 3, .batch_size = 16, .verbose = false});
    return bytes_of(trainer);
  };
  const auto a = run({Tensor(pixels, {40, 5}), labels, 1.0f / 255}), b = run({Tensor(scaled, {40, 5}), labels});
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-6);
}

TEST_F(TrainerFile, ASecondProgramGoesOnWithTheSameBytes) {
  NEEDS_CODEGEN();
  nn::Sequential model = moon_model();
  Trainer first = moon_trainer(model);
  const FitOptions options{.epochs = 2, .batch_size = 30, .seed = 4, .verbose = false};
  first.fit(moons(100), options);
  first.save(file_);
  first.fit(moons(100), options);  // 8 more steps
  Trainer second = Trainer::load(file_);
  EXPECT_EQ(second.epoch(), 2);
  second.fit(moons(100), options);
  EXPECT_EQ(bytes_of(second), bytes_of(first));
  EXPECT_EQ(second.predict(moons(9).x).to_vector<float>(), first.predict(moons(9).x).to_vector<float>());
  EXPECT_EQ(second.evaluate(moons(9)).loss, first.evaluate(moons(9)).loss);
}

TEST_F(TrainerFile, ALoadedTrainerRunsEagerlyToo) {
  NEEDS_CODEGEN();
  nn::Sequential model = moon_model();
  Trainer first = moon_trainer(model);
  first.fit(moons(100), {.epochs = 1, .verbose = false});
  first.save(file_);
  Trainer second = Trainer::load(file_, {.mode = Mode::eager});
  first.fit(moons(100), {.epochs = 1, .verbose = false});
  second.fit(moons(100), {.epochs = 1, .verbose = false});
  const auto a = bytes_of(first), b = bytes_of(second);
  for (std::size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], 1e-5);
}

TEST_F(TrainerFile, Errors) {
  NEEDS_CODEGEN();
  nn::Sequential model = moon_model();
  Trainer trainer = moon_trainer(model);
  EXPECT_THAT(error_of([&] { trainer.save(file_); }),
              HasSubstr("the shapes of the data are not known yet; call fit, train_on_batch or evaluate first"));
  trainer.train_on_batch(moons(4).x, moons(4).y);
  EXPECT_THAT(error_of([&] { trainer.save((folder_ / "missing" / "x.sinter").string()); }), HasSubstr("missing"));
  EXPECT_THAT(error_of([&] { Trainer::load((folder_ / "none.sinter").string()); }), HasSubstr("none.sinter"));
}

TEST(TrainerErrors, SayWhatIsWrong) {
  NEEDS_CODEGEN();
  nn::Sequential model = moon_model();
  Trainer trainer = moon_trainer(model);
  const Dataset data = moons(10);
  EXPECT_THAT(error_of([&] { trainer.fit(Dataset{}, {}); }), HasSubstr("[fit] the data set has no x or no y"));
  EXPECT_THAT(error_of([&] { trainer.fit({Tensor::zeros({DType::f32, {0, 3}}), Tensor::zeros({DType::i32, {0}})}, {}); }),
              HasSubstr("[fit] the data set is empty: x is f32[0,3]"));
  EXPECT_THAT(error_of([&] { trainer.fit(data, {.epochs = 0}); }), HasSubstr("epochs and batch_size must be at least 1, got 0 and 32"));
  EXPECT_THAT(error_of([&] { trainer.fit({data.x, random_labels(9, 2, 1)}, {}); }), HasSubstr("x has 10 samples but y has 9"));
  trainer.fit(data, {.verbose = false});
  EXPECT_THAT(error_of([&] { trainer.evaluate({random({4, 5}, 1), random_labels(4, 2, 1)}); }),
              HasSubstr("the first data had x of f32[10,3] (samples first), now they are f32[4,5]"));
  EXPECT_THAT(error_of([&] { trainer.fit({data.x, random_labels(10, 5, 3)}, {.verbose = false}); }), HasSubstr(" is outside [0, 2), at ["));
  EXPECT_THAT(error_of([&] { trainer.set_learning_rate(NAN); }), HasSubstr("the learning rate must be a finite number of at least 0"));
}

}  // namespace
}  // namespace sinter::test::trainer_test
