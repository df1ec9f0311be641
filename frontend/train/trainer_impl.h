// The inside of Trainer, for the files that implement it.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "frontend/train/trainer.h"

namespace sinter {

struct Trainer::Impl {
  TrainerOptions options;
  std::shared_ptr<StepCore> train, evaluate, predict;
  // train, evaluate: (x table, y table, row numbers[, table of weights]) -> loss[, number correct][, predictions]; predict: x -> output
  Parameter learning_rate;
  std::vector<Parameter> loaded;  ///< all states, when loaded from a file
  nn::Module* model = nullptr;    ///< null when loaded from a file
  std::shared_ptr<optim::Optimizer> optimizer;
  std::map<std::string, std::string> metadata;  ///< the user's
  std::int64_t epoch = 0;
  bool weighted = false;  ///< a step has had weights: from then on all have
  bool stopped = false;
  bool returns_predictions = false;               ///< train and evaluate do, for metrics
  mutable std::optional<bool> class_predictions;  ///< whether a prediction is [N, classes]
  float scale = 1.0f;                             ///< of u8 features
  std::optional<Type> x_type, y_type;             ///< of the data seen first, leading dimension aside
  Tensor rows;                                    ///< 0, 1, 2, … for unshuffled batches

  /// Fixes the types at the first data and checks all further data against them.
  void accept(const Dataset& data, const char* where);
  /// Row numbers first, first + 1, … as i32 [count].
  Tensor row_numbers(std::int64_t first, std::int64_t count);
  std::vector<Spec> table_specs() const;
  /// The weights that a step on this data takes: ones, if it takes any and there are none.
  Tensor step_weights(const Dataset& data, const Tensor& weights);
  /// How many tensors train and evaluate return.
  std::size_t output_count(StepCore& step, const Dataset& data) const;
};

}  // namespace sinter
