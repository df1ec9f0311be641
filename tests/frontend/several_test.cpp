// Models of several inputs and outputs.
#include "tests/frontend/helpers.h"

namespace sinter::test::several_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// An embedded number and two features; a class and a number.
struct Mixed : nn::Model {
  nn::Embedding kinds{5, 4};
  nn::Dense inner{6, 12, nn::Activation::tanh}, classes{12, 3}, price{12, 1};
  Mixed() : Model("mixed") { add(kinds), add(inner), add(classes), add(price); }
  std::vector<Tensor> forward_all(std::span<const Tensor> in) override {
    if (in.size() != 2) throw UserError(label(), str("takes kinds and features, got ", in.size(), " inputs"));
    const Tensor h = inner(concat({kinds(in[0]), in[1]}, -1));
    return {classes(h), price(h)};
  }
};

Dataset mixed_data(std::int64_t samples) {
  const Tensor kind = random_labels(samples, 5, 1), x = random({samples, 2}, 2);
  const Tensor kind_number = cast(kind, DType::f32), sum_x = sum(x, {1});
  const Tensor y = cast(sum_x > 0, DType::i32) + cast(kind_number > 2, DType::i32);
  return {.x = {kind, x}, .y = {y, reshape(kind_number * 0.3 + sum_x, {samples, 1})}};
}

Trainer mixed_trainer(Mixed& model, TrainerOptions options = {}) {
  return {model,
          {{loss::sparse_categorical_crossentropy_from_logits, 1}, {loss::mean_squared_error, 0.5}},
          optim::Adam({.learning_rate = 0.02}),
          options};
}

TEST(Several, TrainsPredictsAndSays) {
  for (const Mode mode : modes()) {
    seed(1);
    Mixed model;
    Trainer trainer = mixed_trainer(model, {.mode = mode, .metrics = {metric::accuracy(), metric::of_output(1, metric::r2())}});
    const Dataset data = mixed_data(300);
    const auto history = trainer.fit(data, {.epochs = 20, .batch_size = 32, .validation = mixed_data(100), .verbose = false});
    std::vector<std::string> names;
    for (const auto& [name, value] : history.back().metrics) names.push_back(name);
    EXPECT_THAT(names, ElementsAre("output_1_loss", "output_1_accuracy", "output_2_loss", "accuracy", "output_2_r2"));
    const EpochResult& last = history.back();
    EXPECT_FALSE(last.accuracy.has_value());
    EXPECT_NEAR(last.loss, last.value("output_1_loss") + 0.5 * last.value("output_2_loss"), 1e-4);
    EXPECT_NEAR(last.value("output_1_accuracy"), last.value("accuracy"), 1e-9);
    EXPECT_GT(last.value("val_output_1_accuracy"), 0.85);
    EXPECT_GT(last.value("val_output_2_r2"), 0.9);
    const std::vector<Tensor> predictions = trainer.predict_all(data.x);
    ASSERT_EQ(predictions.size(), 2u);
    EXPECT_EQ(predictions[0].shape(), Shape({300, 3}));
    EXPECT_EQ(predictions[1].shape(), Shape({300, 1}));
    EXPECT_THAT(error_of([&] { trainer.predict(data.x); }), HasSubstr("[predict] the model gives 2 outputs; use predict_all"));
    EXPECT_THAT(trainer.summary(), HasSubstr("dense_1 (dense)"));
  }
}

TEST(Several, SavedAndTrainedOn) {
  NEEDS_CODEGEN();
  const TemporaryFolder folder;
  const std::string file = folder.path + "/mixed.sinter";
  const Dataset data = mixed_data(100);
  seed(1);
  Mixed model;
  Trainer trainer = mixed_trainer(model);
  trainer.fit(data, {.epochs = 2, .verbose = false});
  trainer.save(file);
  Trainer loaded = Trainer::load(file);
  const auto values = [&](Trainer& t) {
    std::vector<std::vector<float>> all;
    for (const Tensor& p : t.predict_all(data.x)) all.push_back(p.to_vector<float>());
    return all;
  };
  EXPECT_EQ(values(loaded), values(trainer));
  const auto more = trainer.fit(data, {.epochs = 1, .verbose = false}), same = loaded.fit(data, {.epochs = 1, .verbose = false});
  EXPECT_EQ(more[0].loss, same[0].loss);
  EXPECT_EQ(same[0].metrics, more[0].metrics);
  EXPECT_EQ(values(loaded), values(trainer));
  EXPECT_TRUE(trainer.train_step().compile_count() == 1 && loaded.train_step().compile_count() == 1);
  const TimeReport report = trainer.time(data, 32, 2);
  EXPECT_GT(report.graph_seconds, 0);
  EXPECT_EQ(values(loaded), values(trainer));  // time() leaves the state as it is
}

TEST(Several, Mistakes) {
  Mixed model;
  const Dataset data = mixed_data(20);
  const auto fit = [&](const Losses& losses, const Dataset& with) {
    Trainer trainer(model, losses, optim::SGD(), {.mode = modes().back()});
    trainer.fit(with, {.verbose = false});
  };
  EXPECT_THAT(error_of([&] { fit(loss::mean_squared_error, data); }), HasSubstr("the model gives 2, there are 1 losses and 2 targets"));
  EXPECT_THAT(error_of([&] { fit({{loss::mean_squared_error}, {loss::mean_squared_error}}, {.x = data.x, .y = data.y[0]}); }),
              HasSubstr("[Trainer] the model gives 2 outputs, but the data has 1 targets; give one for each"));
  EXPECT_THAT(error_of([&] { fit({{loss::mean_squared_error}, {loss::mean_squared_error}}, {.x = data.x[0], .y = data.y}); }),
              HasSubstr("[mixed] takes kinds and features, got 1 inputs"));
  EXPECT_THAT(error_of([&] { fit({{loss::mean_squared_error, -1}, {loss::mean_squared_error}}, data); }), HasSubstr("[Losses] factors must be"));
  EXPECT_THAT(error_of([&] { fit(Losses(std::vector<OutputLoss>{}), data); }), HasSubstr("[Losses] needs a loss for each output"));
  EXPECT_THAT(error_of([&] { Trainer(model, loss::mean_squared_error, optim::SGD(), {.metrics = {metric::of_output(1, metric::r2())}}); }),
              HasSubstr("the metric output_2_r2 judges output 1, but there are losses for 1"));
  EXPECT_THAT(error_of([&] { fit({{loss::mean_squared_error}, {loss::mean_squared_error}}, {.x = {data.x[0], random({19, 2}, 3)}, .y = data.y}); }),
              HasSubstr("x has 20 samples but x 2 has 19"));
  EXPECT_THAT(error_of([&] { model(data.x[1]); }), HasSubstr("[mixed] takes kinds and features, got 1 inputs"));
  nn::Dense one(2, 2);
  EXPECT_THAT(error_of([&] { one.call_all(std::vector<Tensor>(2, data.x[1])); }), HasSubstr("[dense] takes 1 input, got 2"));
  Trainer trainer = mixed_trainer(model, {.mode = modes().back()});
  trainer.fit(data, {.verbose = false});
  EXPECT_THAT(error_of([&] { trainer.fit({.x = data.x[1], .y = data.y}, {.verbose = false}); }),
              HasSubstr("[fit] the first data had 2 x, now there are 1"));
}

}  // namespace
}  // namespace sinter::test::several_test
