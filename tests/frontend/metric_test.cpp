// Metrics against scikit-learn: tests/fixtures/metrics.py.
#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "tests/frontend/helpers.h"

namespace sinter::test::metric_test {
namespace {

using testing::HasSubstr;

TEST(Metric, AgreesWithScikitLearn) {
  std::ifstream file(SINTER_TEST_FIXTURES "/metrics.json");
  const auto json = nlohmann::json::parse(file);
  const auto floats = [&](const char* name, const Shape& shape) { return Tensor(json.at(name).get<std::vector<float>>(), shape); };
  const auto whole = [&](const char* name) { return Tensor(json.at(name).get<std::vector<std::int32_t>>(), {40}); };
  struct Data {
    Tensor prediction, target;
  };
  const Data classes{floats("scores", {40, 6}), whole("classes")}, yes{floats("chance", {40, 1}), whole("yes")},
      numbers{floats("predicted", {40, 2}), floats("numbers", {40, 2})};
  const Tensor weights = floats("weights", {40});
  const auto matrix = std::make_shared<metric::ConfusionMatrix>(6);
  const std::vector<std::pair<metric::Pointer, const Data*>> cases{{metric::accuracy(), &classes},
                                                                   {metric::top_k_accuracy(3), &classes},
                                                                   {metric::binary_accuracy(), &yes},
                                                                   {metric::precision(), &yes},
                                                                   {metric::recall(), &yes},
                                                                   {metric::f1(), &yes},
                                                                   {metric::auc(), &yes},
                                                                   {metric::mean_absolute_error(), &numbers},
                                                                   {metric::mean_squared_error(), &numbers},
                                                                   {metric::root_mean_squared_error(), &numbers},
                                                                   {metric::r2(), &numbers}};
  for (const char* kind : {"plain", "weighted"}) {
    const Tensor w = kind == std::string("weighted") ? weights : Tensor();
    const auto part = [](const Tensor& t, std::int64_t begin, std::int64_t end) { return t.defined() ? slice(t, 0, begin, end) : t; };
    const auto feed = [&](Metric& metric, const Data& data) {
      metric.reset();
      for (const auto& [begin, end] : {std::pair{0, 13}, {13, 40}})  // in two batches
        metric.add(part(data.prediction, begin, end), part(data.target, begin, end), part(w, begin, end));
    };
    for (const auto& [metric, data] : cases) {
      feed(*metric, *data);
      const double wanted = json.at(kind).at(metric->name());
      EXPECT_NEAR(metric->result(), wanted, 1e-9 * std::max(1.0, std::abs(wanted))) << kind << " " << metric->name();
    }
    feed(*matrix, classes);
    const auto counts = json.at(kind).at("confusion_matrix").get<std::vector<double>>();
    for (int i = 0; i < 36; ++i) EXPECT_NEAR(matrix->count(i / 6, i % 6), counts[static_cast<std::size_t>(i)], 1e-6);
  }
}

TEST(Metric, MayBeScaled) {
  const metric::Pointer error = metric::scaled(100, metric::root_mean_squared_error());
  EXPECT_EQ(error->name(), "root_mean_squared_error");
  error->add(Tensor({1.0f, 2.0f}, {2, 1}), Tensor({1.5f, 2.5f}, {2, 1}));
  EXPECT_EQ(error->result(), 50);
  SavedState state;
  error->save(state);
  error->reset();
  EXPECT_TRUE(std::isnan(error->result()));
  error->restore(state);
  EXPECT_EQ(error->result(), 50);
  EXPECT_THAT(error_of([] { metric::scaled(2, nullptr); }), HasSubstr("[scaled] the metric is null"));
}

TEST(Metric, OfNothingIsNaN) {
  EXPECT_TRUE(std::isnan(metric::accuracy()->result()));
  EXPECT_TRUE(std::isnan(metric::auc()->result()));
  EXPECT_TRUE(std::isnan(metric::precision()->result()));
}

TEST(Metric, ConfusionMatrixIsReadable) {
  metric::ConfusionMatrix matrix(2);
  matrix.add(Tensor({0, 1, 1, 0, 1, 0}, {3, 2}), Tensor(std::vector<std::int32_t>{1, 0, 1}, {3}));
  EXPECT_EQ(matrix.to_text(), "   0 1  <- predicted\n 0 1 0\n 1 1 1\n");
  EXPECT_NEAR(matrix.result(), 2.0 / 3, 1e-12);
}

TEST(Metric, RefusesWhatItCannotJudge) {
  const Tensor p({0.5f, 0.5f}, {1, 2}), y(std::vector<std::int32_t>{3}, {1});
  EXPECT_THAT(error_of([&] { metric::accuracy()->add(p, y); }), HasSubstr("[accuracy] class 3 is outside [0, 2), the classes that are predicted"));
  EXPECT_THAT(error_of([&] { metric::auc()->add(p, y); }),
              HasSubstr("[auc] needs as many numbers per sample in predictions as in targets, got 2 and 1"));
  EXPECT_THAT(error_of([&] { metric::f1()->add(Tensor({0.5f}, {1}), y); }), HasSubstr("[f1] targets must be 0 or 1, got 3"));
  EXPECT_THAT(error_of([&] { metric::accuracy()->add(Tensor({0.5f}, {1}), y); }), HasSubstr("for binary targets there is binary_accuracy"));
  EXPECT_THAT(error_of([] { metric::top_k_accuracy(0); }), HasSubstr("k must be at least 1, got 0"));
  EXPECT_THAT(error_of([] { metric::ConfusionMatrix(1); }), HasSubstr("needs at least 2 classes and at most 2147483647, got 1"));
}

}  // namespace
}  // namespace sinter::test::metric_test
