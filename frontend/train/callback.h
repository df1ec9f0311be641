// Callbacks: code that Trainer::fit runs around its steps and epochs.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "frontend/checkpoint/saved_state.h"
#include "frontend/core/tensor.h"
#include "frontend/train/monitor_mode.h"
#include "runtime/file/disk.h"

namespace sinter {

class Trainer;
struct EpochResult;

/// Derive and override what you need. Callbacks run in the order in which FitOptions lists them; Trainer::stop() ends fit.
class Callback {
 public:
  virtual ~Callback() = default;
  virtual void on_train_begin(Trainer&) {}
  virtual void on_epoch_begin(Trainer&, std::int64_t /*epoch*/) {}
  /// After step `step` of this fit, from 1; the loss is the epoch's mean so far.
  virtual void on_batch_end(Trainer&, std::int64_t /*step*/, double /*loss*/) {}
  virtual void on_epoch_end(Trainer&, const EpochResult&) {}
  virtual void on_train_end(Trainer&) {}
  /// Values of EpochResult, by name, that it needs: fit throws UserError before the first step if there will be no such value.
  virtual std::vector<std::string> monitored() const { return {}; }
  /// Saves the state that the callback needs to resume from a checkpoint, and restores it after on_train_begin. Callbacks without state need
  /// neither.
  virtual void save(SavedState&) const {}
  virtual void restore(const SavedState&) {}
};

namespace callback {

/// A value of EpochResult that should become smaller or greater, and the best so far, over all calls of fit.
class Monitor {
 public:
  explicit Monitor(std::string name, double min_delta = 0, MonitorMode mode = MonitorMode::automatic);
  /// For on_train_begin: an automatic mode becomes that of the trainer's value of this name. Returns whether the trainer's model is that of the call
  /// before, if there was one. Throws UserError, which lists the values whose mode is known, for one whose is not.
  bool begin(const Trainer& trainer);
  /// Records the epoch's value; returns whether it beats the best by more than min_delta. Throws UserError if the epoch has no such value, and if it
  /// is not known whether smaller or greater ones are better.
  bool improved(const EpochResult& result);
  double best() const { return best_; }
  const std::string& name() const { return name_; }
  MonitorMode mode() const { return mode_; }
  /// Forgets the best.
  void reset();
  void save(SavedState& state) const;
  void restore(const SavedState& state);

 private:
  std::string name_;
  double min_delta_, best_ = 0;
  MonitorMode mode_;
  bool is_automatic_, any_ = false;
  std::optional<std::weak_ptr<const void>> model_;  ///< of the last call of begin()
};

struct EarlyStoppingOptions {
  std::string monitor = "val_loss";
  std::int64_t patience = 0;  ///< epochs without improvement that are tolerated
  double min_delta = 0;       ///< the least change that counts as an improvement
  bool restore_best = false;  ///< restore the parameters of the best epoch
  MonitorMode mode = MonitorMode::automatic;
};
/// Stops when the monitored value no longer improves on the best of all calls of fit with this model. If no epoch of a later call is better,
/// `restore_best` restores what that call began with.
class EarlyStopping : public Callback {
 public:
  explicit EarlyStopping(EarlyStoppingOptions options = {});
  void on_train_begin(Trainer& trainer) override;
  void on_epoch_end(Trainer& trainer, const EpochResult& result) override;
  void on_train_end(Trainer& trainer) override;
  std::vector<std::string> monitored() const override { return {monitor_.name()}; }
  void save(SavedState& state) const override;
  void restore(const SavedState& state) override;
  /// The best epoch, and the one after which it stopped (0: it did not).
  std::int64_t best_epoch() const { return best_epoch_; }
  std::int64_t stopped_epoch() const { return stopped_epoch_; }

 private:
  void take_parameters(const Trainer& trainer);
  EarlyStoppingOptions options_;
  Monitor monitor_;
  std::int64_t waited_ = 0, best_epoch_ = 0, stopped_epoch_ = 0;
  std::vector<Tensor> best_;  ///< values of the trainer's parameters
};

/// Saves the trainer whenever the monitored value improves on the best that this callback has seen, in whatever call of fit.
class BestCheckpoint : public Callback {
 public:
  explicit BestCheckpoint(std::string path, std::string monitor = "val_loss", MonitorMode mode = MonitorMode::automatic);
  void on_train_begin(Trainer& trainer) override;
  void on_epoch_end(Trainer& trainer, const EpochResult& result) override;
  std::vector<std::string> monitored() const override { return {monitor_.name()}; }
  void save(SavedState& state) const override;
  void restore(const SavedState& state) override;

 private:
  std::string path_;
  Monitor monitor_;
};

struct ReduceOnPlateauOptions {
  std::string monitor = "val_loss";
  double factor = 0.1;         ///< in (0, 1)
  std::int64_t patience = 10;  ///< epochs without improvement that are tolerated
  double min_delta = 1e-4;
  double min_rate = 0;
  MonitorMode mode = MonitorMode::automatic;
};
/// Multiplies the learning rate by a factor when the monitored value no longer improves on the best of all calls of fit with this model. Not to be
/// used with a schedule.
class ReduceOnPlateau : public Callback {
 public:
  explicit ReduceOnPlateau(ReduceOnPlateauOptions options = {});
  void on_train_begin(Trainer& trainer) override;
  void on_epoch_end(Trainer& trainer, const EpochResult& result) override;
  std::vector<std::string> monitored() const override { return {monitor_.name()}; }
  void save(SavedState& state) const override;
  void restore(const SavedState& state) override;

 private:
  ReduceOnPlateauOptions options_;
  Monitor monitor_;
  std::int64_t waited_ = 0;
};

/// One line per epoch: epoch and all values of EpochResult::values(), with a header. Throws UserError if the file cannot be written. A device or a
/// FIFO is written as a stream.
class CsvLog : public Callback {
 public:
  /// `append`: to an existing file, without a second header. A run that resumes from a checkpoint continues the file from there.
  explicit CsvLog(std::string path, bool append = false);
  void on_epoch_end(Trainer& trainer, const EpochResult& result) override;
  void save(SavedState& state) const override;
  void restore(const SavedState& state) override;

 private:
  runtime::AppendFile file_;
  bool append_, begun_ = false, headed_ = false;
};

}  // namespace callback
}  // namespace sinter
