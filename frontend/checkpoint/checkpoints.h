// The checkpoints of one call of Trainer::fit.
#pragma once

#include <cstdint>
#include <future>
#include <string>
#include <vector>

#include "frontend/checkpoint/folder.h"
#include "frontend/checkpoint/identity.h"
#include "frontend/checkpoint/run_state.h"
#include "frontend/train/trainer_impl.h"

namespace sinter {

class Checkpoints {
 public:
  /// Throws UserError for options that make no sense and a folder that cannot be used.
  Checkpoints(Trainer& trainer, Trainer::Impl& impl, const FitOptions& options, const Trainer::Impl::Extent& extent);

  /// If there is a checkpoint: gives all parameters the values that they had, and returns where fit was; else returns `fresh`. Throws UserError if
  /// the checkpoint is of another model, other data or other options.
  RunState resume(RunState fresh);
  /// The callbacks' part of resume(), after their on_train_begin.
  void restore_callbacks() const;
  bool due(std::int64_t step) const { return options_.checkpoint.every_steps > 0 && step % options_.checkpoint.every_steps == 0; }
  /// Takes a copy of everything and writes it on a background thread, once the previous checkpoint is written.
  void save(const RunState& state);
  /// Waits until everything is written.
  void finish();

 private:
  void restore_parameters(const runtime::Archive& archive) const;
  void warn(const std::string& message) const;

  Trainer& trainer_;
  Trainer::Impl& impl_;
  const FitOptions& options_;
  RunIdentity identity_;
  CheckpointFolder folder_;
  SavedState callbacks_;       ///< of the checkpoint that was resumed
  std::future<void> pending_;  ///< last: its thread uses the folder
};

}  // namespace sinter
