// The loops of Trainer: epochs, batches, evaluation.
#include <array>
#include <chrono>
#include <cmath>
#include <csignal>
#include <iomanip>
#include <iostream>
#include <numeric>
#include <sstream>

#include "frontend/core/random.h"
#include "frontend/train/progress.h"
#include "frontend/train/trainer_impl.h"

namespace sinter {

namespace {

constexpr std::int64_t evaluation_block = 1024;

std::string epoch_line(const EpochResult& r, std::int64_t epochs) {
  std::ostringstream line;
  line << "epoch " << r.epoch << "/" << epochs << ": " << std::fixed << std::setprecision(3) << r.seconds << " s, loss " << std::setprecision(4)
       << r.loss;
  if (r.accuracy) line << ", accuracy " << std::setprecision(2) << *r.accuracy * 100 << " %";
  for (const auto& [name, value] : r.metrics) line << ", " << name << " " << std::setprecision(4) << value;
  if (r.validation_loss) line << ", validation loss " << std::setprecision(4) << *r.validation_loss;
  if (r.validation_accuracy) line << ", validation accuracy " << std::setprecision(2) << *r.validation_accuracy * 100 << " %";
  for (const auto& [name, value] : r.validation_metrics) line << ", validation " << name << " " << std::setprecision(4) << value;
  return line.str();
}

/// Sums of what steps returned, in double, and the metrics.
class Tally {
 public:
  explicit Tally(std::span<const metric::Pointer> metrics) : metrics_(metrics) {
    for (const metric::Pointer& metric : metrics_) metric->reset();
  }

  /// Runs a step on some rows of the data into a fixed place, so that nothing is allocated but for metrics.
  void run(StepCore& step, const Dataset& data, const Tensor& weights, const Tensor& rows, std::size_t outputs) {
    const std::array<const Tensor*, 4> in{&data.x, &data.y, &rows, &weights};
    std::array<Tensor, 3> out;
    step.call(std::span(in.data(), weights.defined() ? 4 : 3), std::span(out.data(), outputs));
    const std::int64_t n = rows.elements();
    loss_ += out[0].item() * static_cast<double>(n);
    samples_ += n;
    counted_ = outputs - (metrics_.empty() ? 0 : 1) > 1;
    if (counted_) correct_ += out[1].item();
    if (metrics_.empty()) return;
    const Tensor y = gather_rows(data.y, rows), w = data.weights.defined() ? gather_rows(data.weights, rows) : Tensor();
    for (const metric::Pointer& metric : metrics_) metric->add(out[outputs - 1], y, w);
  }

  std::int64_t samples() const { return samples_; }
  double mean_loss() const { return loss_ / static_cast<double>(samples_); }
  std::optional<double> accuracy() const { return counted_ ? std::optional(correct_ / static_cast<double>(samples_)) : std::nullopt; }
  std::vector<std::pair<std::string, double>> metrics() const {
    std::vector<std::pair<std::string, double>> result;
    for (const metric::Pointer& metric : metrics_) result.emplace_back(metric->name(), metric->result());
    return result;
  }

 private:
  std::span<const metric::Pointer> metrics_;
  double loss_ = 0, correct_ = 0;
  std::int64_t samples_ = 0;
  bool counted_ = false;
};

/// Notes interrupts while it lives, in place of the handler that was there.
class InterruptGuard {
 public:
  explicit InterruptGuard(bool wanted) : wanted_(wanted) {
    if (!wanted_) return;
    seen_ = 0;
    struct sigaction action{};
    action.sa_handler = [](int) { seen_ = 1; };
    sigaction(SIGINT, &action, &before_);
  }
  ~InterruptGuard() {
    if (wanted_) sigaction(SIGINT, &before_, nullptr);
  }
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;
  bool interrupted() const { return wanted_ && seen_; }

