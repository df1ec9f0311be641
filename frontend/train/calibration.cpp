// Whether predicted probabilities are the shares of positives.
#include <algorithm>
#include <cmath>

#include "frontend/train/curve_rules.h"

namespace sinter::metric {

namespace {

void check_probabilities(const char* where, const Numbers& truth, const Numbers& probability, const Numbers& weight) {
  check_scores(where, truth, probability, weight);
  for (std::size_t i = 0; i < probability.size(); ++i)
    if (!(probability[i] >= 0 && probability[i] <= 1))
      throw UserError(where, str("probabilities must be in [0, 1], got ", probability[i], " for sample ", i, "; of logits take the sigmoid"));
}

/// The ends between the bins: k / bins, or the quantiles at these, interpolated linearly between the nearest samples.
std::vector<double> inner_ends(const Numbers& probability, std::size_t bins, Bins strategy) {
  std::vector<double> sorted, ends;
  if (strategy == Bins::quantile)
    for (std::size_t i = 0; i < probability.size(); ++i) sorted.push_back(probability[i]);
  std::sort(sorted.begin(), sorted.end());
  for (std::size_t k = 1; k < bins; ++k) {
    if (sorted.empty()) {
      ends.push_back(static_cast<double>(k) / static_cast<double>(bins));
      continue;
    }
    const std::size_t place = k * (sorted.size() - 1), below = place / bins, above = std::min(below + 1, sorted.size() - 1);
    const double part = static_cast<double>(place % bins) / static_cast<double>(bins), step = sorted[above] - sorted[below];
    ends.push_back(part < 0.5 ? sorted[below] + step * part : sorted[above] - step * (1 - part));
  }
  return ends;
}

/// Sums over the samples of a bin.
struct Bin {
  double weight = 0, positives = 0, probability = 0;
};

std::vector<Bin> filled_bins(const char* where, const Numbers& truth, const Numbers& probability, std::int64_t bins, Bins strategy,
                             const Numbers& weight) {
  constexpr std::int64_t most = 1 << 20;
  if (bins < 1 || bins > most) throw UserError(where, str("the number of bins must be in [1, ", most, "], got ", bins));
  check_probabilities(where, truth, probability, weight);
  const auto count = static_cast<std::size_t>(bins);
  const std::vector<double> ends = inner_ends(probability, count, strategy);
  std::vector<Bin> filled(count);
  for (std::size_t i = 0; i < truth.size(); ++i) {
    Bin& bin = filled[static_cast<std::size_t>(std::lower_bound(ends.begin(), ends.end(), probability[i]) - ends.begin())];
    const double w = weight_of(weight, i);
    bin.weight += w;
    bin.positives += w * truth[i];
    bin.probability += w * probability[i];
  }
  std::erase_if(filled, [](const Bin& bin) { return bin.weight == 0; });
  if (filled.empty()) throw UserError(where, str("no samples that count among ", truth.size(), "; give some with a weight"));
  return filled;
}

}  // namespace

CalibrationCurve calibration_curve(const Numbers& truth, const Numbers& probability, std::int64_t bins, Bins strategy, const Numbers& weight) {
  CalibrationCurve curve;
  for (const Bin& bin : filled_bins("calibration_curve", truth, probability, bins, strategy, weight)) {
    curve.prob_true.push_back(bin.positives / bin.weight);
    curve.prob_pred.push_back(bin.probability / bin.weight);
    curve.weight.push_back(bin.weight);
  }
  return curve;
}

double brier_score(const Numbers& truth, const Numbers& probability, const Numbers& weight) {
  check_probabilities("brier_score", truth, probability, weight);
  double sum = 0, weights = 0;
  for (std::size_t i = 0; i < truth.size(); ++i) {
    const double error = probability[i] - truth[i];
    sum += weight_of(weight, i) * error * error;
    weights += weight_of(weight, i);
  }
  if (weights == 0) throw UserError("brier_score", str("no samples that count among ", truth.size(), "; give some with a weight"));
  return sum / weights;
}

double expected_calibration_error(const Numbers& truth, const Numbers& probability, std::int64_t bins, const Numbers& weight) {
  double apart = 0, weights = 0;
  for (const Bin& bin : filled_bins("expected_calibration_error", truth, probability, bins, Bins::uniform, weight)) {
    apart += std::abs(bin.positives - bin.probability);
    weights += bin.weight;
  }
  return apart / weights;
}

}  // namespace sinter::metric
