// What a trainer from a file can do without the C++ that defined its model.
#include "frontend/core/trace.h"
#include "ir/graph.h"
#include "tests/frontend/mistakes.h"

namespace sinter::test::loaded_trainer_test {
namespace {

using ::testing::HasSubstr;

class LoadedTrainer : public ::testing::Test {
 protected:
  LoadedTrainer() {
    seed(3);
    nn::Sequential model{nn::Dense(4, 6, Activation::relu), nn::Dense(6, 3)};
    Trainer trainer(model, loss::sparse_categorical_crossentropy_from_logits, optim::Adam({.learning_rate = 0.01}),
                    {.mode = modes().back(), .metrics = {metric::top_k_accuracy(2)}});
    trainer.fit(data_, {.epochs = 2, .verbose = false});
    judged_ = trainer.evaluate(data_);
    trainer.save(file_);
  }
  std::vector<float> values(const Trainer& trainer, const std::string& name) {
    for (const Parameter& p : trainer.parameters())
      if (p.name() == name) return p.read().to_vector<float>();
    return {};
  }

  const TemporaryFolder folder_;
  const std::string file_ = folder_ / "model.sinter";
  const Dataset data_{random({40, 4}, 1), random_labels(40, 3, 2)};
  Evaluation judged_;
};

TEST_F(LoadedTrainer, TakesMetrics) {
  for (const Mode mode : modes()) {
    Trainer loaded = Trainer::load(file_, {.mode = mode, .metrics = {metric::top_k_accuracy(2)}});
    const Evaluation again = loaded.evaluate(data_);
    ASSERT_EQ(again.metrics.size(), 1u);
    EXPECT_EQ(again.metrics[0].first, judged_.metrics[0].first);
    EXPECT_EQ(again.metrics[0].second, judged_.metrics[0].second);
    EXPECT_EQ(loaded.fit(data_, {.verbose = false})[0].metrics.size(), 1u);
    loaded.save(file_);
    Trainer plain = Trainer::load(file_, {.mode = mode});
    EXPECT_TRUE(plain.evaluate(data_).metrics.empty());
    plain.save(file_);
    EXPECT_EQ(Trainer::load(file_, {.mode = mode, .metrics = {metric::top_k_accuracy(2)}}).evaluate(data_).metrics.size(), 1u) << "saved without any";
    judged_ = Trainer::load(file_, {.mode = mode, .metrics = {metric::top_k_accuracy(2)}}).evaluate(data_);
  }
}

TEST_F(LoadedTrainer, ReturnsNoPredictionsWithoutMetrics) {
  Trainer loaded = Trainer::load(file_, {.mode = modes().back()});
  StepCore& step = loaded.train_step();
  EXPECT_EQ(step.traced_graph().outputs().size(), 3u) << "of the file: loss, correct predictions, predictions";
  const Tensor rows({0, 1, 2}, {3}), numbers = cast(rows, DType::i32);
  const Tensor* const in[] = {&data_.x[0].array(), &data_.y[0].array(), &numbers};
  EXPECT_EQ(step.call(in).size(), 2u);
  step.keep_outputs({0});
  EXPECT_EQ(StepCore(step.record(std::array{Spec::table(DType::f32, {4}), Spec::table(DType::i32, {}), Spec::batch(DType::i32, {})}), step.options())
                .traced_graph()
                .outputs()
                .size(),
            3u)
      << "files keep them all";
}

TEST_F(LoadedTrainer, FreezesAndFrees) {
  for (const Mode mode : modes()) {
    Trainer loaded = Trainer::load(file_, {.mode = mode});
    const auto weight = values(loaded, "dense_1.weight"), slot = values(loaded, "adam/dense_1.weight/m"), other = values(loaded, "dense_2.weight");
    loaded.set_trainable("dense_1.*", false);
    loaded.fit(data_, {.verbose = false});
    EXPECT_EQ(values(loaded, "dense_1.weight"), weight);
    EXPECT_EQ(values(loaded, "adam/dense_1.weight/m"), slot);
    EXPECT_NE(values(loaded, "dense_2.weight"), other);
    loaded.set_trainable("dense_1.*", true);
    loaded.fit(data_, {.verbose = false});
    EXPECT_NE(values(loaded, "dense_1.weight"), weight);
  }
  Trainer loaded = Trainer::load(file_);
  EXPECT_THAT(error_of([&] { loaded.set_trainable("conv*", false); }),
              HasSubstr("[Trainer] no parameter that the file trains matches 'conv*'; the nearest is 'dense_1.weight'"));
}

TEST_F(LoadedTrainer, SumsUpItsLayers) {
  const std::string summary = Trainer::load(file_).summary();
  EXPECT_THAT(summary, HasSubstr("dense_1 (dense)  [N,6]                 30\n"));
  EXPECT_THAT(summary, HasSubstr("dense_2 (dense)  [N,3]                 21\n"));
  EXPECT_THAT(summary, HasSubstr("Parameters: 51 (51 trainable, 0 not)"));
}

/// As if it had been frozen in the program that defines the model.
TEST(Freezing, AfterLoadingLeavesGradientsOutOfTheGlobalNorm) {
  const TemporaryFolder folder;
  for (const Mode mode : modes()) {
    const auto trained = [&](bool load) {
      seed(3);
      nn::Sequential model{nn::Dense(4, 6, Activation::tanh), nn::Dense(6, 3)};
      Trainer trainer(model, loss::sparse_categorical_crossentropy_from_logits,
                      optim::SGD({.learning_rate = 1, .common = {.clip = {.global_norm = 0.01}}}), {.mode = mode});
      const Dataset data{random({8, 4}, 1), random_labels(8, 3, 2)};
      (void)trainer.evaluate(data);
      if (load) {
        trainer.save(folder / "model.sinter");
        trainer = Trainer::load(folder / "model.sinter", {.mode = mode});
      }
      trainer.set_trainable("dense_1.*", false);
      trainer.train_on_batch(data.x, data.y);
      for (const Parameter& p : trainer.parameters())
        if (p.name() == "dense_2.weight") return p.read().to_vector<float>();
      return std::vector<float>();
    };
    EXPECT_EQ(trained(true), trained(false));
  }
}

TEST(Freezing, OfStatisticsIsForBeforeSaving) {
  const TemporaryFolder folder;
  const Dataset data{random({8, 4}, 1), random_labels(8, 3, 2)};
  for (const Mode mode : modes()) {
    nn::Sequential model{nn::Dense(4, 6), nn::BatchNorm(6), nn::Dense(6, 3)};
    Trainer trainer(model, loss::sparse_categorical_crossentropy_from_logits, optim::SGD(), {.mode = mode});
    trainer.train_on_batch(data.x, data.y);
    trainer.save(folder / "model.sinter");
    Trainer loaded = Trainer::load(folder / "model.sinter", {.mode = mode});
    for (const char* pattern : {"batch_norm_1.*", "*"})
      EXPECT_THAT(error_of([&] { loaded.set_trainable(pattern, false); }),
                  HasSubstr("[Trainer] a trainer from a file cannot freeze 'batch_norm_1', whose training step changes 'batch_norm_1.running_mean'; "
                            "freeze it before saving"));
    loaded.set_trainable("dense_*", false);
    loaded.set_trainable("batch_norm_1.gamma", false);  // the layer goes on training beta
    trainer.set_trainable("batch_norm_1.*", false);
    trainer.save(folder / "model.sinter");
    Trainer frozen = Trainer::load(folder / "model.sinter", {.mode = mode});
    const auto mean = [&] { return model.parameter("batch_norm_1.running_mean").read().to_vector<float>(); };
    const auto of_loaded = [&] {
      for (const Parameter& p : frozen.parameters())
        if (p.name() == "batch_norm_1.running_mean") return p.read().to_vector<float>();
      return std::vector<float>();
    };
    frozen.train_on_batch(data.x, data.y);
    EXPECT_EQ(of_loaded(), mean());
  }
}

TEST(Freezing, ByPattern) {
  nn::Sequential model{nn::Dense(4, 4), nn::BatchNorm(4), nn::Dense(4, 2)};
  model.set_trainable("*.bias", false);
  EXPECT_EQ(model.trainable_parameters().size(), 4u);
  EXPECT_TRUE(model[0].trainable());
  model.set_trainable("batch_norm_1.*", false);
  EXPECT_FALSE(model[1].trainable()) << "all that it trains is frozen, so it runs as in inference";
  model.set_trainable("*", true);
  EXPECT_EQ(model.trainable_parameters().size(), 6u) << "statistics are not trained";
  EXPECT_TRUE(model[1].trainable());
  EXPECT_THAT(error_of([&] { model.set_trainable("dens_1.*", false); }),
              HasSubstr("[sequential] no parameter matches 'dens_1.*'; the nearest is 'dense_1.weight'"));
}

}  // namespace
}  // namespace sinter::test::loaded_trainer_test
