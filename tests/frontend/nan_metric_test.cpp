// NaN, infinite and weightless predictions through every metric: a NaN is wrong, infinite numbers are numbers, and weight 0 does not count.
#include <array>
#include <cmath>
#include <limits>

#include "tests/frontend/helpers.h"

namespace sinter::test::nan_metric_test {
namespace {

using testing::HasSubstr;

constexpr float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();

double judged(const metric::Pointer& metric, const Tensor& prediction, const Tensor& target, const Tensor& weight = {}) {
  metric->reset();
  metric->add(prediction, target, weight);
  return metric->result();
}

const Tensor& classes() {
  static const Tensor numbers(std::vector<std::int32_t>{0, 1, 2, 0}, {4});
  return numbers;
}
/// Predictions of these classes, all of them right; one with a NaN beside the right class; all NaN; two right and one wrong by infinite numbers.
Tensor right_classes() { return Tensor({0.7f, 0.2f, 0.1f, 0.1f, 0.8f, 0.1f, 0.2f, 0.2f, 0.6f, 0.5f, 0.3f, 0.2f}, {4, 3}); }
Tensor one_nan_class() { return Tensor({0.7f, 0.2f, 0.1f, nan, 0.8f, 0.1f, 0.2f, 0.2f, 0.6f, 0.5f, 0.3f, 0.2f}, {4, 3}); }
Tensor all_nan(const Shape& shape) { return Tensor::filled({DType::f32, shape}, static_cast<double>(nan)); }
Tensor infinite_classes() { return Tensor({infinity, 0.2f, 0.1f, infinity, 0.8f, 0.1f, -infinity, -infinity, 0, 0.5f, 0.3f, -infinity}, {4, 3}); }

TEST(NanMetric, OfClassesIsNoHit) {
  for (const auto& make : {metric::accuracy, +[] { return metric::top_k_accuracy(2); },
                           +[]() -> metric::Pointer { return std::make_shared<metric::ConfusionMatrix>(3); }}) {
    const metric::Pointer metric = make();
    EXPECT_EQ(judged(metric, right_classes(), classes()), 1) << metric->name();
    EXPECT_EQ(judged(metric, one_nan_class(), classes()), 0.75) << metric->name();
    EXPECT_EQ(judged(metric, all_nan({4, 3}), classes()), 0) << metric->name();
    EXPECT_EQ(judged(metric, one_nan_class(), classes(), Tensor({1, 0, 1, 1}, {4})), 1) << metric->name();
  }
  for (const std::int64_t k : {1, 3}) EXPECT_EQ(judged(metric::top_k_accuracy(k), all_nan({4, 3}), classes()), 0) << k;
}

TEST(NanMetric, OfInfiniteClassesIsAMetricOfNumbers) {
  const auto matrix = std::make_shared<metric::ConfusionMatrix>(3);
  EXPECT_EQ(judged(metric::accuracy(), infinite_classes(), classes()), 0.75);
  EXPECT_EQ(judged(metric::top_k_accuracy(2), infinite_classes(), classes()), 1);
  EXPECT_EQ(judged(matrix, infinite_classes(), classes()), 0.75);
  EXPECT_EQ(matrix->count(1, 0), 1);
}

TEST(NanMetric, OfAMatrixIsUndecided) {
  metric::ConfusionMatrix matrix(3);
  matrix.add(one_nan_class(), classes());
  EXPECT_EQ(matrix.undecided(1), 1);
  EXPECT_EQ(matrix.undecided(0), 0);
  EXPECT_EQ(matrix.count(1, 1), 0);
  EXPECT_EQ(matrix.to_text(), "   0 1 2  <- predicted, undecided\n 0 2 0 0 0\n 1 0 0 0 1\n 2 0 0 1 0\n");
  SavedState state;
  matrix.save(state);
  metric::ConfusionMatrix again(3), other(2);
  again.restore(state);
  EXPECT_EQ(again.to_text(), matrix.to_text());
  EXPECT_THAT(error_of([&] { other.restore(state); }), HasSubstr("[confusion_matrix] saved classes 1 and 3 are outside [0, 2)"));
  state.set("counts", {1, 2});
  EXPECT_THAT(error_of([&] { again.restore(state); }), HasSubstr("[confusion_matrix] needs three saved numbers per count, got 2"));
  EXPECT_THAT(error_of([&] { (void)matrix.undecided(3); }), HasSubstr("[confusion_matrix] class 3 must be in [0, 3)"));
}

/// Of targets 1, 0, 1, 0.
TEST(NanMetric, OfABinaryPredictionIsTheOtherAnswer) {
  struct Case {
    metric::Pointer metric;
    double yes_is_nan, no_is_nan, all;  ///< with NaN for the first target of 1, for the first of 0, for all
  };
  const Tensor y({1, 0, 1, 0}, {4}), right({0.9f, 0.2f, 0.8f, 0.1f}, {4}), infinite({infinity, -infinity, 0.8f, -infinity}, {4}),
      yes_is_nan({nan, 0.2f, 0.8f, 0.1f}, {4}), no_is_nan({0.9f, nan, 0.8f, 0.1f}, {4}), wrong({-infinity, infinity, -infinity, infinity}, {4});
  for (const Case& c : {Case{metric::binary_accuracy(), 0.75, 0.75, 0}, Case{metric::precision(), 1, 2.0 / 3, 0}, Case{metric::recall(), 0.5, 1, 0},
                        Case{metric::f1(), 2.0 / 3, 0.8, 0}, Case{metric::auc(), 0.5, 0.5, 0}}) {
    SCOPED_TRACE(c.metric->name());
    EXPECT_EQ(judged(c.metric, right, y), 1);
    EXPECT_DOUBLE_EQ(judged(c.metric, yes_is_nan, y), c.yes_is_nan);
    EXPECT_DOUBLE_EQ(judged(c.metric, no_is_nan, y), c.no_is_nan);
    EXPECT_EQ(judged(c.metric, all_nan({4}), y), c.all);
    EXPECT_EQ(judged(c.metric, infinite, y), 1);
    EXPECT_EQ(judged(c.metric, wrong, y), 0);
    EXPECT_EQ(judged(c.metric, yes_is_nan, y, Tensor({0, 1, 1, 1}, {4})), 1);
  }
}

TEST(NanMetric, OfAnErrorIsNaN) {
  const Tensor y({1, 0, 2, 5}, {4}), one({nan, 0, 2, 5}, {4}), infinite({infinity, 0, 2, 5}, {4}), weight({0, 1, 1, 1}, {4});
  for (const metric::Pointer& metric : {metric::mean_absolute_error(), metric::mean_squared_error(), metric::root_mean_squared_error(), metric::r2(),
                                        metric::scaled(2, metric::mean_absolute_error())}) {
    SCOPED_TRACE(metric->name());
    const bool is_error = metric->name() != "r2";
    EXPECT_TRUE(std::isnan(judged(metric, one, y)));
    EXPECT_TRUE(std::isnan(judged(metric, all_nan({4}), y)));
    EXPECT_EQ(judged(metric, infinite, y), is_error ? HUGE_VAL : -HUGE_VAL);
    EXPECT_EQ(judged(metric, one, y, weight), is_error ? 0 : 1);
    EXPECT_EQ(judged(metric, infinite, y, weight), is_error ? 0 : 1);
  }
}

/// Predicts its input.
class Through : public nn::Module {
 public:
  Through() : Module("through") { one = add("one", Tensor(1.0f)); }
  Parameter one;

