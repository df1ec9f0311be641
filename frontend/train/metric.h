// Metrics: computed on the host in double from predictions and targets, batch by batch.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "frontend/checkpoint/saved_state.h"
#include "frontend/core/tensor.h"
#include "frontend/train/monitor_mode.h"

namespace sinter {

/// What a metric sees of one batch: predictions and targets, row-major, and one weight per sample (empty: all 1). A Trainer passes weights to its
/// weighted_metrics.
struct MetricBatch {
  std::int64_t samples = 0, width = 1;  ///< numbers per sample in `prediction`
  std::span<const float> prediction;
  std::int64_t target_width = 1;
  std::span<const double> target;  ///< class numbers have a width of 1
  std::span<const float> weight;

  double weight_of(std::int64_t sample) const { return weight.empty() ? 1 : static_cast<double>(weight[static_cast<std::size_t>(sample)]); }
};

class Metric {
 public:
  virtual ~Metric() = default;
  const std::string& name() const { return name_; }
  /// Whether a smaller or a greater value is better, for callbacks that monitor it; automatic: they must be told.
  MonitorMode mode() const { return mode_; }
  /// Which output of a model it judges, from 0.
  std::size_t output() const { return output_; }
  /// Judges this output from now on; its name becomes output_2_auc for number 1.
  void set_output(std::size_t number);
  virtual void reset() = 0;
  /// Throws UserError for predictions and targets that the metric cannot judge.
  virtual void update(const MetricBatch& batch) = 0;
  /// The value over all batches since reset(); NaN if there is nothing to judge.
  virtual double result() const = 0;
  /// What update() has gathered since reset(), for checkpoints in the middle of an epoch, and back. A metric that overrides neither throws UserError:
  /// with it, checkpoints can only be written at the end of an epoch.
  virtual void save(SavedState& state) const;
  virtual void restore(const SavedState& state);
  /// update() with prediction [N, ...] and target [N, ...] in memory; `weight` is [N] or undefined.
  void add(const Tensor& prediction, const Tensor& target, const Tensor& weight = {});

 protected:
  /// Throws UserError for a name that is empty, no UTF-8, too long or has control characters.
  explicit Metric(std::string name, MonitorMode mode = MonitorMode::automatic);

 private:
  std::string name_;
  MonitorMode mode_;
  std::size_t output_ = 0;
  std::vector<float> prediction_, weight_;
  std::vector<double> target_;
};

/// Whether any of them is NaN.
bool has_nan(std::span<const float> numbers);

/// Metrics: pointers, because a Trainer and its caller share them. Predictions of classes are [N, C] with class numbers or one-hot targets;
/// binary predictions are probabilities [N] or [N, 1], true where >= `threshold` (for logits: 0), with targets 0 and 1.
///
/// A prediction that is NaN is wrong. Metrics that count: a sample with a NaN among its predictions of classes is no hit, a binary prediction that is
/// NaN counts as the answer that is not the target's, and a pair with one is not in the right order. Metrics that measure errors are NaN. Infinite
/// predictions are numbers like others. A sample of weight 0 does not count, whatever its prediction is.
namespace metric {

using Pointer = std::shared_ptr<Metric>;

/// The metric times a factor, under the same name: an error of standardized targets in their own unit (data::Encoder::target_unit).
Pointer scaled(double factor, Pointer metric);
/// The metric for another output of the model; the first is number 0.
Pointer of_output(std::size_t number, Pointer metric);
/// The share of samples whose greatest prediction is the target's class.
Pointer accuracy();
/// The share of samples whose class is among the k greatest predictions.
Pointer top_k_accuracy(std::int64_t k = 5);
/// The share of predictions on the target's side of the threshold.
Pointer binary_accuracy(double threshold = 0.5);
/// The share of true targets among the positive predictions: TP / (TP + FP).
Pointer precision(double threshold = 0.5);
/// The share of positive predictions among the true targets: TP / (TP + FN).
Pointer recall(double threshold = 0.5);
/// 2 precision recall / (precision + recall).
Pointer f1(double threshold = 0.5);
/// The area under the receiver operating characteristic, exactly: the share of (positive, negative) pairs that are in the right order, ties counted
/// half (Hanley and McNeil 1982). Keeps all predictions.
Pointer auc();
/// The mean of the precisions at all thresholds, each weighted by the recall that it adds, as in scikit-learn (no interpolation). Keeps all
/// predictions. Of functions that give curves and thresholds see frontend/train/curve.h.
Pointer average_precision();
/// Mean |p - y|, mean (p - y)², and its root.
Pointer mean_absolute_error();
Pointer mean_squared_error();
Pointer root_mean_squared_error();
/// 1 - sum (p - y)² / sum (y - mean y)², over all numbers.
Pointer r2();

/// How often a class (row) was predicted as each class (column). result() is the accuracy. Takes memory for the pairs that occur.
class ConfusionMatrix : public Metric {
 public:
  /// Throws UserError for fewer than 2 classes and more than 2^31 - 1.
  explicit ConfusionMatrix(std::int64_t classes);
  void reset() override;
  void update(const MetricBatch& batch) override;
  double result() const override;
  void save(SavedState& state) const override;
  void restore(const SavedState& state) override;
  double count(std::int64_t actual, std::int64_t predicted) const;
  /// How often samples of the class had a NaN among their predictions: these were predicted as no class.
  double undecided(std::int64_t actual) const;
  /// Rows and columns with the class numbers around them, and a column of undecided samples if there are any. Throws UserError for more than 1000
  /// classes.
  std::string to_text() const;

 private:
  std::int64_t classes_;
  std::map<std::pair<std::int64_t, std::int64_t>, double> counts_;  ///< by actual and predicted class, `classes_` for undecided samples
};

}  // namespace metric
}  // namespace sinter
