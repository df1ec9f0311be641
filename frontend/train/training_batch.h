// A batch within a training or evaluation step of a Trainer: what the step is given, its losses, and what it returns.
#pragma once

#include <span>
#include <vector>

#include "frontend/nn/loss.h"
#include "frontend/train/trainer_impl.h"

namespace sinter {

/// Made of the inputs of Trainer::train_step().
struct TrainingBatch {
  std::vector<Tensor> x, y;
  std::vector<Tensor> exists;  ///< of each y: which steps exist; undefined unless it is of sequences
  Tensor weights;

  TrainingBatch(std::span<const Tensor> in, const Trainer::Impl& impl);
  /// Which steps of an output count: those that its target has, or its own mask. Undefined: all.
  Tensor counted(std::size_t output, const Tensor& prediction) const;
};

/// The losses of a batch: the weighted sum, and each one.
struct BatchLoss {
  Tensor total;
  std::vector<Tensor> each;

  /// Throws UserError unless there are as many of each.
  BatchLoss(const Losses& losses, std::span<const Tensor> predictions, const TrainingBatch& batch);
};

/// What the step returns, in the order of ResultLayout.
std::vector<Tensor> results_of(const BatchLoss& loss, std::span<const Tensor> predictions, const TrainingBatch& batch, bool for_metrics);

}  // namespace sinter