 private:
  Tensor forward(const Tensor& x) override { return x * one; }
};

TEST(NanMetric, OfEvaluateIsTheSameEagerAndCompiled) {
  struct Case {
    Tensor prediction;
    double accuracy;
    std::int64_t nan_samples;
  };
  for (const Mode mode : modes())
    for (const bool with_metrics : {false, true})
      for (const Case& c :
           {Case{right_classes(), 1, 0}, Case{one_nan_class(), 0.75, 1}, Case{all_nan({4, 3}), 0, 4}, Case{infinite_classes(), 0.75, 0}}) {
        std::vector<metric::Pointer> metrics;
        if (with_metrics) metrics = {metric::accuracy(), std::make_shared<metric::ConfusionMatrix>(3)};
        Trainer trainer(Through(), loss::sparse_categorical_crossentropy_from_logits, optim::SGD(), {.mode = mode, .metrics = metrics});
        const Evaluation found = trainer.evaluate({c.prediction, classes()});
        EXPECT_EQ(found.accuracy, c.accuracy);
        EXPECT_EQ(found.nan_samples, c.nan_samples);
        for (const auto& [name, value] : found.metrics) EXPECT_EQ(value, c.accuracy) << name;
      }
}

TEST(NanMetric, IsFoundAnywhere) {
  EXPECT_TRUE(has_nan(std::array{1.0f, infinity, nan}));
  EXPECT_FALSE(has_nan(std::array{1.0f, infinity, -infinity}));
  EXPECT_FALSE(has_nan({}));
}

TEST(NanMetric, HasRoomForManyClasses) {
  constexpr std::int64_t many = 1'000'000;
  metric::ConfusionMatrix matrix(many);
  std::vector<float> scores(static_cast<std::size_t>(many));
  scores[999'999] = 1;
  matrix.add(Tensor(scores, {1, many}), Tensor(std::vector<std::int32_t>{7}, {1}));
  EXPECT_EQ(matrix.count(7, 999'999), 1);
  EXPECT_EQ(matrix.result(), 0);
  EXPECT_THAT(error_of([&] { (void)matrix.to_text(); }),
              HasSubstr("[confusion_matrix] text is for at most 1000 classes, got 1000000; count() gives single numbers"));
  EXPECT_THAT(error_of([] { metric::ConfusionMatrix(std::int64_t{1} << 31); }),
              HasSubstr("[confusion_matrix] needs at least 2 classes and at most 2147483647, got 2147483648"));
}

TEST(NanMetric, TakesNoTargetBetweenClasses) {
  EXPECT_THAT(error_of([] { metric::accuracy()->add(Tensor({0.5f, 0.5f}, {1, 2}), Tensor({0.5f}, {1})); }),
              HasSubstr("[accuracy] needs class numbers, got 0.5"));
}

}  // namespace
}  // namespace sinter::test::nan_metric_test
