// Groups of parameters that are trained in another way than the rest.
#include "tests/frontend/mistakes.h"

namespace sinter::test::groups_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Two parameters of gradient 1, after one update.
std::vector<float> updated(optim::Optimizer& optimizer) {
  const Parameter weight("encoder.weight", Tensor(2.0f)), bias("encoder.bias", Tensor(2.0f)), head("head.weight", Tensor(2.0f));
  const std::vector<Parameter> all{weight, bias, head};
  optimizer.update(all, grad(weight.read() + bias.read() + head.read(), all));
  std::vector<float> values;
  for (const Parameter& p : all) values.push_back(static_cast<float>(p.read().item()));
  return values;
}

TEST(Groups, HaveTheirOwnRateAndDecayOrAreFrozen) {
  optim::SGD sgd(
      {.learning_rate = 0.5,
       .weight_decay = 0.25,
       .common = {
           .groups = {{.pattern = "*.bias", .weight_decay = 0.0}, {.pattern = "encoder.*", .rate = 0.5}, {.pattern = "head.*", .frozen = true}}}});
  EXPECT_THAT(updated(sgd), ElementsAre(2 - 0.25f * 1.5f, 1.5f, 2));
  const optim::Group usual{.pattern = "*"};
  EXPECT_EQ(usual.pattern, "*");
  EXPECT_EQ(usual.rate, 1);
  EXPECT_FALSE(usual.weight_decay || usual.frozen);
  sgd.set_learning_rate(0.25);
  EXPECT_THAT(updated(sgd), ElementsAre(2 - 0.125f * 1.5f, 1.75f, 2)) << "the first group that matches counts, and rates are factors";
}

TEST(Groups, HoldForEachOptimizer) {
  const optim::Common common{.groups = {{.pattern = "encoder.*", .rate = 0}}};
  const std::vector<std::shared_ptr<optim::Optimizer>> optimizers{
      std::make_shared<optim::SGD>(optim::SGDOptions{.momentum = 0.9, .common = common}),
      std::make_shared<optim::RMSprop>(optim::RMSpropOptions{.momentum = 0.5, .common = common}),
      std::make_shared<optim::RMSprop>(optim::RMSpropOptions{.momentum = 0.5, .epsilon_outside = true, .common = common}),
      std::make_shared<optim::Adagrad>(optim::AdagradOptions{.common = common}),
      std::make_shared<optim::Adadelta>(optim::AdadeltaOptions{.common = common}),
      std::make_shared<optim::Adam>(optim::AdamOptions{.common = common}),
      std::make_shared<optim::AdamW>(optim::AdamWOptions{.common = common}),
      std::make_shared<optim::NAdam>(optim::NAdamOptions{.common = common}),
      std::make_shared<optim::Lion>(optim::LionOptions{.weight_decay = 0.1, .common = common})};
  for (const auto& optimizer : optimizers) {
    const std::vector<float> values = updated(*optimizer);
    EXPECT_EQ(values[0], 2) << optimizer->name();
    EXPECT_EQ(values[1], 2) << optimizer->name();
    EXPECT_LT(values[2], 2) << optimizer->name();
  }
}

TEST(Groups, DecayOfTheirOwnHoldsForEachOptimizer) {
  const optim::Common common{.groups = {{.pattern = "encoder.weight", .weight_decay = 0.0}, {.pattern = "encoder.bias", .weight_decay = 0.5}}};
  optim::AdamW adamw({.learning_rate = 0.1, .common = common});
  EXPECT_THAT(updated(adamw), ElementsAre(::testing::FloatNear(1.9f, 1e-5f), ::testing::FloatNear(1.8f, 1e-5f), ::testing::FloatNear(1.898f, 1e-5f)));
  optim::Lion lion({.learning_rate = 0.1, .weight_decay = 0.01, .common = common});
  EXPECT_THAT(updated(lion), ElementsAre(::testing::FloatNear(1.9f, 1e-5f), ::testing::FloatNear(1.8f, 1e-5f), ::testing::FloatNear(1.898f, 1e-5f)));
}

TEST(Names, MatchPatterns) {
  EXPECT_TRUE(matches("*.bias", "encoder_1.dense_1.bias"));
  EXPECT_TRUE(matches("dense_?.weight", "dense_1.weight"));
  EXPECT_FALSE(matches("*.bias", "dense_1.weight"));
}

TEST(Groups, AreCompiledWithTheirStep) {
  for (const Mode mode : modes()) {
    seed(1);
    nn::Sequential model{nn::Dense(4, 3), nn::Dense(3, 1)};
    Trainer trainer(model, loss::mean_squared_error, optim::Adam({.common = {.groups = {{.pattern = "dense_1.*", .frozen = true}}}}), {.mode = mode});
    const auto first = model.parameter("dense_1.weight").read().to_vector<float>(),
               second = model.parameter("dense_2.weight").read().to_vector<float>();
    trainer.train_on_batch(random({8, 4}, 1), random({8, 1}, 2));
    EXPECT_EQ(model.parameter("dense_1.weight").read().to_vector<float>(), first);
    EXPECT_NE(model.parameter("dense_2.weight").read().to_vector<float>(), second);
  }
}

TEST(Groups, ThatCannotBeAreRefused) {
  optim::Adam typo({.common = {.groups = {{.pattern = "decoder.*"}}}});
  expect_errors({{"[adam] no parameter matches the group 'decoder.*'; the nearest is 'encoder.weight'", [&] { updated(typo); }},
                 {"[sgd] the rate of a group must be a finite number of at least 0, got -1",
                  [] { optim::SGD({.common = {.groups = {{.pattern = "*", .rate = -1}}}}); }},
                 {"[sgd] the weight_decay of a group must be a finite number of at least 0, got -2",
                  [] { optim::SGD({.common = {.groups = {{.pattern = "*", .weight_decay = -2.0}}}}); }}});
}

// ---- callbacks ----

TEST(Callbacks, ThatMonitorWhatWillNotBeAreRefusedBeforeTheFirstStep) {
  nn::Sequential model{nn::Dense(2, 3)};
  Trainer trainer(model, loss::sparse_categorical_crossentropy_from_logits, optim::SGD(), {.mode = Mode::eager});
  const Dataset data{random({8, 2}, 1), random_labels(8, 3, 2)};
  const auto before = model.parameters()[0].read().to_vector<float>();
  const auto fit = [&](const std::string& monitor, std::optional<Dataset> validation) {
    return error_of([&] {
      trainer.fit(data, {.validation = std::move(validation),
                         .verbose = false,
                         .callbacks = {std::make_shared<callback::EarlyStopping>(callback::EarlyStoppingOptions{.monitor = monitor})}});
    });
  };
  EXPECT_THAT(fit("val_loss", {}),
              HasSubstr("[fit] a callback monitors 'val_loss', which no epoch of this fit will have; the nearest is 'loss'; give it "
                        "validation data"));
  EXPECT_THAT(fit("val_acc", data),
              HasSubstr("[fit] a callback monitors 'val_acc', which no epoch of this fit will have; the nearest is 'val_loss'"));
  EXPECT_EQ(model.parameters()[0].read().to_vector<float>(), before) << "nothing was trained";
  EXPECT_EQ(fit("val_accuracy", data), "");
  EXPECT_EQ(callback::ReduceOnPlateau({.monitor = "x"}).monitored(), std::vector<std::string>{"x"});
  EXPECT_EQ(callback::BestCheckpoint("f", "y").monitored(), std::vector<std::string>{"y"});
}

}  // namespace
}  // namespace sinter::test::groups_test
