// The loops of Trainer: epochs, batches, evaluation.
#include <chrono>
#include <cmath>
#include <iostream>
#include <numeric>

#include "frontend/checkpoint/checkpoints.h"
#include "frontend/checkpoint/data_digest.h"
#include "frontend/compile/non_finite.h"
#include "frontend/core/clock.h"
#include "frontend/core/name.h"
#include "frontend/core/nearest.h"
#include "frontend/core/random.h"
#include "frontend/core/warn.h"
#include "frontend/train/advice.h"
#include "frontend/train/epoch_result.h"
#include "frontend/train/interrupt.h"
#include "frontend/train/order.h"
#include "frontend/train/piece_queue.h"
#include "frontend/train/progress.h"
#include "frontend/train/trainer_impl.h"

namespace sinter {

namespace {

/// Sums and products of numbers of steps and epochs, of which there may be as many as a user likes: at most the greatest number.
constexpr std::int64_t endless = std::numeric_limits<std::int64_t>::max();
std::int64_t sum_of(std::int64_t a, std::int64_t b) {
  std::int64_t sum;
  return __builtin_add_overflow(a, b, &sum) ? endless : sum;
}
std::int64_t product_of(std::int64_t a, std::int64_t b) {
  std::int64_t product;
  return __builtin_mul_overflow(a, b, &product) ? endless : product;
}

void check(const FitOptions& options) {
  if (options.epochs < 1 || options.batch_size < 1)
    throw UserError("fit", str("epochs and batch_size must be at least 1, got ", options.epochs, " and ", options.batch_size));
  if (options.steps_per_epoch < 0) throw UserError("fit", str("steps_per_epoch must not be negative, got ", options.steps_per_epoch));
  if (!(options.validation_split >= 0 && options.validation_split < 1))
    throw UserError("fit", str("validation_split must be in [0, 1), got ", options.validation_split));
  if (options.bucket_batches < 0) throw UserError("fit", str("bucket_batches must not be negative, got ", options.bucket_batches));
  if (options.shuffle_buffer < 1) throw UserError("fit", str("shuffle_buffer must be at least 1 piece, got ", options.shuffle_buffer));
  for (std::size_t i = 0; i < options.validations.size(); ++i) {
    const std::string& name = options.validations[i].first;
    require_name_in_path("fit, validations", name);
    for (std::size_t k = 0; k < i; ++k)
      if (options.validations[k].first == name) throw UserError("fit", str("two validations are called '", name, "'; give each a name of its own"));
  }
  if (options.checkpoint.every_steps < 0 || options.checkpoint.keep < 1)
    throw UserError("fit", str("checkpoint.every_steps must not be negative and checkpoint.keep at least 1, got ", options.checkpoint.every_steps,
                               " and ", options.checkpoint.keep));
}

}  // namespace

// ---- steps ----

Tensor Trainer::Impl::step_weights(const Dataset& data, const Tensor& weights) {
  weighted = weighted || weights.defined();
  if (!weighted || weights.defined()) return weights;
  return Tensor::filled({DType::f32, {data.size()}}, 1);
}

std::vector<Tensor> Trainer::Impl::call_on_rows(StepCore& step, const Columns& x, std::span<const std::int32_t> samples) {
  const std::vector<Tensor> inputs = prediction_inputs(x, samples);
  std::vector<const Tensor*> in;
  for (const Tensor& input : inputs) in.push_back(&input);
  return step.call(in);
}

// ---- loops ----

namespace {

/// Throws UserError if two values of an epoch would have one name, because a validation set has the name that it has.
void require_different_names(std::vector<std::string> names, const FitOptions& fit) {
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice != names.end() && (fit.evaluate_training || !fit.validations.empty()))
    throw UserError("fit", str("two values of an epoch would be called '", *twice, "'; give the validation set or the metric another name"));
}

/// Throws UserError if a callback needs a value that the epochs of this fit will not have.
void require_monitored(const FitOptions& fit, const Tally& tally, bool validates) {
  std::vector<std::string> judged = tally.names(), known{"learning_rate", "seconds"}, prefixes{""};
  judged.emplace_back("loss");
  if (tally.accuracy() && std::find(judged.begin(), judged.end(), "accuracy") == judged.end()) judged.emplace_back("accuracy");
  if (validates) prefixes.emplace_back("val_");
  for (const auto& [name, set] : fit.validations) prefixes.push_back(prefix_of(name));
  if (fit.evaluate_training) prefixes.push_back(training_set_prefix);
  for (const std::string& prefix : prefixes)
    for (const std::string& name : judged) known.push_back(prefix + name);
  require_different_names(known, fit);
  for (const auto& callback : fit.callbacks)
    for (const std::string& name : callback->monitored())
      if (std::find(known.begin(), known.end(), name) == known.end())
        throw UserError("fit", str("a callback monitors '", name, "', which no epoch of this fit will have", nearest_hint(name, known),
                                   validates || !name.starts_with("val_") ? "" : "; give it validation data"));
}

}  // namespace

