// The choice of a threshold.
#include <cmath>

#include "frontend/train/curve.h"
#include "frontend/train/curve_rules.h"

namespace sinter::metric {

double BinaryCounts::precision() const {
  const double predicted = true_positives + false_positives;
  return predicted > 0 ? true_positives / predicted : 0;
}

double BinaryCounts::f_score(double beta) const {
  const double b = beta * beta, part = (1 + b) * true_positives;
  return part / (part + b * false_negatives + false_positives);
}

namespace goal {

namespace {

void require_share(const char* where, const char* what, double share) {
  if (!(share >= 0 && share <= 1)) throw UserError(where, str("the least ", what, " must be in [0, 1], got ", share));
}

constexpr double not_allowed = std::numeric_limits<double>::quiet_NaN();

}  // namespace

Goal f_score(double beta) {
  if (!(beta > 0 && beta < infinity)) throw UserError("f_score", str("beta must be positive, got ", beta));
  return [beta](const BinaryCounts& c) { return c.f_score(beta); };
}

Goal cost(const CostOptions& options) {
  const double fp = options.false_positive, fn = options.false_negative;
  if (!(fp >= 0 && fn >= 0 && fp + fn > 0 && fp + fn < infinity))
    throw UserError("cost", str("costs must be finite and at least 0, one of them positive, got ", fp, " for a false positive and ", fn,
                                " for a false negative"));
  if (options.prevalence && !(*options.prevalence > 0 && *options.prevalence < 1))
    throw UserError("cost", str("the prevalence must be in (0, 1), got ", *options.prevalence, "; leave it out for that of the data"));
  return [=](const BinaryCounts& c) {
    const double positive = options.prevalence.value_or(c.positives() / (c.positives() + c.negatives()));
    return -(positive * (c.false_negatives / c.positives()) * fn + (1 - positive) * c.false_positive_rate() * fp);
  };
}

Goal youden() {
  return [](const BinaryCounts& c) { return c.recall() - c.false_positive_rate(); };
}

Goal precision_at_recall(double least_recall) {
  require_share("precision_at_recall", "recall", least_recall);
  return [=](const BinaryCounts& c) { return c.recall() >= least_recall ? c.precision() : not_allowed; };
}

Goal recall_at_precision(double least_precision) {
  require_share("recall_at_precision", "precision", least_precision);
  return [=](const BinaryCounts& c) { return c.precision() >= least_precision ? c.recall() : not_allowed; };
}

}  // namespace goal

Threshold best_threshold(const Numbers& truth, const Numbers& score, const Goal& goal, const Numbers& weight) {
  if (!goal) throw UserError("best_threshold", "the goal is empty; give one of metric::goal, or a function of BinaryCounts");
  const Ranking ranking = ranked("best_threshold", truth, score, weight, Needs::both);
  std::optional<Threshold> best;
  const auto judge = [&](double threshold, double yes, double no) {
    const BinaryCounts counts{yes, no, ranking.positives() - yes, ranking.negatives() - no};
    const double value = goal(counts);
    if (!std::isnan(value) && (!best || value > best->value)) best = Threshold{threshold, value, counts};
  };
  judge(infinity, 0, 0);
  for (std::size_t i = 0; i < ranking.thresholds.size(); ++i) judge(ranking.thresholds[i], ranking.true_positives[i], ranking.false_positives[i]);
  if (!best) throw UserError("best_threshold", str("none of ", ranking.thresholds.size(), " thresholds meets the goal; ask for less"));
  return *best;
}

}  // namespace sinter::metric
