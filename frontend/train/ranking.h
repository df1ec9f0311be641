// Binary targets in the order of their scores: what curves and metrics of rankings are computed from.
#pragma once

#include <vector>

namespace sinter {

struct Scored {
  double score;  ///< not NaN
  bool yes;
  double weight;
};

/// What each threshold makes of the samples: those whose score is at least thresholds[i] are positive.
struct Ranking {
  std::vector<double> thresholds;                       ///< the different scores, falling
  std::vector<double> true_positives, false_positives;  ///< sums of weights

  /// Samples of weight 0 are left out.
  explicit Ranking(std::vector<Scored> samples);

  double positives() const { return true_positives.empty() ? 0 : true_positives.back(); }
  double negatives() const { return false_positives.empty() ? 0 : false_positives.back(); }
  /// The sum of the weights of (positive, negative) pairs that are in the right order, ties counted half.
  double ordered_pairs() const;
  /// sum (R_n - R_(n-1)) P_n over the thresholds, with precision P and recall R. `lost`: weights of positives that no threshold finds and of
  /// negatives that every threshold takes for positive.
  double average_precision(double lost_positives = 0, double lost_negatives = 0) const;
};

}  // namespace sinter