 private:
  static inline volatile std::sig_atomic_t seen_ = 0;
  bool wanted_;
  struct sigaction before_{};
};

/// The data's weights times those of the classes; undefined if there are none.
Tensor weights_of(const Dataset& data, std::span<const double> class_weights) {
  if (class_weights.empty()) return data.weights;
  if (!is_index(data.y.dtype()) || data.y.rank() != 1)
    throw UserError("fit", str("class_weights need targets that are class numbers [samples], got ", data.y.type()));
  for (const double w : class_weights)
    if (!(w >= 0) || !std::isfinite(w)) throw UserError("fit", str("class_weights must be finite numbers of at least 0, got ", w));
  std::vector<float> weights =
      data.weights.defined() ? data.weights.to_vector<float>() : std::vector<float>(static_cast<std::size_t>(data.size()), 1.0f);
  const std::vector<std::int32_t> classes = cast(data.y, DType::i32).to_vector<std::int32_t>();
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (classes[i] < 0 || static_cast<std::size_t>(classes[i]) >= class_weights.size())
      throw UserError("fit", str("class_weights has ", class_weights.size(), " weights, but there is a class ", classes[i], "; give one a class"));
    weights[i] *= static_cast<float>(class_weights[static_cast<std::size_t>(classes[i])]);
  }
  return {weights, {data.size()}};
}

}  // namespace

// ---- results ----

std::vector<std::pair<std::string, double>> EpochResult::values() const {
  std::vector<std::pair<std::string, double>> result{{"loss", loss}};
  if (accuracy) result.emplace_back("accuracy", *accuracy);
  result.insert(result.end(), metrics.begin(), metrics.end());
  if (validation_loss) result.emplace_back("val_loss", *validation_loss);
  if (validation_accuracy) result.emplace_back("val_accuracy", *validation_accuracy);
  for (const auto& [name, value] : validation_metrics) result.emplace_back("val_" + name, value);
  result.emplace_back("learning_rate", learning_rate);
  result.emplace_back("seconds", seconds);
  return result;
}

double EpochResult::value(const std::string& wanted) const {
  std::string known;
  for (const auto& [name, value] : values()) {
    if (name == wanted) return value;
    known += (known.empty() ? "" : ", ") + name;
  }
  throw UserError("fit", str("an epoch has no '", wanted, "'; it has ", known));
}

// ---- steps ----

Tensor Trainer::Impl::step_weights(const Dataset& data, const Tensor& weights) {
  weighted = weighted || weights.defined();
  if (!weighted || weights.defined()) return weights;
  return Tensor::filled({DType::f32, {data.size()}}, 1);
}

std::size_t Trainer::Impl::output_count(StepCore& step, const Dataset& data) const {
  if (!model) return step.traced_graph().outputs().size();
  const bool classes = is_index(data.y.dtype()) && data.y.rank() == 1;
  if (!classes) return options.metrics.empty() ? 1 : 2;
  // Whether predictions have classes is known once a step has been recorded.
  const Spec x{{x_type->dtype, x_type->shape.with(0, Dim::batch())}, InputKind::batch};
  if (!class_predictions) {
    const Traced traced = predict->record({&x, 1});
    const Shape& shape = traced.graph.node(traced.graph.outputs()[0]).type.shape;
    class_predictions = shape.rank() == 2 && shape[1] != Dim(1);
  }
  return 1 + (*class_predictions ? 1 : 0) + (options.metrics.empty() ? 0 : 1);
}

// ---- loops ----

