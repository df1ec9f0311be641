// The curves of two classes.
#include <algorithm>
#include <cmath>

#include "frontend/core/counted.h"
#include "frontend/report/classification.h"
#include "frontend/report/histogram.h"
#include "frontend/report/markup.h"
#include "frontend/train/curve.h"

namespace sinter::report {

namespace {

constexpr std::size_t cells = 400;  // of an axis: about as many as it has pixels
constexpr std::size_t grid = 200;   // thresholds at which figures are drawn

/// The points of a curve over [0, 1], of each of 400 parts of it the first and the last.
Series thinned(Series series) {
  const auto cell = [&](std::size_t i) { return std::floor(series.x[i] * static_cast<double>(cells)); };
  std::size_t kept = 0;
  const std::size_t size = series.x.size();
  for (std::size_t i = 0; i < size; ++i) {
    if (i > 0 && i + 1 < size && cell(i - 1) == cell(i) && cell(i + 1) == cell(i)) continue;
    series.x[kept] = series.x[i];
    series.y[kept++] = series.y[i];
  }
  series.x.resize(kept);
  series.y.resize(kept);
  return series;
}

/// The answers that are not NaN.
struct Answers {
  std::vector<double> truth, probability;

  explicit Answers(const Judgement& judgement) {
    for (std::size_t i = 0; i < judgement.answers(); ++i) {
      if (std::isnan(judgement.p_one[i])) continue;
      truth.push_back(judgement.truth[i]);
      probability.push_back(judgement.p_one[i]);
    }
  }
  std::vector<double> of(double which) const {
    std::vector<double> result;
    for (std::size_t i = 0; i < truth.size(); ++i)
      if (truth[i] == which) result.push_back(probability[i]);
    return result;
  }
};

/// The counts at each threshold of a grid over [0, 1], from the probabilities of positives and of negatives, sorted.
std::vector<metric::BinaryCounts> counts_on_grid(std::vector<double> yes, std::vector<double> no) {
  std::sort(yes.begin(), yes.end());
  std::sort(no.begin(), no.end());
  const auto below = [](const std::vector<double>& sorted, double threshold) {
    return static_cast<double>(std::lower_bound(sorted.begin(), sorted.end(), threshold) - sorted.begin());
  };
  std::vector<metric::BinaryCounts> counts;
  for (std::size_t k = 0; k <= grid; ++k) {
    const double threshold = static_cast<double>(k) / static_cast<double>(grid), lost = below(yes, threshold), spared = below(no, threshold);
    counts.push_back({static_cast<double>(yes.size()) - lost, static_cast<double>(no.size()) - spared, lost, spared});
  }
  return counts;
}

Series on_grid(const std::string& name, const std::vector<metric::BinaryCounts>& counts, const metric::Goal& value) {
  Series series{name, {}, {}};
  for (std::size_t k = 0; k <= grid; ++k) {
    series.x.push_back(static_cast<double>(k) / static_cast<double>(grid));
    series.y.push_back(value(counts[k]));
  }
  return series;
}

/// A threshold beyond all probabilities is at the end of the axis.
double shown(double threshold) { return std::min(threshold, 1.0); }
std::string named(double threshold) { return std::isinf(threshold) ? "never" : significant(threshold, 3); }

}  // namespace

BinaryPart binary_part(const Judgement& judgement) {
  const Answers answers(judgement);
  BinaryPart part;
  const std::vector<double> yes = answers.of(1), no = answers.of(0);
  const std::string name = judgement.class_name(1), probability = judgement.names.names.empty() ? "probability of 1" : "probability of " + name;
  if (const std::size_t lost = judgement.answers() - answers.truth.size())
    part.note = str("The charts leave out ", counted(lost, "prediction"), " of NaN. ");
  if (answers.truth.empty()) return part;
  const std::vector<Sample> by_class{{"true: " + judgement.class_name(0), no}, {"true: " + name, yes}};
  Chart scores = small_chart("Probabilities by true class", probability, "samples");
  scores.series = histogram(by_class, 0, 1, 25).series;
  part.charts.push_back(std::move(scores));
  if (yes.empty() || no.empty()) {
    part.note += "All samples are of one class: there are no curves by threshold.";
    return part;
  }
  const metric::Numbers truth(answers.truth), p(answers.probability);
  const metric::RocCurve roc = metric::roc_curve(truth, p, {}, true);
  const double auc = metric::area_under(roc.fpr, roc.tpr), precision = metric::average_precision(truth, p),
               share = static_cast<double>(yes.size()) / static_cast<double>(answers.truth.size());
  Chart chart = small_chart("ROC curve", "false positive rate", "true positive rate (recall)");
  chart.series = {thinned({"AUC " + fixed(auc, 4), roc.fpr, roc.tpr}), {"chance", {0, 1}, {0, 1}, Mark::guide}};
  part.charts.push_back(chart);

  const metric::PrecisionRecallCurve pr = metric::precision_recall_curve(truth, p);
  chart = small_chart("Precision and recall", "recall", "precision");
  chart.series = {thinned({"average precision " + fixed(precision, 4), pr.recall, pr.precision, Mark::steps}),
                  {"chance", {0, 1}, {share, share}, Mark::guide}};
  part.charts.push_back(chart);

  const metric::CalibrationCurve calibration = metric::calibration_curve(truth, p, 10);
  chart = small_chart("Calibration", "mean " + probability + " in each tenth", "share of " + name);
  chart.series = {{"model", calibration.prob_pred, calibration.prob_true}, {"calibrated", {0, 1}, {0, 1}, Mark::guide}};
  part.charts.push_back(chart);

  const metric::goal::CostOptions& costs = judgement.names.costs;
  const metric::Goal cost = metric::goal::cost(costs);
  const metric::Threshold f1 = metric::best_threshold(truth, p, metric::goal::f_score()), cheapest = metric::best_threshold(truth, p, cost);
  const std::vector<metric::BinaryCounts> counts = counts_on_grid(yes, no);
  chart = small_chart("F1 by threshold", "threshold", "");
  chart.series = {on_grid("F1", counts, metric::goal::f_score()),
                  on_grid("precision", counts, [](const auto& c) { return c.true_positives + c.false_positives > 0 ? c.precision() : NAN; }),
                  on_grid("recall", counts, [](const auto& c) { return c.recall(); }),
                  {"greatest F1 at " + named(f1.threshold), {shown(f1.threshold)}, {f1.value}, Mark::points}};
  part.charts.push_back(chart);
  chart = small_chart("Cost by threshold", "threshold", "mean cost of a sample");
  chart.series = {on_grid("", counts, [&](const auto& c) { return -cost(c); }),
                  {"least cost at " + named(cheapest.threshold), {shown(cheapest.threshold)}, {-cheapest.value}, Mark::points}};
  part.charts.push_back(chart);

  part.figures = {{"ROC AUC", fixed(auc, 4)},
                  {"Average precision", fixed(precision, 4)},
                  {"Brier score", significant(metric::brier_score(truth, p), 4)},
                  {"Calibration error", significant(metric::expected_calibration_error(truth, p), 3)},
                  {"Greatest F1", str(fixed(f1.value, 3), " at ", named(f1.threshold))},
                  {"Least cost", str(significant(-cheapest.value, 3), " at ", named(cheapest.threshold))}};
  part.note += str("Positive is ", name, ". A false positive costs ", costs.false_positive, ", a false negative ", costs.false_negative,
                   costs.prevalence ? str(", at a prevalence of ", *costs.prevalence) : "", ". Curves are drawn from at most ", 2 * cells + 2,
                   " of their points.");
  return part;
}

}  // namespace sinter::report