std::vector<EpochResult> Trainer::fit(const Dataset& data, const FitOptions& options) {
  check(options);
  impl_->accept(data, "fit");
  Dataset train = data;
  std::optional<Dataset> validation = options.validation;
  if (options.validation_split > 0) {
    if (validation) throw UserError("fit", "give either validation or validation_split");
    const auto kept = data.size() - static_cast<std::int64_t>(std::llround(options.validation_split * static_cast<double>(data.size())));
    if (kept < 1 || kept == data.size())
      throw UserError("fit", str("validation_split ", options.validation_split, " of ", data.size(), " samples makes one of the two parts empty"));
    train = data.slice(0, kept);
    validation = data.slice(kept, data.size());
  }
  impl_->require_batch(options.batch_size, "fit");
  impl_->require_whole_batch(train, "fit");
  const bool whole_batches = impl_->options.fixed_batch != 0;
  const std::int64_t samples = whole_batches ? train.size() / options.batch_size * options.batch_size : train.size();
  const std::int64_t steps_per_pass = divide_up(samples, std::min(samples, options.batch_size));
  const bool is_cut = options.steps_per_epoch && options.steps_per_epoch < steps_per_pass;
  const std::int64_t steps = is_cut ? options.steps_per_epoch : steps_per_pass;
  const Piece whole = prepare(std::move(train), options, "fit");
  const auto passes = [&](const Impl::From&) -> Impl::NextPiece {
    return [&whole, is_cut, given = false]() mutable { return std::exchange(given, true) && !is_cut ? std::nullopt : std::optional(whole); };
  };
  return impl_->run(*this, passes,
                    {std::min(samples, product_of(steps, options.batch_size)), product_of(steps, options.epochs), &whole.data,
                     validation ? &*validation : nullptr, is_cut ? steps_per_pass : 0},
                    options);
}

std::vector<EpochResult> Trainer::fit(const Generator& train, const FitOptions& options) {
  check(options);
  if (!train) throw UserError("fit", "the generator is empty");
  if (options.validation_split > 0) throw UserError("fit", "validation_split needs data in memory; with a generator, give validation instead");
  if (options.evaluate_training)
    throw UserError("fit", "evaluate_training needs data in memory; with a generator, give samples of it as one of the validations");
  if (options.schedule && !options.steps_per_epoch)
    throw UserError("fit", "a schedule needs to know how many steps there will be; set steps_per_epoch with a generator");
  impl_->require_batch(options.batch_size, "fit");
  if (impl_->x_types.empty() && !options.checkpoint.folder.empty() && newest_checkpoint(options.checkpoint.folder))
    if (const std::optional<Dataset> first = train(impl_->epoch + 1, 0)) impl_->accept(*first, "fit");
  PieceQueue queue(train, options);
  const auto pieces = [&](const Impl::From& from) -> Impl::NextPiece {
    queue.start(from);
    return [&] { return queue.next(); };
  };
  return impl_->run(*this, pieces,
                    {product_of(options.steps_per_epoch, options.batch_size), product_of(options.steps_per_epoch, options.epochs), nullptr,
                     options.validation ? &*options.validation : nullptr},
                    options);
}

