#include "frontend/train/curve.h"

#include <cmath>

#include "frontend/train/curve_rules.h"
#include "frontend/train/metric_rules.h"

namespace sinter::metric {

Numbers::Numbers(const Tensor& tensor) {
  if (tensor.defined()) numbers_ = as_doubles(tensor);
}

RocCurve roc_curve(const Numbers& truth, const Numbers& score, const Numbers& weight, bool drop_intermediate) {
  const Ranking ranking = ranked("roc_curve", truth, score, weight, Needs::both);
  const std::vector<double>&yes = ranking.true_positives, &no = ranking.false_positives;
  RocCurve curve{{0}, {0}, {infinity}};
  for (std::size_t i = 0; i < yes.size(); ++i) {
    const bool inner = i > 0 && i + 1 < yes.size();
    if (drop_intermediate && inner && yes[i + 1] - yes[i] == yes[i] - yes[i - 1] && no[i + 1] - no[i] == no[i] - no[i - 1]) continue;
    curve.fpr.push_back(no[i] / ranking.negatives());
    curve.tpr.push_back(yes[i] / ranking.positives());
    curve.thresholds.push_back(ranking.thresholds[i]);
  }
  return curve;
}

PrecisionRecallCurve precision_recall_curve(const Numbers& truth, const Numbers& score, const Numbers& weight) {
  const Ranking ranking = ranked("precision_recall_curve", truth, score, weight, Needs::positives);
  PrecisionRecallCurve curve;
  for (std::size_t i = ranking.thresholds.size(); i-- > 0;) {
    const double found = ranking.true_positives[i];
    curve.precision.push_back(found / (found + ranking.false_positives[i]));
    curve.recall.push_back(found / ranking.positives());
    curve.thresholds.push_back(ranking.thresholds[i]);
  }
  curve.precision.push_back(1);
  curve.recall.push_back(0);
  return curve;
}

double average_precision(const Numbers& truth, const Numbers& score, const Numbers& weight) {
  return ranked("average_precision", truth, score, weight, Needs::positives).average_precision();
}

double area_under(const Numbers& x, const Numbers& y) {
  if (x.size() != y.size() || x.size() < 2)
    throw UserError("area_under", str("needs at least 2 points, with one y for each x, got ", x.size(), " x and ", y.size(), " y"));
  double area = 0;
  bool rises = false, falls = false;
  for (std::size_t i = 1; i < x.size(); ++i) {
    const double step = x[i] - x[i - 1];
    rises = rises || !(step <= 0);
    falls = falls || !(step >= 0);
    if (rises && falls) throw UserError("area_under", str("x must rise or fall throughout, but x[", i, "] is ", x[i], " behind ", x[i - 1]));
    area += std::abs(step) * (y[i] + y[i - 1]) / 2;
  }
  return area;
}

}  // namespace sinter::metric
