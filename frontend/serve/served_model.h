// A model as a Scorer serves it: its compiled predictions, and what turns records into its inputs.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "frontend/compile/step.h"
#include "frontend/data/encoder.h"
#include "frontend/train/trainer.h"

namespace sinter::serve {

struct ScorerOptions {
  Mode mode = Mode::graph;
  int threads = 1;                                   ///< of one call; 0: as many as are worth it. Callers on several threads need no more than 1
  std::function<void(const std::string&)> log = {};  ///< receives warnings
};

/// One model, which does not change, but for what a trainer publishes. Any number of threads may call it; each borrows a copy of the step, with
/// memory of its own, from a pool. No call allocates once there are as many copies as callers at a time, and each has had as many rows.
class ServedModel {
 public:
  /// Compiles the predictions. `where` is what errors name: the file. Throws UserError for a model of several inputs or outputs, or of whole numbers,
  /// and for an encoder (metadata "encoder") that does not fit it.
  ServedModel(Trainer& trainer, const std::string& where, std::int64_t generation, const ScorerOptions& options);
  ~ServedModel();
  ServedModel(const ServedModel&) = delete;
  ServedModel& operator=(const ServedModel&) = delete;

  /// 1 for the first model of a Scorer, and one more after each swap.
  std::int64_t generation() const { return generation_; }
  /// Numbers of a sample, as the model takes them, and of a result: the probabilities of the classes, the predicted numbers, or the error of a model
  /// that reproduces its samples (metadata "task": "self"), the mean of the squared differences.
  std::int64_t inputs() const { return inputs_; }
  std::int64_t outputs() const { return outputs_; }
  /// What makes the inputs of a record; none if the model was trained on arrays.
  const std::optional<data::Encoder>& encoder() const { return encoder_; }
  /// The classes whose probabilities are the result, in their order; none for a model of numbers. Without an encoder they are numbered from 0.
  const std::vector<std::string>& classes() const { return classes_; }
  /// A result that is a number, in the unit of the target: number · unit() + offset().
  double unit() const { return unit_; }
  double offset() const { return offset_; }

  /// One sample, dense row-major. Throws UserError for spans of other sizes than inputs() and outputs().
  void score(std::span<const float> in, std::span<float> out) const;
  /// Any number of samples, one after another, in one call of the step: the same bytes as one by one.
  void score_rows(std::span<const float> in, std::span<float> out) const;

 private:
  class Pool;

  std::int64_t generation_, inputs_ = 0, outputs_ = 0;
  std::optional<data::Encoder> encoder_;
  std::vector<std::string> classes_;
  double unit_ = 1, offset_ = 0;
  std::unique_ptr<Pool> pool_;
};

}  // namespace sinter::serve