std::vector<EpochResult> Trainer::Impl::run(Trainer& self, const Pieces& pieces, const Extent& extent, const FitOptions& fit) {
  value_prefixes = {"val_", training_set_prefix};
  const auto take = [&](const Dataset& set, const std::string& where) {
    accept(set, where.c_str());
    set.check_finite(where.c_str());
    require_whole_batch(set, where.c_str());
  };
  if (extent.validation) take(*extent.validation, "fit, validation");
  for (const auto& [name, set] : fit.validations) {
    take(set, str("fit, validation '", name, "'"));
    value_prefixes.push_back(prefix_of(name));
  }
  std::optional<Checkpoints> checkpoints;
  RunState at{.first_epoch = epoch, .epoch = epoch, .history = {}, .now = {}};
  if (!fit.checkpoint.folder.empty()) at = checkpoints.emplace(self, *this, fit, extent).resume(std::move(at));
  const std::int64_t last_epoch = sum_of(at.first_epoch, fit.epochs);
  if (at.stopped || epoch == last_epoch) {  // the run had ended
    checkpoints->restore_callbacks();
    return at.history;
  }
  Order order(fit.shuffle, fit.batch_size, options.fixed_batch != 0, fit.bucket_batches);
  std::optional<Traced> searched;
  std::optional<NonFiniteFinder> finder;  // in what was searched
  Progress progress(std::cout, fit.verbose && stdout_is_terminal(), last_epoch);
  const InterruptGuard interrupts(fit.stop_on_interrupt);
  stopped = false;
  bool interrupted = false, has_warned = false;
  ClassesOfPieces classes;
  for (const auto& callback : fit.callbacks) callback->on_train_begin(self);
  if (checkpoints && at.step) checkpoints->restore_callbacks();
  while (epoch < last_epoch && !stopped) {
    const auto start = std::chrono::steady_clock::now();
    const auto seconds = [&, before = at.now.seconds] { return before + since(start); };
    RandomStream random(fit.seed, static_cast<std::uint64_t>(epoch));
    random.go_to(static_cast<std::uint64_t>(at.now.draws));
    if (fit.verbose) progress.start_epoch(epoch + 1, extent.samples);
    for (const auto& callback : fit.callbacks) callback->on_epoch_begin(self, epoch + 1);
    std::optional<Tally> tally;
    const auto more = [&] { return !stopped && (!fit.steps_per_epoch || at.now.step < fit.steps_per_epoch); };
    const auto save_within_epoch = [&](const Dataset& piece) {
      at.now.row = order.place();
      if (!extent.data) at.now.piece_digest = digest_of(piece);
      at.now.seconds = seconds();
      at.now.tally = tally->save();
      checkpoints->save(at);
    };
    const NextPiece next = pieces({epoch + 1, last_epoch, at.now.piece, at.now.steps_before_piece});
    while (more() || !tally) {
      std::optional<Piece> piece = next();
      if (!piece) break;
      accept(piece->data, "fit");
      require_whole_batch(piece->data, "fit");
      if (at.now.row && !at.now.piece_digest.empty() && at.now.piece_digest != digest_of(piece->data))
        throw UserError("fit",
                        str("piece ", at.now.piece * fit.shuffle_buffer, " of epoch ", epoch + 1, fit.shuffle_buffer > 1 ? ", or one after it," : "",
                            " has other samples than when the checkpoint was made; a generator must give the same piece for the same numbers"));
      warn_of_outputs(piece->data, fit.batch_size);
      if (!extent.data && epoch == at.first_epoch)
        if (const std::string text = classes.look(piece->data); !text.empty()) warn(options.log, "[fit] " + text);
      piece->weights = step_weights(piece->data, piece->weights);
      if (!tally) {
        tally.emplace(layout, metrics);
        require_monitored(fit, *tally, extent.validation != nullptr);
        if (at.now.step) tally->restore(at.now.tally);
      }
      require_memory(*piece, std::min(fit.batch_size, piece->data.size()));
      if (fit.find_non_finite && !finder) finder.emplace(searched.emplace(train->record(table_specs())));
      if (extent.steps_per_pass) {  // this epoch goes on in the pass in which the last one stopped
        const std::int64_t before = epoch * fit.steps_per_epoch + at.now.step;
        random = RandomStream(fit.seed, static_cast<std::uint64_t>(before / extent.steps_per_pass));
        at.now.row = before % extent.steps_per_pass * fit.batch_size;
      }
      at.now.draws = static_cast<std::int64_t>(random.place());
      order.start(piece->data, random);
      order.skip(at.now.row);
      while (!order.done() && more()) {
        if (fit.schedule) self.set_learning_rate(fit.schedule(at.step, extent.steps));
        if (finder) finder->before();
        tally->run(*train, *piece, order.batch());
        ++at.step, ++at.now.step;
        if (finder && finder->failed(tally->results()))
          finder->report(tally->inputs(),
                         str(", in step ", at.now.step, " of epoch ", epoch + 1, "; parameters and optimizer are as before that step"));
        if (fit.verbose) progress.advance(tally->samples(), tally->mean_loss());
        for (const auto& callback : fit.callbacks) callback->on_batch_end(self, at.step, tally->mean_loss());
        interrupted = interrupts.interrupted();
        if (interrupted) self.stop();
        if (checkpoints && (interrupted || checkpoints->due(at.step))) save_within_epoch(piece->data);
      }
      ++at.now.piece;
      at.now.row = 0;
      at.now.steps_before_piece = at.now.step;
    }
    if (tally && more() && !extent.data && fit.steps_per_epoch && !std::exchange(has_warned, true))
      warn(options.log, str("epoch ", epoch + 1, " ends after ", at.now.step, " of its ", fit.steps_per_epoch, " steps: the generator has no ",
                            fit.shuffle_buffer > 1 ? str("more pieces") : str("piece ", at.now.piece),
                            "; set steps_per_epoch to 0 if its epochs may be of any length"));
    if (!tally) throw UserError("fit", str("the generator has no piece 0 in epoch ", epoch + 1, "; an epoch needs at least one"));
    EpochResult result{++epoch, tally->mean_loss(), tally->accuracy(), {}, {}, self.learning_rate(), {}, tally->metrics(), {}, {}, {}};
    result.seconds = seconds();
    if (extent.validation && !interrupted) {
      const Evaluation judged = self.evaluate(*extent.validation);
      result.validation_loss = judged.loss;
      result.validation_accuracy = judged.accuracy;
      result.validation_metrics = judged.metrics;
    }
    if (!interrupted) {
      for (const auto& [name, set] : fit.validations) result.validations.emplace_back(name, self.evaluate(set));
      if (fit.evaluate_training) result.training_set = self.evaluate(*extent.data);
    }
    if (fit.verbose) progress.end_epoch(epoch_line(result, last_epoch));
    if (fit.on_epoch) fit.on_epoch(result);
    for (const auto& callback : fit.callbacks) callback->on_epoch_end(self, result);
    at.history.push_back(result);
    at.epoch = epoch;
    at.now = {};
    if (checkpoints && epoch < last_epoch && !stopped) checkpoints->save(at);
  }
  for (const auto& callback : fit.callbacks) callback->on_train_end(self);
  if (checkpoints) {
    at.stopped = stopped;
    if (!interrupted) checkpoints->save(at);  // an interrupt has already saved one, to resume from
    checkpoints->finish();
  }
  return at.history;
}

