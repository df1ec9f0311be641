// Predictions for programs that serve: from any thread, without allocation, and with models that are replaced while calls go on.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>

#include "frontend/serve/served_model.h"

namespace sinter::serve {

/// Predictions of a saved model, or of a trainer's as it was last published. All methods may be called from any thread at any time.
class Scorer {
 public:
  /// Loads a file that Trainer::save or `sinter train` wrote, and compiles its predictions. Throws UserError for a damaged file, a model of several
  /// inputs or outputs, and an encoder that does not fit the model.
  explicit Scorer(const std::string& path, ScorerOptions options = {});
  /// The model of a trainer, which is published once: from then on results are those of the parameters that Trainer::publish made visible last, while
  /// training goes on. The trainer may end before the scorer.
  explicit Scorer(Trainer& trainer, ScorerOptions options = {});
  Scorer(const Scorer&) = delete;
  Scorer& operator=(const Scorer&) = delete;

  /// Numbers of a sample, and of a result (ServedModel).
  std::int64_t inputs() const { return model()->inputs(); }
  std::int64_t outputs() const { return model()->outputs(); }
  /// One sample, dense row-major: probabilities of the classes, or predicted numbers as the model gives them. Allocates nothing once as many threads
  /// have called at a time. Throws UserError for spans of other sizes than inputs() and outputs().
  void score(std::span<const float> in, std::span<float> out) const { model()->score(in, out); }
  /// Any number of samples, one after another, in one call of the step.
  void score_rows(std::span<const float> in, std::span<float> out) const { model()->score_rows(in, out); }

  /// Replaces the model by that of another file, which is loaded and compiled before: calls do not wait, those under way finish with the model that
  /// they began with, and those that begin after this returns use the new one. Throws UserError, and keeps the model, for a file that cannot be
  /// served and a model of other inputs, outputs, classes or columns.
  void swap(const std::string& path);
  /// The number of the model, from 1, one more after each swap.
  std::int64_t generation() const { return model()->generation(); }
  /// The model that calls use now; whoever keeps it goes on with it after a swap.
  std::shared_ptr<const ServedModel> model() const;

 private:
  ScorerOptions options_;
  std::mutex swapping_;          ///< one swap at a time
  mutable std::mutex changing_;  ///< held while model_ is read or replaced
  std::shared_ptr<const ServedModel> model_;
};

}  // namespace sinter::serve
