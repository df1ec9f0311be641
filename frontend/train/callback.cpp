#include "frontend/train/callback.h"

#include <cmath>
#include <utility>

#include "frontend/train/trainer.h"

namespace sinter::callback {

// ---- monitor ----

Monitor::Monitor(std::string name, double min_delta, MonitorMode mode)
    : name_(std::move(name)),
      min_delta_(min_delta),
      mode_(mode == MonitorMode::automatic ? mode_of_value(name_) : mode),
      is_automatic_(mode == MonitorMode::automatic) {
  if (!(min_delta >= 0)) throw UserError("callback", str("min_delta must be at least 0, got ", min_delta));
}

void Monitor::reset() { any_ = false; }

bool Monitor::begin(const Trainer& trainer) {
  if (is_automatic_) mode_ = trainer.monitor_mode(name_);
  const std::weak_ptr<const void> model = trainer.parameters().front().cell();
  const bool is_same = !model_ || (!model_->owner_before(model) && !model.owner_before(*model_));
  model_ = model;
  return is_same;
}

bool Monitor::improved(const EpochResult& result) {
  const double value = result.value(name_);
  if (mode_ == MonitorMode::automatic)
    throw UserError("callback", str("it is not known whether a smaller or a greater '", name_, "' is better; give MonitorMode::min or max"));
  if (std::isnan(value)) return false;
  const bool better = !any_ || (mode_ == MonitorMode::min ? value < best_ - min_delta_ : value > best_ + min_delta_);
  if (better) best_ = value;
  any_ = true;
  return better;
}

void Monitor::save(SavedState& state) const {
  if (any_) state.set("best", best_);
}

void Monitor::restore(const SavedState& state) {
  any_ = state.has("best");
  if (any_) best_ = state.number("best");
}

namespace {
constexpr std::int64_t most_epochs = std::int64_t{1} << 53;

void require_patience(const char* where, std::int64_t patience) {
  if (patience < 0) throw UserError(where, str("patience must not be negative, got ", patience));
}
}  // namespace

// ---- early stopping ----

EarlyStopping::EarlyStopping(EarlyStoppingOptions options) : options_(options), monitor_(options.monitor, options.min_delta, options.mode) {
  require_patience("EarlyStopping", options.patience);
}

void EarlyStopping::on_train_begin(Trainer& trainer) {
  if (!monitor_.begin(trainer)) {
    monitor_.reset();
    best_epoch_ = 0;
  }
  waited_ = stopped_epoch_ = 0;
  best_.clear();
  if (options_.restore_best && best_epoch_ > 0) take_parameters(trainer);
}

void EarlyStopping::take_parameters(const Trainer& trainer) {
  best_.clear();
  for (const Parameter& p : trainer.parameters()) best_.push_back(p);
}

void EarlyStopping::on_epoch_end(Trainer& trainer, const EpochResult& result) {
  if (monitor_.improved(result)) {
    waited_ = 0;
    best_epoch_ = result.epoch;
    if (options_.restore_best) take_parameters(trainer);
    return;
  }
  if (++waited_ <= options_.patience) return;
  stopped_epoch_ = result.epoch;
  trainer.stop();
}

void EarlyStopping::on_train_end(Trainer& trainer) {
  const std::vector<Parameter> parameters = trainer.parameters();
  if (best_.size() > parameters.size())  // from a checkpoint
    throw UserError("EarlyStopping", str("has ", best_.size(), " parameters to restore, the trainer has ", parameters.size()));
  for (std::size_t i = 0; i < best_.size(); ++i) parameters[i].assign(best_[i]);
  best_.clear();
}

void EarlyStopping::save(SavedState& state) const {
  monitor_.save(state);
  state.set("waited", static_cast<double>(waited_));
  state.set("best_epoch", static_cast<double>(best_epoch_));
  state.set("stopped_epoch", static_cast<double>(stopped_epoch_));
  for (std::size_t i = 0; i < best_.size(); ++i) state.set(str("parameter.", i), best_[i]);
}

void EarlyStopping::restore(const SavedState& state) {
  monitor_.restore(state);
  waited_ = state.integer("waited", 0, most_epochs);
  best_epoch_ = state.integer("best_epoch", 0, most_epochs);
  stopped_epoch_ = state.integer("stopped_epoch", 0, most_epochs);
  best_.clear();
  while (state.has(str("parameter.", best_.size()))) best_.push_back(state.tensor(str("parameter.", best_.size())));
}

// ---- checkpoint ----

BestCheckpoint::BestCheckpoint(std::string path, std::string monitor, MonitorMode mode)
    : path_(std::move(path)), monitor_(std::move(monitor), 0, mode) {
  if (path_.empty()) throw UserError("BestCheckpoint", "the path is empty");
  const runtime::AtomicFile probe(path_);  // reports errors in the path before training
}
void BestCheckpoint::on_train_begin(Trainer& trainer) { (void)monitor_.begin(trainer); }
void BestCheckpoint::on_epoch_end(Trainer& trainer, const EpochResult& result) {
  if (monitor_.improved(result)) trainer.save(path_);
}
void BestCheckpoint::save(SavedState& state) const { monitor_.save(state); }
void BestCheckpoint::restore(const SavedState& state) { monitor_.restore(state); }

// ---- plateau ----

ReduceOnPlateau::ReduceOnPlateau(ReduceOnPlateauOptions options) : options_(options), monitor_(options.monitor, options.min_delta, options.mode) {
  require_patience("ReduceOnPlateau", options.patience);
  if (!(options.factor > 0 && options.factor < 1))
    throw UserError("ReduceOnPlateau", str("the factor must be between 0 and 1, got ", options.factor));
  if (!(options.min_rate >= 0)) throw UserError("ReduceOnPlateau", str("min_rate must be at least 0, got ", options.min_rate));
}

void ReduceOnPlateau::on_train_begin(Trainer& trainer) {
  if (!monitor_.begin(trainer)) monitor_.reset();
  waited_ = 0;
}

void ReduceOnPlateau::on_epoch_end(Trainer& trainer, const EpochResult& result) {
  if (monitor_.improved(result)) {
    waited_ = 0;
  } else if (++waited_ > options_.patience) {
    waited_ = 0;
    const double rate = static_cast<double>(trainer.learning_rate()), reduced = std::max(options_.min_rate, rate * options_.factor);
    if (reduced < rate) trainer.set_learning_rate(static_cast<float>(reduced));
  }
}

void ReduceOnPlateau::save(SavedState& state) const {
  monitor_.save(state);
  state.set("waited", static_cast<double>(waited_));
}

void ReduceOnPlateau::restore(const SavedState& state) {
  monitor_.restore(state);
  waited_ = state.integer("waited", 0, most_epochs);
}

// ---- csv ----

CsvLog::CsvLog(std::string path, bool append) : file_(std::move(path)), append_(append) {}

void CsvLog::save(SavedState& state) const {
  if (begun_) state.set("bytes", static_cast<double>(file_.size()));
}

void CsvLog::restore(const SavedState& state) {
  if (!state.has("bytes")) return;
  const auto bytes = static_cast<std::uint64_t>(state.integer("bytes", 0, std::int64_t{1} << 53));
  if (file_.size() > bytes) file_.cut(bytes);
  begun_ = true;
}

void CsvLog::on_epoch_end(Trainer&, const EpochResult& result) {
  if (!std::exchange(begun_, true) && !append_) file_.cut(0);
  const auto values = result.values();
  TextStream text;
  text.precision(9);
  if (!std::exchange(headed_, true) && file_.size() == 0) {
    text << "epoch";
    for (const auto& [name, value] : values) text << "," << name;
    text << "\n";
  }
  text << result.epoch;
  for (const auto& [name, value] : values) text << "," << value;
  text << "\n";
  file_.write(text.str());
}

}  // namespace sinter::callback