Evaluation Trainer::evaluate(const Dataset& data) {
  Impl& impl = *impl_;
  impl.accept(data, "evaluate");
  impl.require_whole_batch(data, "evaluate");
  impl.warn_of_statistics("evaluate");
  const Piece piece{data, impl.step_weights(data, data.weights)};
  Tally tally(impl.layout, impl.metrics);
  std::int64_t nan_samples = 0;
  const std::int64_t fixed = impl.options.fixed_batch;
  for (const std::vector<std::int32_t>& block :
       blocks_of(data.x, fixed ? data.size() / fixed * fixed : data.size(), fixed ? fixed : Impl::default_block)) {
    tally.run(*impl.evaluate, piece, Tensor(block, {std::ssize(block)}));
    if (const auto counted = tally.nan_samples()) nan_samples += *counted;
    else if (!std::isfinite(tally.results()[0].item())) nan_samples += count_nan_samples(Impl::call_on_rows(*impl.predict, data.x, block));
  }
  return {tally.mean_loss(), tally.accuracy(), tally.metrics(), nan_samples};
}

double Trainer::train_on_batch(const Columns& x, const Columns& y) {
  const Dataset data{x, y, impl_->scale};
  impl_->accept(data, "train_on_batch");
  impl_->require_batch(data.size(), "train_on_batch");
  if (!impl_->rows.defined() || impl_->rows.elements() != data.size()) impl_->rows = Impl::row_numbers(0, data.size());
  Tally tally(impl_->layout, {});
  tally.run(*impl_->train, {data, impl_->step_weights(data, {})}, impl_->rows);
  return tally.mean_loss();
}

}  // namespace sinter