std::vector<EpochResult> Trainer::fit(const Dataset& data, const FitOptions& options) {
  Impl& impl = *impl_;
  if (options.epochs < 1 || options.batch_size < 1)
    throw UserError("fit", str("epochs and batch_size must be at least 1, got ", options.epochs, " and ", options.batch_size));
  if (!(options.validation_split >= 0 && options.validation_split < 1))
    throw UserError("fit", str("validation_split must be in [0, 1), got ", options.validation_split));
  impl.accept(data, "fit");
  Dataset train = data;
  std::optional<Dataset> validation = options.validation;
  if (options.validation_split > 0) {
    if (validation) throw UserError("fit", "give either validation or validation_split");
    const auto kept = data.size() - static_cast<std::int64_t>(std::llround(options.validation_split * static_cast<double>(data.size())));
    if (kept < 1 || kept == data.size())
      throw UserError("fit", str("validation_split ", options.validation_split, " leaves nothing on one side of ", data.size(), " samples"));
    train = data.slice(0, kept);
    validation = data.slice(kept, data.size());
  }
  if (validation) impl.accept(*validation, "fit, validation");
  const std::int64_t samples = train.size(), batches = (samples + options.batch_size - 1) / options.batch_size,
                     last_epoch = impl.epoch + options.epochs;
  const Tensor weights = impl.step_weights(train, weights_of(train, options.class_weights));
  const std::size_t outputs = impl.output_count(*impl.train, train);

  std::vector<std::int32_t> order(static_cast<std::size_t>(samples));
  // Row numbers of full batches and of the ragged last one, rewritten in place for each batch.
  Tensor full = impl.row_numbers(0, std::min(options.batch_size, samples)),
         ragged = samples % options.batch_size ? impl.row_numbers(0, samples % options.batch_size) : full;
  Progress progress(std::cout, options.verbose && stdout_is_terminal(), last_epoch);
  const InterruptGuard interrupts(options.stop_on_interrupt);
  impl.stopped = false;
  for (const auto& callback : options.callbacks) callback->on_train_begin(*this);
  std::vector<EpochResult> history;
  std::int64_t step = 0;
  while (impl.epoch < last_epoch && !impl.stopped) {
    const auto start = std::chrono::steady_clock::now();
    std::iota(order.begin(), order.end(), 0);
    RandomStream random(options.seed, static_cast<std::uint64_t>(impl.epoch));
    if (options.shuffle)
      for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(static_cast<std::uint32_t>(i))]);
    if (options.verbose) progress.start_epoch(impl.epoch + 1, samples);
    for (const auto& callback : options.callbacks) callback->on_epoch_begin(*this, impl.epoch + 1);
    Tally tally(impl.options.metrics);
    for (std::int64_t b = 0; b < batches && !impl.stopped; ++b) {
      const std::int64_t first = b * options.batch_size, count = std::min(options.batch_size, samples - first);
      const Tensor& rows = count == full.elements() ? full : ragged;
      std::copy_n(order.begin() + first, count, rows.view().as<std::int32_t>());
      if (options.schedule) set_learning_rate(options.schedule(step, batches * options.epochs));
      tally.run(*impl.train, train, weights, rows, outputs);
      ++step;
      if (options.verbose) progress.advance(tally.samples(), tally.mean_loss());
      for (const auto& callback : options.callbacks) callback->on_batch_end(*this, step, tally.mean_loss());
      if (interrupts.interrupted()) stop();
    }
    EpochResult result{++impl.epoch, tally.mean_loss(), tally.accuracy(), {}, {}, learning_rate(), {}, tally.metrics(), {}};
    result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (validation && !interrupts.interrupted()) {
      const Evaluation judged = evaluate(*validation);
      result.validation_loss = judged.loss;
      result.validation_accuracy = judged.accuracy;
      result.validation_metrics = judged.metrics;
    }
    if (options.verbose) progress.end_epoch(epoch_line(result, last_epoch));
    if (options.on_epoch) options.on_epoch(result);
    for (const auto& callback : options.callbacks) callback->on_epoch_end(*this, result);
    history.push_back(result);
  }
  for (const auto& callback : options.callbacks) callback->on_train_end(*this);
  return history;
}

Evaluation Trainer::evaluate(const Dataset& data) {
  Impl& impl = *impl_;
  impl.accept(data, "evaluate");
  const Tensor weights = impl.step_weights(data, data.weights);
  const std::size_t outputs = impl.output_count(*impl.evaluate, data);
  Tally tally(impl.options.metrics);
  for (std::int64_t first = 0; first < data.size(); first += evaluation_block)
    tally.run(*impl.evaluate, data, weights, impl.row_numbers(first, std::min(evaluation_block, data.size() - first)), outputs);
  return {tally.mean_loss(), tally.accuracy(), tally.metrics()};
}

double Trainer::train_on_batch(const Tensor& x, const Tensor& y) {
  const Dataset data{x, y, impl_->scale};
  impl_->accept(data, "train_on_batch");
  if (!impl_->rows.defined() || impl_->rows.elements() != data.size()) impl_->rows = impl_->row_numbers(0, data.size());
  Tally tally({});
  const std::size_t outputs = impl_->output_count(*impl_->train, data);
  tally.run(*impl_->train, data, impl_->step_weights(data, {}), impl_->rows, outputs);
  return tally.mean_loss();
}

}  // namespace sinter
