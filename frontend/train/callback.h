// Callbacks: code that Trainer::fit runs around its steps and epochs.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "frontend/checkpoint/saved_state.h"
#include "frontend/core/tensor.h"
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

/// A value of EpochResult that should become smaller (losses and errors, by their names) or greater (all others), and the best so far.
class Monitor {
 public:
  explicit Monitor(std::string name, double min_delta = 0);
  /// Records the epoch's value; returns whether it beats the best by more than min_delta. Throws UserError if the epoch has no such value.
  bool improved(const EpochResult& result);
  double best() const { return best_; }
  const std::string& name() const { return name_; }
  void reset();
  void save(SavedState& state) const;
  void restore(const SavedState& state);

 private:
  std::string name_;
  double min_delta_, best_ = 0;
  bool smaller_, any_ = false;
};

struct EarlyStoppingOptions {
  std::string monitor = "val_loss";
  std::int64_t patience = 0;  ///< epochs without improvement that are tolerated
  double min_delta = 0;       ///< the least change that counts as an improvement
  bool restore_best = false;  ///< restore the parameters of the best epoch
};
/// Stops when the monitored value no longer improves.
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
  EarlyStoppingOptions options_;
  Monitor monitor_;
  std::int64_t waited_ = 0, best_epoch_ = 0, stopped_epoch_ = 0;
  std::vector<Tensor> best_;  ///< values of the trainer's parameters
};

/// Saves the trainer whenever the monitored value improves.
class BestCheckpoint : public Callback {
 public:
  explicit BestCheckpoint(std::string path, std::string monitor = "val_loss");
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
};
/// Multiplies the learning rate by a factor when the monitored value no longer improves. Not to be used with a schedule.
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
