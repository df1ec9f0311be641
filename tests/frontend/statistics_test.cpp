// Statistics of batch normalization that go with moving averages of parameters.
#include "frontend/nn/normalization.h"
#include "tests/frontend/helpers.h"

namespace sinter::test::statistics_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct Averaged {
  std::vector<std::string> warnings;
  nn::Sequential model;
  Trainer trainer;
  explicit Averaged(Mode mode)
      : model((seed(4), nn::Sequential{nn::Dense(4, 6, Activation::relu), nn::BatchNorm(6), nn::Dropout(0.5), nn::Dense(6, 2)})),
        trainer(model, loss::categorical_crossentropy_from_logits, optim::Adam({.learning_rate = 0.05, .common = {.average_decay = 0.9}}),
                {.mode = mode, .log = [this](const std::string& line) { warnings.push_back(line); }}) {}
  Averaged(const Averaged&) = delete;

  std::vector<float> state(const char* name) const { return model.parameter(name).read().to_vector<float>(); }
};

const Dataset& data() {
  static const Dataset rows{random({48, 4}, 1), random_labels(48, 2, 2)};
  return rows;
}

TEST(Statistics, OfAveragesAreThoseOfTheirOutputs) {
  for (const Mode mode : modes()) {
    Averaged a(mode);
    a.trainer.fit(data(), {.epochs = 3, .batch_size = 12, .verbose = false});
    const auto mean_before = a.state("batch_norm_1.running_mean"), variance_before = a.state("batch_norm_1.running_variance");
    a.trainer.exchange_averages();
    a.trainer.recompute_statistics(data(), 48);  // one batch: its own statistics
    const Tensor out = a.model[0](data().x[0]), center = mean(out, {0});
    const auto want_mean = center.to_vector<float>(), want_variance = mean(square(out - center), {0}).to_vector<float>();
    const auto is_mean = a.state("batch_norm_1.running_mean"), is_variance = a.state("batch_norm_1.running_variance");
    for (std::size_t i = 0; i < want_mean.size(); ++i) {
      EXPECT_NEAR(is_mean[i], want_mean[i], 1e-5);
      EXPECT_NEAR(is_variance[i], want_variance[i], 1e-5);
    }
    a.trainer.recompute_statistics(data(), 16);  // the mean over three batches is the same of means
    const auto again = a.state("batch_norm_1.running_mean");
    for (std::size_t i = 0; i < want_mean.size(); ++i) EXPECT_NEAR(again[i], want_mean[i], 1e-5);
    EXPECT_THAT(a.warnings, IsEmpty());
    a.trainer.exchange_averages();
    EXPECT_EQ(a.state("batch_norm_1.running_mean"), mean_before) << "those of the parameters are back with these";
    EXPECT_EQ(a.state("batch_norm_1.running_variance"), variance_before);
  }
}

TEST(Statistics, LeaveTrainingAsItWas) {
  for (const Mode mode : modes()) {
    Averaged a(mode), b(mode);
    const FitOptions options{.batch_size = 12, .verbose = false};
    for (Averaged* m : {&a, &b}) m->trainer.fit(data(), options);
    a.trainer.exchange_averages();
    a.trainer.recompute_statistics(data());
    a.trainer.exchange_averages();
    for (Averaged* m : {&a, &b}) m->trainer.fit(data(), options);
    EXPECT_EQ(a.trainer.predict(data().x).to_vector<float>(), b.trainer.predict(data().x).to_vector<float>()) << "dropout draws the same numbers";
  }
}

TEST(Statistics, ThatBelongToOtherParametersAreWarnedOf) {
  const TemporaryFolder folder;
  const std::string rest =
      "] the statistics of batch normalization are those of the parameters, not of their averages, which are in place now; call recompute_statistics "
      "first";
  Averaged a(modes().back());
  a.trainer.fit(data(), {.batch_size = 12, .verbose = false});
  a.trainer.exchange_averages();
  a.trainer.evaluate(data());
  a.trainer.evaluate(data());
  EXPECT_THAT(a.warnings, ElementsAre("[evaluate" + rest)) << "once";
  a.trainer.exchange_averages();
  a.trainer.evaluate(data());
  a.trainer.exchange_averages();
  a.trainer.predict(data().x);
  a.trainer.exchange_averages();
  a.trainer.exchange_averages();
  a.trainer.save(folder.path + "/model.sinter");
  EXPECT_THAT(a.warnings, ElementsAre("[evaluate" + rest, "[predict" + rest, "[save" + rest));
  a.trainer.recompute_statistics(data());
  a.trainer.evaluate(data());
  EXPECT_EQ(a.warnings.size(), 3u);
}

TEST(Statistics, Mistakes) {
  const TemporaryFolder folder;
  const std::string file = folder.path + "/model.sinter";
  Averaged a(modes().back());
  a.trainer.fit(data(), {.batch_size = 12, .verbose = false});
  EXPECT_THAT(error_of([&] { a.trainer.recompute_statistics(data(), 0); }), HasSubstr("[recompute_statistics] batch_size must be at least 1, got 0"));
  EXPECT_THAT(error_of([&] { a.trainer.recompute_statistics({random({4, 5}, 1), random_labels(4, 2, 2)}); }),
              HasSubstr("[recompute_statistics] the first data had x of f32[48,4] (samples first), now they are f32[4,5]"));
  a.trainer.save(file);
  Trainer loaded = Trainer::load(file, {.mode = modes().back()});
  EXPECT_THAT(error_of([&] { loaded.recompute_statistics(data()); }),
              HasSubstr("[recompute_statistics] a trainer from a file cannot do this; do it before saving"));
}

/// A scope within a scope, as of a model that is computed while another is.
TEST(Statistics, ScopesAreNested) {
  nn::BatchNorm norm(1);
  const nn::TrainingScope training;
  const Tensor x({1, 3}, {2, 1});
  {
    const nn::StatisticsScope outer(Tensor(1.0f));
    {
      const nn::StatisticsScope inner(Tensor(2.0f));
      (void)norm(x);
      EXPECT_EQ(norm.running_mean.read().item(), 1) << "half of 2";
    }
    (void)norm(x);
    EXPECT_EQ(norm.running_mean.read().item(), 2);
  }
  norm.running_mean.assign(Tensor({0}, {1}));
  (void)norm(x);
  EXPECT_NEAR(norm.running_mean.read().item(), 0.2, 1e-6) << "momentum 0.9";
}

}  // namespace
}  // namespace sinter::test::statistics_test
