// The results of a Trainer's training and evaluation steps, and their sums.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "frontend/compile/step.h"
#include "frontend/train/batch_inputs.h"
#include "frontend/train/metric.h"

namespace sinter {

/// What is known of an output of a model.
struct OutputTypes {
  Type prediction, target;
  bool is_masked = false;  ///< only the steps that a mask has count: targets that are sequences, or predictions with a mask
};

/// The order of the tensors that a step returns: the loss first; then for each output of the model its own loss, if there are several outputs, the
/// number of steps that count, if it is masked, the number of correct predictions, if its targets are class numbers, and, if there are metrics, the
/// predictions and which steps of them count.
struct ResultLayout {
  struct Output {
    std::optional<std::size_t> loss, counted, correct, prediction, exists;
    bool in_steps = false;        ///< a prediction for each step of a sample: a mask says which count, or targets are class numbers [N, ...]
    std::int64_t per_sample = 1;  ///< predictions that are right or wrong, unless it is masked
  };
  std::vector<Output> outputs;
  std::size_t count = 1;

  ResultLayout() = default;
  ResultLayout(std::span<const OutputTypes> of, bool metrics);
  /// All but predictions and which steps of them count.
  std::vector<std::size_t> results() const;
};

/// How many samples have a NaN among their predictions [N, ...], of any output.
std::int64_t count_nan_samples(std::span<const Tensor> predictions);
/// A metric of a Trainer.
struct NamedMetric {
  metric::Pointer metric;
  std::string name;       ///< of its column
  bool weighted = false;  ///< by the weights of the samples
};
/// The metrics of TrainerOptions: those of weighted_metrics are named weighted_auc, and of several of one name the second becomes auc_2. Throws
/// UserError for a null metric, one that is listed twice, and one whose output does not exist.
std::vector<NamedMetric> named_metrics(std::span<const metric::Pointer> metrics, std::span<const metric::Pointer> weighted, std::size_t outputs);

/// Sums of what steps returned, in double, and the metrics.
class Tally {
 public:
  Tally(const ResultLayout& layout, std::span<const NamedMetric> metrics);

  /// Runs a step on some rows of the data. Allocates only for metrics.
  void run(StepCore& step, const Piece& piece, const Tensor& rows);
  /// How many of the samples of the last run have a NaN among their predictions; nothing if it returned none.
  std::optional<std::int64_t> nan_samples() const;
  /// The inputs and results of the last run.
  std::span<const Tensor* const> inputs() const { return inputs_.list(); }
  std::span<const Tensor> results() const { return out_; }

  /// Sums and metrics, for a checkpoint in the middle of an epoch.
  SavedState save() const;
  void restore(const SavedState& state);

  std::int64_t samples() const { return samples_; }
  /// Over samples; of a model with one output that is masked, over the steps that count.
  double mean_loss() const { return loss_ / (counted_.size() == 1 ? counted_[0] : static_cast<double>(samples_)); }
  /// For a model of one output, if its targets are class numbers.
  std::optional<double> accuracy() const;
  /// The names of metrics().
  std::vector<std::string> names() const;
  /// The metrics by name; with several outputs, each one's loss and accuracy first: output_1_loss, output_1_accuracy, unless a metric has that name.
  std::vector<std::pair<std::string, double>> metrics() const;

 private:
  /// Gives a metric what the last run returned.
  void judge(const NamedMetric& judged, const Piece& piece) const;
  /// Of a model of several outputs: whether the number of correct predictions is a column of its own.
  bool shows_accuracy(std::size_t output) const;

  const ResultLayout& layout_;
  std::span<const NamedMetric> metrics_;
  BatchInputs inputs_;
  std::vector<Tensor> out_;
  double loss_ = 0;
  std::vector<double> losses_, correct_, counted_;  ///< one per output; counted_: what losses and accuracies are means over
  std::int64_t samples_ = 0;
};

}  // namespace sinter
