// Losses: functions of predictions p and targets y, averaged over the batch.
#pragma once

#include <concepts>
#include <functional>
#include <initializer_list>
#include <string>
#include <vector>

#include "frontend/core/ops.h"
#include "frontend/core/setting.h"

namespace sinter {

/// What a loss takes the predictions for.
enum class Predictions : std::uint8_t {
  numbers,        ///< any
  logits,         ///< it applies sigmoid or softmax itself
  probabilities,  ///< in [0, 1]
  proportions     ///< at least 0: it divides those of a sample by their sum
};

/// What a Trainer should know of a loss.
struct LossOptions {
  Predictions predictions = Predictions::numbers;  ///< a Trainer warns of a model whose outputs are none
  std::vector<Setting> settings = {};              ///< for summaries
};

/// A loss: values for each sample, or each element of each sample, and their mean over the batch. Anything that can be called with (prediction,
/// target) is one; if it returns a scalar, samples cannot be weighted.
class Loss {
 public:
  using Values = std::function<Tensor(const Tensor& prediction, const Tensor& target)>;

  Loss(std::string name, Values values, LossOptions options = {})
      : name_(std::move(name)), values_(std::move(values)), options_(std::move(options)) {}
  template <class F>
    requires(!std::same_as<std::decay_t<F>, Loss> && std::convertible_to<F, Values>)
  Loss(F&& values) : Loss("loss", std::forward<F>(values)) {}  // NOLINT: any function is a loss

  /// The mean of all values: a scalar.
  Tensor operator()(const Tensor& prediction, const Tensor& target) const;
  /// The mean of values · weight, with a weight [N] for each sample. Throws UserError for another shape and for a loss without values.
  Tensor operator()(const Tensor& prediction, const Tensor& target, const Tensor& weight) const;
  /// The mean over the steps that exist, boolean [N, T], of values [N, T, ...], times the samples' weights unless they are undefined; 0 if there are
  /// none. Throws UserError as above, and if the loss has no value for each step.
  Tensor of_steps(const Tensor& prediction, const Tensor& target, const Tensor& exists, const Tensor& weight = {}) const;
  /// The values: [N, ...]. Throws UserError if prediction and target don't fit each other.
  Tensor values(const Tensor& prediction, const Tensor& target) const;
  const std::string& name() const { return name_; }
  Predictions predictions() const { return options_.predictions; }
  std::vector<Setting> settings() const { return options_.settings; }

 private:
  /// values · weight, with a weight [N] for each sample.
  Tensor weighted(const Tensor& values, const Tensor& weight) const;

  std::string name_;
  Values values_;
  LossOptions options_;
};

/// The loss of one output of a model, and its factor in the sum that is minimized.
struct OutputLoss {
  Loss loss;
  double factor = 1;
};

/// A loss for each output: `{{loss::mean_squared_error, 1}, {loss::binary_crossentropy, 0.5}}`. One loss converts to it.
class Losses {
 public:
  template <class L>
    requires std::convertible_to<L, Loss>
  Losses(L&& loss) : list_{{Loss(std::forward<L>(loss)), 1}} {}  // NOLINT: one loss is a list of losses
  /// Throws UserError for an empty list and factors that are negative or not finite.
  Losses(std::vector<OutputLoss> list);  // NOLINT
  Losses(std::initializer_list<OutputLoss> list) : Losses(std::vector<OutputLoss>(list)) {}

  std::size_t size() const { return list_.size(); }
  const OutputLoss& operator[](std::size_t i) const { return list_[i]; }

 private:
  std::vector<OutputLoss> list_;
};

namespace loss {

struct CrossentropyOptions {
  bool from_logits = false;
  float label_smoothing = 0;  ///< in [0, 1): y (1 - s) + s / classes, or y (1 - s) + s / 2 for binary targets (Szegedy et al. 2016)
};

// ---- classes: p [N, ..., C]; y one-hot f32 [N, ..., C] or class numbers (integers, [N, ...]) ----
/// -sum(y log q) with q = clip(p / sum(p), 1e-7, 1 - 1e-7), as Keras defines it for probabilities; from logits, -sum(y log_softmax(p)),
/// unclipped.
Loss categorical(CrossentropyOptions options);
extern const Loss categorical_crossentropy, categorical_crossentropy_from_logits;
/// Both for class numbers only. Throws UserError for other targets.
extern const Loss sparse_categorical_crossentropy, sparse_categorical_crossentropy_from_logits;
/// sum(y log(y / p)) with both clipped to [1e-7, 1] (Kullback and Leibler 1951), as in Keras.
extern const Loss kl_divergence;

// ---- binary targets and numbers: p and y of one shape; y [N, ...] also fits p [N, ..., 1] ----
/// -y log p - (1 - y) log(1 - p) with p clipped to [1e-7, 1 - 1e-7]; from logits p = sigmoid(logit), unclipped. y may be 0 and 1 as integers.
Loss binary(CrossentropyOptions options);
extern const Loss binary_crossentropy, binary_crossentropy_from_logits;
/// max(0, 1 - y p) with y -1 or 1, and its square.
extern const Loss hinge, squared_hinge;
/// (p - y)².
extern const Loss mean_squared_error;
/// |p - y|.
extern const Loss mean_absolute_error;
/// |p - y| / max(|y|, 1e-7), in percent, as in Keras.
extern const Loss mean_absolute_percentage_error;
/// (log(1 + p) - log(1 + y))² with both at least 0.
extern const Loss mean_squared_logarithmic_error;
/// (p - y)² / 2 where |p - y| <= delta, else delta (|p - y| - delta / 2) (Huber 1964).
Loss huber(float delta = 1);
/// log(cosh(p - y)).
extern const Loss log_cosh;
/// p - y log(p + 1e-7).
extern const Loss poisson;
/// 1 - p · y / (|p| |y|) over the last axis.
extern const Loss cosine_distance;

/// factor · sum over the parameters of sum(w²), to be added to a loss.
Tensor l2(float factor, const std::vector<Parameter>& parameters);

}  // namespace loss
}  // namespace sinter
