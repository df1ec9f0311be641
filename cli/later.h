// Errors that are reported after the model is saved.
#pragma once

#include <sinter/sinter.h>

#include <memory>
#include <string>

namespace sinter::cli {

/// Errors of work beside the training, reported when they can no longer cost the model.
class LaterErrors {
 public:
  /// Runs `work`, and keeps the text of a UserError.
  template <class Work>
  bool attempt(const Work& work) {
    try {
      work();
      return true;
    } catch (const UserError& error) {
      text_ += (text_.empty() ? "" : "\n") + std::string(error.what());
      return false;
    }
  }
  /// Throws a UserError with all texts kept, if there are any.
  void rethrow() const {
    if (!text_.empty()) throw UserError(text_);
  }

 private:
  std::string text_;
};

/// A callback whose first error disables it but does not end training; `errors`, which must outlive it, keeps the error.
class Later : public Callback {
 public:
  Later(std::shared_ptr<Callback> callback, LaterErrors& errors) : callback_(std::move(callback)), errors_(errors) {}

  void on_train_begin(Trainer& trainer) override {
    attempt([&] { callback_->on_train_begin(trainer); });
  }
  void on_epoch_begin(Trainer& trainer, std::int64_t epoch) override {
    attempt([&] { callback_->on_epoch_begin(trainer, epoch); });
  }
  void on_batch_end(Trainer& trainer, std::int64_t step, double loss) override {
    attempt([&] { callback_->on_batch_end(trainer, step, loss); });
  }
  void on_epoch_end(Trainer& trainer, const EpochResult& result) override {
    attempt([&] { callback_->on_epoch_end(trainer, result); });
  }
  void on_train_end(Trainer& trainer) override {
    attempt([&] { callback_->on_train_end(trainer); });
  }
  void save(SavedState& state) const override { callback_->save(state); }
  void restore(const SavedState& state) override { callback_->restore(state); }

 private:
  template <class Work>
  void attempt(const Work& work) {
    works_ = works_ && errors_.attempt(work);
  }

  std::shared_ptr<Callback> callback_;
  LaterErrors& errors_;
  bool works_ = true;
};

}  // namespace sinter::cli
