// What a checkpoint and the run that resumes from it must have in common: options, data, and what the model, loss and optimizer compute.
#pragma once

#include <functional>
#include <string>

#include "frontend/checkpoint/saved_state.h"
#include "frontend/train/trainer_impl.h"

namespace sinter {

class RunIdentity {
 public:
  /// Of a call of fit, before its first step.
  RunIdentity(Trainer& trainer, Trainer::Impl& impl, const FitOptions& options, const Trainer::Impl::Extent& extent);

  /// Options, learning rates and digests of data, as numbers by name.
  const SavedState& save() const { return now_; }
  /// Throws UserError that names the first option or part of the data that is not as in `then`, what save() returned. What an older version did not
  /// save is not compared.
  void check(const SavedState& then) const;
  /// Throws UserError if model, loss or optimizer compute something else than the graphs of a checkpoint. One that another version of Sinter wrote
  /// may have other graphs for the same model: `warn` is called instead.
  void check_graphs(const runtime::Archive& then, const std::function<void(const std::string&)>& warn) const;
  /// Records this version of Sinter in a checkpoint, for check_graphs().
  static void mark_version(runtime::Archive& archive);

 private:
  std::vector<double> rates(const std::vector<double>& steps) const;

  Trainer::Impl& impl_;
  const FitOptions& options_;
  Trainer::Impl::Extent extent_;
  SavedState now_;
};

}  // namespace sinter
