// Curves, calibration and thresholds against scikit-learn: tests/fixtures/curves.py.
#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>

#include "tests/frontend/helpers.h"

namespace sinter::test::curve_test {
namespace {

using metric::Bins;
using metric::Numbers;
using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pointwise;

constexpr double infinity = std::numeric_limits<double>::infinity();
const double nan = std::nan("");

nlohmann::json fixture() {
  std::ifstream file(SINTER_TEST_FIXTURES "/curves.json");
  return nlohmann::json::parse(file);
}

std::vector<double> numbers(const nlohmann::json& list) {
  std::vector<double> result;
  for (const auto& x : list) result.push_back(x.is_null() ? infinity : x.get<double>());
  return result;
}

void expect_near(const std::vector<double>& got, const nlohmann::json& wanted) {
  std::vector<double> expected = numbers(wanted), finite = got;
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    EXPECT_EQ(std::isinf(got[i]), std::isinf(expected[i])) << i;
    if (std::isinf(expected[i])) finite[i] = expected[i] = 0;
  }
  EXPECT_THAT(finite, Pointwise(DoubleNear(1e-9), expected));
}

TEST(Curve, AgreesWithScikitLearn) {
  const auto json = fixture();
  const Numbers truth = numbers(json["truth"]);
  for (const char* kind : {"plain", "weighted"})
    for (const char* score_name : {"probability", "logit"}) {
      SCOPED_TRACE(str(kind, " ", score_name));
      const Numbers score = numbers(json[score_name]), weight = std::string(kind) == "plain" ? Numbers() : Numbers(numbers(json["weight"]));
      const auto& wanted = json[kind][score_name];
      for (const bool drop : {false, true}) {
        const metric::RocCurve roc = metric::roc_curve(truth, score, weight, drop);
        const auto& expected = wanted[drop ? "roc_dropped" : "roc"];
        expect_near(roc.fpr, expected[0]);
        expect_near(roc.tpr, expected[1]);
        expect_near(roc.thresholds, expected[2]);
        EXPECT_NEAR(metric::area_under(roc.fpr, roc.tpr), wanted["area"].get<double>(), 1e-12);
        EXPECT_NEAR(metric::area_under(roc.fpr, roc.tpr), wanted["auc"].get<double>(), 1e-12);
      }
      const metric::PrecisionRecallCurve curve = metric::precision_recall_curve(truth, score, weight);
      expect_near(curve.precision, wanted["precision_recall"][0]);
      expect_near(curve.recall, wanted["precision_recall"][1]);
      expect_near(curve.thresholds, wanted["precision_recall"][2]);
      EXPECT_NEAR(metric::average_precision(truth, score, weight), wanted["average_precision"].get<double>(), 1e-12);
    }
}

TEST(Curve, CalibrationAgreesWithScikitLearn) {
  const auto json = fixture();
  const Numbers truth = numbers(json["truth"]), probability = numbers(json["probability"]), weight = numbers(json["weight"]);
  for (const auto& [strategy, name] : {std::pair{Bins::uniform, "uniform"}, {Bins::quantile, "quantile"}})
    for (const int bins : {1, 5, 10}) {
      SCOPED_TRACE(str(name, " ", bins));
      const metric::CalibrationCurve curve = metric::calibration_curve(truth, probability, bins, strategy);
      const auto& wanted = json[str("calibration_", name, "_", bins)];
      expect_near(curve.prob_true, wanted[0]);
      expect_near(curve.prob_pred, wanted[1]);
      EXPECT_EQ(std::accumulate(curve.weight.begin(), curve.weight.end(), 0.0), 60);
    }
  for (const char* kind : {"plain", "weighted"}) {
    const Numbers w = std::string(kind) == "plain" ? Numbers() : weight;
    EXPECT_NEAR(metric::brier_score(truth, probability, w), json[kind]["brier"].get<double>(), 1e-12);
    EXPECT_NEAR(metric::expected_calibration_error(truth, probability, 10, w), json[kind]["expected_calibration_error"].get<double>(), 1e-12);
  }
  // A weight of 2 is a sample twice.
  const metric::CalibrationCurve twice = metric::calibration_curve({0, 1, 1}, {0.1, 0.15, 0.15}, 1),
                                 weighted = metric::calibration_curve({0, 1}, {0.1, 0.15}, 1, Bins::uniform, {1, 2});
  EXPECT_THAT(weighted.prob_true, Pointwise(DoubleNear(1e-15), twice.prob_true));
  EXPECT_THAT(weighted.prob_pred, Pointwise(DoubleNear(1e-15), twice.prob_pred));
}

TEST(Threshold, IsTheBestOfAllByEachGoal) {
  const auto json = fixture();
  const Numbers truth = numbers(json["truth"]), score = numbers(json["probability"]);
  const std::vector<std::pair<const char*, metric::Goal>> goals{{"f1", metric::goal::f_score()},
                                                                {"f2", metric::goal::f_score(2)},
                                                                {"cost_5_1", metric::goal::cost({.false_positive = 5, .false_negative = 1})},
                                                                {"cost_1_3_at_0.1", metric::goal::cost({.false_negative = 3, .prevalence = 0.1})},
                                                                {"youden", metric::goal::youden()},
                                                                {"precision_at_recall_0.8", metric::goal::precision_at_recall(0.8)},
                                                                {"recall_at_precision_0.8", metric::goal::recall_at_precision(0.8)}};
  for (const char* kind : {"plain", "weighted"})
    for (const auto& [name, goal] : goals) {
      SCOPED_TRACE(str(kind, " ", name));
      const Numbers weight = std::string(kind) == "plain" ? Numbers() : Numbers(numbers(json["weight"]));
      const metric::Threshold best = metric::best_threshold(truth, score, goal, weight);
      const auto& wanted = json[kind]["best"][name];
      EXPECT_NEAR(best.value, wanted["value"].get<double>(), 1e-12);
      EXPECT_EQ(best.threshold, wanted["threshold"].is_null() ? infinity : wanted["threshold"].get<double>());
      EXPECT_NEAR(goal(best.counts), best.value, 0);
    }
}

TEST(Threshold, CountsWhatItMakesOfTheSamples) {
  const Numbers truth{1, 0, 1, 0, 0}, score{0.9, 0.8, 0.7, 0.7, 0.1};
  const metric::Threshold best = metric::best_threshold(truth, score, metric::goal::precision_at_recall(0.6));
  EXPECT_EQ(best.threshold, 0.7);
  EXPECT_EQ(best.counts.true_positives, 2);
  EXPECT_EQ(best.counts.false_positives, 2);
  EXPECT_EQ(best.counts.false_negatives, 0);
  EXPECT_EQ(best.counts.true_negatives, 1);
  EXPECT_EQ(best.counts.positives(), 2);
  EXPECT_EQ(best.counts.negatives(), 3);
  EXPECT_EQ(best.counts.precision(), 0.5);
  EXPECT_EQ(best.counts.recall(), 1);
  EXPECT_EQ(best.counts.false_positive_rate(), 2.0 / 3);
  EXPECT_EQ(best.counts.f_score(), 2.0 / 3);
  EXPECT_EQ(metric::BinaryCounts().precision(), 0);
  // Where a false positive costs enough, none is the best; a goal of one's own; the greatest of equally good ones.
  EXPECT_EQ(metric::best_threshold({0, 1}, {0.9, 0.1}, metric::goal::cost({.false_positive = 100})).threshold, infinity);
  EXPECT_EQ(metric::best_threshold(truth, score, [](const metric::BinaryCounts& c) { return c.false_positives; }).threshold, 0.1);
  EXPECT_EQ(metric::best_threshold(truth, score, [](const metric::BinaryCounts&) { return 1.0; }).threshold, infinity);
}

TEST(Curve, TakesTensorsAndVectorsOfAnyType) {
  const std::vector<double> fpr{0, 0, 0, 1}, tpr{0, 0.5, 1, 1};
  const Tensor score({0.9f, 0.4f, 0.2f}, {3, 1});
  for (const Numbers& truth : {Numbers(Tensor(std::vector<std::int32_t>{1, 1, 0}, {3})), Numbers(Tensor(std::vector<std::uint32_t>{1, 1, 0}, {3})),
                               Numbers(Tensor(std::vector<std::uint8_t>{1, 1, 0}, {3, 1})), Numbers(Tensor({1, 1, 0}, {3})),
                               Numbers(Tensor(std::vector<bool>{true, true, false}, {3})), Numbers(std::vector<bool>{true, true, false}),
                               Numbers(std::vector<int>{1, 1, 0})}) {
    const metric::RocCurve roc = metric::roc_curve(truth, score, Tensor());
    EXPECT_EQ(roc.fpr, fpr);
    EXPECT_EQ(roc.tpr, tpr);
    EXPECT_THAT(roc.thresholds, ElementsAre(infinity, 0.9f, 0.4f, 0.2f));
  }
  EXPECT_TRUE(Numbers(Tensor()).empty());
  EXPECT_EQ(Numbers({2, 3})[1], 3);
  EXPECT_EQ(Numbers({2, 3}).size(), 2u);
}

TEST(Curve, TiesAreOneThreshold) {
  const metric::RocCurve roc = metric::roc_curve({0, 1, 0, 1}, {0.5, 0.5, 0.5, 0.5});
  EXPECT_THAT(roc.fpr, ElementsAre(0, 1));
  EXPECT_THAT(roc.thresholds, ElementsAre(infinity, 0.5));
  const metric::PrecisionRecallCurve curve = metric::precision_recall_curve({0, 1, 0, 1}, {0.5, 0.5, 0.5, 0.5});
  EXPECT_THAT(curve.precision, ElementsAre(0.5, 1));
  EXPECT_THAT(curve.recall, ElementsAre(1, 0));
  EXPECT_THAT(curve.thresholds, ElementsAre(0.5));
  // Infinite scores are scores, and a single positive has a precision and a recall.
  EXPECT_THAT(metric::roc_curve({0, 1}, {-infinity, infinity}).tpr, ElementsAre(0, 1, 1));
  EXPECT_EQ(metric::average_precision({1}, {0.2}), 1);
}

/// Scores of two million samples, of which each value occurs twice: the curve is known.
TEST(Curve, IsExactForMillionsOfScores) {
  constexpr std::size_t pairs = 1'000'000;
  std::vector<double> truth, score;
  for (std::size_t i = 0; i < 2 * pairs; ++i) {
    const std::size_t k = i * 7 % (2 * pairs) / 2;   // each of 0 .. pairs - 1 twice, in no order
    score.push_back(static_cast<double>(k) * 1e-9);  // closer than floats are to each other
    truth.push_back(k >= pairs / 4);
  }
  const metric::RocCurve roc = metric::roc_curve(truth, score);
  EXPECT_EQ(roc.thresholds.size(), pairs + 1);
  EXPECT_EQ(metric::area_under(roc.fpr, roc.tpr), 1);
  EXPECT_EQ(metric::average_precision(truth, score), 1);
  EXPECT_EQ(metric::best_threshold(truth, score, metric::goal::f_score()).threshold, 250'000 * 1e-9);
  EXPECT_EQ(metric::roc_curve(truth, score, {}, true).thresholds.size(), 4u);
  EXPECT_EQ(metric::calibration_curve(truth, score, 4, Bins::quantile).prob_true, (std::vector<double>{0, 1, 1, 1}));
}

TEST(Curve, SaysWhatIsWrong) {
  const auto with = [](const Numbers& truth, const Numbers& score, const Numbers& weight = {}) {
    return error_of([&] { metric::roc_curve(truth, score, weight); });
  };
  EXPECT_EQ(with({0, 1}, {1}),
            "[roc_curve] needs a score for each label and, if there are weights, a weight for each, got 2 labels, 1 scores and 0 "
            "weights");
  EXPECT_THAT(with({0, 1}, {1, 2}, {1}), HasSubstr("got 2 labels, 2 scores and 1 weights"));
  EXPECT_EQ(with({0, 2}, {1, 2}), "[roc_curve] labels must be 0 or 1, got 2 for sample 1");
  EXPECT_THAT(with({0, nan}, {1, 2}), HasSubstr("must be 0 or 1, got nan for sample 1"));
  EXPECT_EQ(with({0, 1}, {nan, 2}), "[roc_curve] the score of sample 0 is NaN; leave such samples out");
  EXPECT_EQ(with({0, 1}, {1, 2}, {1, -1}), "[roc_curve] weights must be finite and at least 0, got -1 for sample 1");
  EXPECT_THAT(with({0, 1}, {1, 2}, {1, infinity}), HasSubstr("got inf for sample 1"));
  EXPECT_EQ(with({0, 0}, {1, 2}), "[roc_curve] none of 2 samples is positive; recall is undefined");
  EXPECT_EQ(with({1, 1}, {1, 2}), "[roc_curve] none of 2 samples is negative; the false positive rate is undefined");
  EXPECT_THAT(with({0, 1}, {1, 2}, {0, 1}), HasSubstr("is negative"));
  EXPECT_THAT(with({}, {}), HasSubstr("none of 0 samples is positive"));
  EXPECT_THAT(error_of([] { metric::precision_recall_curve({0}, {1}); }), HasSubstr("[precision_recall_curve] none of 1 samples is positive"));
  EXPECT_THAT(error_of([] { metric::average_precision({0}, {1}); }), HasSubstr("[average_precision] none of 1"));
  EXPECT_EQ(error_of([] { metric::area_under({0, 1}, {1}); }), "[area_under] needs at least 2 points, with one y for each x, got 2 x and 1 y");
  EXPECT_THAT(error_of([] { metric::area_under({0}, {1}); }), HasSubstr("at least 2 points"));
  EXPECT_EQ(error_of([] { metric::area_under({0, 2, 1}, {1, 1, 1}); }), "[area_under] x must rise or fall throughout, but x[2] is 1 behind 2");
  EXPECT_THAT(error_of([] { metric::area_under({0, nan}, {1, 1}); }), HasSubstr("x must rise or fall throughout"));
  EXPECT_EQ(metric::area_under({1, 1, 0}, {3, 2, 2}), 2);  // falling
}

TEST(Curve, CalibrationSaysWhatIsWrong) {
  EXPECT_EQ(error_of([] { metric::calibration_curve({0, 1}, {0.5, 1.5}); }),
            "[calibration_curve] probabilities must be in [0, 1], got 1.5 for sample 1; of logits take the sigmoid");
  EXPECT_THAT(error_of([] { metric::calibration_curve({0, 1}, {0.5, 1}, 0); }), HasSubstr("the number of bins must be in [1, 1048576], got 0"));
  EXPECT_THAT(error_of([] { metric::calibration_curve({0}, {0.5, 1}); }), HasSubstr("[calibration_curve] needs a score for each label"));
  EXPECT_THAT(error_of([] { metric::brier_score({0, 1}, {0.5, -1}); }), HasSubstr("[brier_score] probabilities must be in [0, 1], got -1"));
  EXPECT_EQ(error_of([] { metric::brier_score({0}, {0.5}, {0}); }), "[brier_score] no samples that count among 1; give some with a weight");
  EXPECT_THAT(error_of([] { metric::expected_calibration_error({}, {}); }), HasSubstr("[expected_calibration_error] no samples that count among 0"));
  EXPECT_THAT(error_of([] { metric::calibration_curve({0}, {0.5}, 2, Bins::quantile, {0}); }), HasSubstr("no samples that count"));
}

TEST(Threshold, SaysWhatIsWrong) {
  using namespace metric::goal;
  EXPECT_EQ(error_of([] { f_score(0); }), "[f_score] beta must be positive, got 0");
  EXPECT_THAT(error_of([] { cost({.false_positive = -1}); }),
              HasSubstr("[cost] costs must be finite and at least 0, one of them positive, got -1 for a false positive and 1 for a false negative"));
  EXPECT_THAT(error_of([] { cost({.false_positive = 0, .false_negative = 0}); }), HasSubstr("one of them positive"));
  EXPECT_EQ(error_of([] { cost({.prevalence = 1}); }), "[cost] the prevalence must be in (0, 1), got 1; leave it out for that of the data");
  EXPECT_EQ(error_of([] { precision_at_recall(1.5); }), "[precision_at_recall] the least recall must be in [0, 1], got 1.5");
  EXPECT_EQ(error_of([] { recall_at_precision(nan); }), "[recall_at_precision] the least precision must be in [0, 1], got nan");
  EXPECT_EQ(error_of([] { metric::best_threshold({0, 1}, {1, 0}, recall_at_precision(0.9)); }),
            "[best_threshold] none of 2 thresholds meets the goal; ask for less");
  EXPECT_THAT(error_of([] { metric::best_threshold({0, 1}, {1, 0}, metric::Goal()); }), HasSubstr("[best_threshold] the goal is empty"));
  EXPECT_THAT(error_of([] { metric::best_threshold({1, 1}, {1, 0}, youden()); }), HasSubstr("is negative"));
}

// ---- the metric ----

TEST(AveragePrecision, IsThatOfAllBatches) {
  const auto json = fixture();
  const auto floats = [](const nlohmann::json& list) { return list.get<std::vector<float>>(); };
  const std::vector<float> truth = floats(json["truth"]), score = floats(json["probability"]), weight = floats(json["weight"]);
  for (const char* kind : {"plain", "weighted"}) {
    const metric::Pointer metric = metric::average_precision();
    EXPECT_EQ(metric->name(), "average_precision");
    EXPECT_EQ(metric->mode(), MonitorMode::max);
    SavedState state;
    for (const auto& [begin, end] : {std::pair{0, 25}, {25, 60}}) {
      const auto part = [&](const std::vector<float>& of) {
        return Tensor(std::span(of).subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin)), {end - begin});
      };
      metric->add(part(score), part(truth), std::string(kind) == "plain" ? Tensor() : part(weight));
      metric->save(state);
      metric->reset();
      EXPECT_TRUE(std::isnan(metric->result()));
      metric->restore(state);
    }
    EXPECT_NEAR(metric->result(), json[kind]["probability"]["average_precision"].get<double>(), 1e-6);  // of weights in f32
  }
}

TEST(AveragePrecision, OfNaNIsWrong) {
  const float no = std::nanf("");
  const auto of = [](std::vector<float> prediction, std::vector<float> target) {
    const metric::Pointer metric = metric::average_precision();
    const auto size = static_cast<std::int64_t>(target.size());
    metric->add(Tensor(prediction, {size}), Tensor(target, {size}));
    return metric->result();
  };
  EXPECT_EQ(of({0.9f, no}, {1, 1}), 0.5);  // a positive that is never found
  EXPECT_EQ(of({0.9f, no}, {1, 0}), 0.5);  // a negative that is always taken for positive
  EXPECT_EQ(of({no, no}, {1, 0}), 0);
  EXPECT_TRUE(std::isnan(of({0.5f, no}, {0, 0})));
}

}  // namespace
}  // namespace sinter::test::curve_test
