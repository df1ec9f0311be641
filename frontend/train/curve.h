// Curves of a binary classifier by threshold, its calibration, and the choice of the threshold; in double, with scikit-learn's definitions.
#pragma once

#include <functional>
#include <initializer_list>
#include <optional>
#include <type_traits>
#include <vector>

#include "frontend/core/arg.h"

/// Functions below take the truth (0 or 1), a score for each sample (greater: more likely 1), and optional weights, of one length n. A sample is
/// predicted to be positive if its score is at least the threshold; equal scores are one threshold; samples of weight 0 do not count. They throw
/// UserError for sizes that differ, labels other than 0 and 1, scores that are NaN, weights that are negative or not finite, and data without
/// positives or negatives where the result would be undefined.
namespace sinter::metric {

/// Numbers in double: of a tensor of any shape and element type, in row-major order, or of a vector.
class Numbers {
 public:
  Numbers() = default;
  Numbers(const Tensor& tensor);  // NOLINT: none if it is undefined
  template <HasArray T>
  Numbers(const T& has) : Numbers(has.array()) {}  // NOLINT
  Numbers(std::initializer_list<double> numbers) : numbers_(numbers) {}
  template <class T>
    requires std::is_arithmetic_v<T>
  Numbers(const std::vector<T>& numbers) : numbers_(numbers.begin(), numbers.end()) {}  // NOLINT
  std::size_t size() const { return numbers_.size(); }
  bool empty() const { return numbers_.empty(); }
  double operator[](std::size_t i) const { return numbers_[i]; }

 private:
  std::vector<double> numbers_;
};

/// By falling threshold, from infinity, where nothing is positive: false positives / negatives and true positives / positives.
struct RocCurve {
  std::vector<double> fpr, tpr, thresholds;
};
/// `drop_intermediate`: without thresholds that lie on a straight line between their neighbours.
RocCurve roc_curve(const Numbers& truth, const Numbers& score, const Numbers& weight = {}, bool drop_intermediate = false);

/// By rising threshold: true positives / predicted positives and true positives / positives; behind these, precision 1 and recall 0 without a
/// threshold.
struct PrecisionRecallCurve {
  std::vector<double> precision, recall, thresholds;
};
/// Needs positives.
PrecisionRecallCurve precision_recall_curve(const Numbers& truth, const Numbers& score, const Numbers& weight = {});

/// sum (R_n - R_(n-1)) P_n over falling thresholds, with precision P and recall R: no interpolation. Needs positives.
double average_precision(const Numbers& truth, const Numbers& score, const Numbers& weight = {});

/// The area under the points by the trapezoidal rule: of a RocCurve's fpr and tpr, the AUC. Throws UserError for less than two points, and for x that
/// neither rise nor fall throughout.
double area_under(const Numbers& x, const Numbers& y);

enum class Bins : std::uint8_t { uniform, quantile };  ///< of equal width in [0, 1], or of about equally many samples

/// Bins that have samples, by rising probability: the share of positives, the mean of the predicted probabilities and the sum of the weights.
struct CalibrationCurve {
  std::vector<double> prob_true, prob_pred, weight;
};
/// Probabilities are in [0, 1]; a bin includes its upper end. The ends of quantile bins are those of NumPy's percentile and regard no weights. Throws
/// UserError for probabilities outside of [0, 1] and less than 1 or more than 2^20 bins.
CalibrationCurve calibration_curve(const Numbers& truth, const Numbers& probability, std::int64_t bins = 10, Bins strategy = Bins::uniform,
                                   const Numbers& weight = {});
/// The mean of (probability - truth)² (Brier 1950).
double brier_score(const Numbers& truth, const Numbers& probability, const Numbers& weight = {});
/// The mean over samples of |share of positives - mean probability| of their bin, of equal width (Naeini et al. 2015). For several classes the truth
/// is whether the predicted class is right, and the probability that of the predicted class (Guo et al. 2017).
double expected_calibration_error(const Numbers& truth, const Numbers& probability, std::int64_t bins = 10, const Numbers& weight = {});

/// Sums of the weights of the samples, by truth and prediction at a threshold.
struct BinaryCounts {
  double true_positives = 0, false_positives = 0, false_negatives = 0, true_negatives = 0;

  double positives() const { return true_positives + false_negatives; }
  double negatives() const { return false_positives + true_negatives; }
  /// 0 where nothing is predicted to be positive.
  double precision() const;
  double recall() const { return true_positives / positives(); }
  double false_positive_rate() const { return false_positives / negatives(); }
  /// (1 + beta²) precision recall / (beta² precision + recall): recall counts beta times as much as precision (van Rijsbergen 1979).
  double f_score(double beta = 1) const;
};

/// What a threshold is worth: the greater the better; NaN: not allowed.
using Goal = std::function<double(const BinaryCounts&)>;
namespace goal {

struct CostOptions {
  double false_positive = 1, false_negative = 1;  ///< cost of one
  std::optional<double> prevalence = {};          ///< the share of positives where the classifier is to be used, in (0, 1); none: that of the data
};

/// Greatest f_score. Throws UserError unless beta is positive.
Goal f_score(double beta = 1);
/// Least mean cost of a sample; the goal's value is its negative. Throws UserError for negative costs and a prevalence outside of (0, 1).
Goal cost(const CostOptions& options);
/// Greatest recall - false positive rate (Youden 1950).
Goal youden();
/// Greatest precision where the recall is at least this, and greatest recall where the precision is at least this. Throw UserError outside of [0, 1].
Goal precision_at_recall(double least_recall);
Goal recall_at_precision(double least_precision);

}  // namespace goal

struct Threshold {
  double threshold = 0;  ///< infinite: best is to predict no positive
  double value = 0;      ///< of the goal
  BinaryCounts counts = {};
};
/// The best of infinity and all scores by a goal; of equally good ones the greatest. Throws UserError if the goal allows none.
Threshold best_threshold(const Numbers& truth, const Numbers& score, const Goal& goal, const Numbers& weight = {});

}  // namespace sinter::metric
