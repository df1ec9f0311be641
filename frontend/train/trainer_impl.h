// The inside of Trainer, for the files that implement it.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "frontend/train/trainer.h"

namespace sinter {

struct Trainer::Impl {
  TrainerOptions options;
  std::shared_ptr<StepCore> train, evaluate, predict;  ///< train, evaluate: (x table, y table, row numbers) -> loss[, correct]; predict: x -> output
  Parameter learning_rate;
  std::vector<Parameter> loaded;  ///< all states, when loaded from a file
  nn::Module* model = nullptr;    ///< null when loaded from a file
  std::shared_ptr<optim::Optimizer> optimizer;
  std::int64_t epoch = 0;
  float scale = 1.0f;                  ///< of u8 features
  std::optional<Type> x_type, y_type;  ///< of the data seen first, leading dimension aside
  Tensor rows;                         ///< 0, 1, 2, … for unshuffled batches

  /// Fixes the types at the first data and checks all further data against them.
  void accept(const Dataset& data, const char* where);
  /// Row numbers first, first + 1, … as i32 [count].
  Tensor row_numbers(std::int64_t first, std::int64_t count);
  std::vector<Spec> table_specs() const;
};

}  // namespace sinter
