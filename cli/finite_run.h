// Ends a training whose model is no longer finite, before anything of it is saved.
#pragma once

#include <sinter/sinter.h>

#include <cmath>
#include <string>
#include <vector>

namespace sinter::cli {

/// What the errors of such a training name.
struct FiniteRunOptions {
  std::string out, checkpoints;  ///< what --out and --checkpoints name
  double learning_rate = 0;
  std::int64_t checkpoint_every = 0;
  bool restores_best = false;  ///< at the end of training the best epoch so far is restored
};

/// Throws UserError for a loss or a parameter that is NaN or infinite: at the end of a batch or an epoch, before its checkpoint is written. If an
/// epoch before can be restored, training ends instead. Parameters are looked at where they are about to be saved.
class FiniteRun : public Callback {
 public:
  FiniteRun(std::vector<Parameter> parameters, FiniteRunOptions options) : parameters_(std::move(parameters)), options_(std::move(options)) {}

  void on_epoch_begin(Trainer&, std::int64_t epoch) override { can_restore_ = options_.restores_best && epoch > 1; }
  void on_batch_end(Trainer& trainer, std::int64_t step, double loss) override {
    const bool saves = options_.checkpoint_every > 0 && step % options_.checkpoint_every == 0;
    require(trainer, saves, str("after step ", step), loss);
  }
  void on_epoch_end(Trainer& trainer, const EpochResult& result) override {
    require(trainer, true, str("after epoch ", result.epoch), result.loss, result.validation_loss.value_or(0));
  }
  /// The same of the model that is about to be saved, with its loss.
  void require_saveable(double loss) const {
    if (const std::string found = fault(true, {loss}); !found.empty()) fail("at the end", found);
  }
  /// Why training ended early, for the user; empty if it did not.
  const std::string& stopped() const { return stopped_; }

 private:
  template <class... Losses>
  void require(Trainer& trainer, bool looks, const std::string& when, Losses... losses) {
    const std::string found = fault(looks, {losses...});
    if (found.empty()) return;
    if (!can_restore_) fail(when, found);
    trainer.stop();
    stopped_ = str(when, " ", found, ": training ended there, with the model of the best epoch");
  }
  /// What is not finite; empty if all is.
  std::string fault(bool looks_at_parameters, std::initializer_list<double> losses) const {
    for (const double loss : losses)
      if (!std::isfinite(loss)) return str("the loss is ", loss);
    if (!looks_at_parameters) return {};
    for (const Parameter& p : parameters_) {
      if (p.type().dtype != DType::f32) continue;
      for (const float x : p.read().to_vector<float>())
        if (!std::isfinite(x)) return str("the parameter '", p.name(), "' holds ", x);
    }
    return {};
  }
  [[noreturn]] void fail(const std::string& when, const std::string& found) const {
    throw UserError("train", str("the model must stay finite, but ", when, " ", found, "; lower --learning-rate, now ", options_.learning_rate,
                                 ". Nothing was written to ", printable(options_.out),
                                 options_.checkpoints.empty() ? "" : str("; ", printable(options_.checkpoints), " keeps the checkpoints before")));
  }

  std::vector<Parameter> parameters_;
  FiniteRunOptions options_;
  bool can_restore_ = false;
  std::string stopped_;
};

}  // namespace sinter::cli
