#include "frontend/train/trainer.h"

#include <chrono>
#include <iomanip>
#include <iostream>
#include <numeric>
#include <sstream>

#include "frontend/compile/variant.h"
#include "frontend/core/grad.h"
#include "frontend/core/random.h"
#include "frontend/train/progress.h"
#include "frontend/train/trainer_impl.h"

namespace sinter {

namespace {

constexpr std::int64_t evaluation_block = 1024;

/// Features as the model takes them.
Tensor features(const Tensor& x, float scale) { return x.dtype() == DType::u8 ? cast(x, DType::f32) * scale : x; }

bool has_class_numbers(const Tensor& y) { return is_index(y.dtype()) && y.rank() == 1; }

/// {loss} or, where the targets are class numbers, {loss, number of correct predictions}.
std::vector<Tensor> with_correct(const Tensor& loss, const Tensor& prediction, const Tensor& y) {
  if (!has_class_numbers(y) || prediction.rank() != 2) return {loss};
  return {loss, sum(cast(equal(argmax(prediction), cast(y, DType::i32)), DType::f32))};
}

std::string epoch_line(const EpochResult& r, std::int64_t epochs) {
  std::ostringstream line;
  line << "epoch " << r.epoch << "/" << epochs << ": " << std::fixed << std::setprecision(3) << r.seconds << " s, loss " << std::setprecision(4)
       << r.loss;
  if (r.accuracy) line << ", accuracy " << std::setprecision(2) << *r.accuracy * 100 << " %";
  if (r.validation_loss) line << ", validation loss " << std::setprecision(4) << *r.validation_loss;
  if (r.validation_accuracy) line << ", validation accuracy " << std::setprecision(2) << *r.validation_accuracy * 100 << " %";
  return line.str();
}

/// Sums of what a step returned, in double.
struct Totals {
  double loss = 0, correct = 0;
  std::int64_t samples = 0;
  bool counted = false;

  void add(std::span<const Tensor> out, std::int64_t n) {
    loss += out[0].item() * static_cast<double>(n);
    samples += n;
    if (out.size() > 1) {
      correct += out[1].item();
      counted = true;
    }
  }
  double mean_loss() const { return loss / static_cast<double>(samples); }
  std::optional<double> accuracy() const { return counted ? std::optional(correct / static_cast<double>(samples)) : std::nullopt; }
};

/// Runs a (tables, row numbers) step into a fixed place, so that nothing is allocated.
void run_step(StepCore& step, const Dataset& data, const Tensor& rows, bool counted, Totals& totals) {
  const std::array<const Tensor*, 3> in{&data.x, &data.y, &rows};
  std::array<Tensor, 2> out;
  const std::span<Tensor> used(out.data(), counted ? 2 : 1);
  step.call(in, used);
  totals.add(used, rows.elements());
}

}  // namespace

Trainer::Trainer(nn::Module& model, LossFunction loss, std::shared_ptr<optim::Optimizer> optimizer, TrainerOptions options)
    : impl_(std::make_unique<Impl>()) {
  Impl* impl = impl_.get();
  impl->options = options;
  impl->model = &model;
  impl->optimizer = optimizer;
  impl->learning_rate = optimizer->learning_rate();
  const auto step = [&](const char* name, StepCore::Function function, std::vector<InputKind> kinds) {
    return std::make_shared<StepCore>(std::move(function),
                                      StepOptions{name, options.mode, options.threads, options.force, std::move(kinds), options.log},
                                      std::source_location::current());
  };
  const std::vector<InputKind> tables{InputKind::table, InputKind::table, InputKind::batch};
  impl->train = step(
      "train",
      [impl, &model, loss, optimizer, regularizer = options.regularizer](std::span<const Tensor> in) -> std::vector<Tensor> {
        const nn::TrainingScope training;
        const Tensor y = gather_rows(in[1], in[2]);
        const Tensor prediction = model(features(gather_rows(in[0], in[2]), impl->scale));
        Tensor total = loss(prediction, y);
        if (regularizer) total = total + regularizer();
        if (const Tensor penalty = model.penalty(); penalty.defined()) total = total + penalty;
        const std::vector<Parameter> parameters = model.trainable_parameters();
        std::vector<Tensor> results = with_correct(total, prediction, y);
        optimizer->update(parameters, grad(total, parameters));
        return results;
      },
      tables);
  impl->evaluate = step(
      "evaluate",
      [impl, &model, loss](std::span<const Tensor> in) {
        const Tensor y = gather_rows(in[1], in[2]);
        const Tensor prediction = model(features(gather_rows(in[0], in[2]), impl->scale));
        return with_correct(loss(prediction, y), prediction, y);
      },
      tables);
  impl->predict =
      step("predict", [impl, &model](std::span<const Tensor> in) { return std::vector<Tensor>{model(features(in[0], impl->scale))}; }, {});
}

Trainer::Trainer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Trainer::~Trainer() = default;
Trainer::Trainer(Trainer&&) noexcept = default;
Trainer& Trainer::operator=(Trainer&&) noexcept = default;

// ---- data ----

void Trainer::Impl::accept(const Dataset& data, const char* where) {
  data.check(where);
  if (!x_type) {
    x_type = data.x.type();
    y_type = data.y.type();
    if (model) scale = data.scale;
    return;
  }
  const auto check = [&](const char* what, const Type& type, const Type& known) {
    if (!sinter::accepts({what, known, InputKind::table}, type))
      throw UserError(where, str("the first data had ", what, " of ", known, " (samples first), now they are ", type));
  };
  check("x", data.x.type(), *x_type);
  check("y", data.y.type(), *y_type);
  if (x_type->dtype == DType::u8 && data.scale != scale) throw UserError(where, str("the first data had scale ", scale, ", now it is ", data.scale));
}

Tensor Trainer::Impl::row_numbers(std::int64_t first, std::int64_t count) {
  std::vector<std::int32_t> numbers(static_cast<std::size_t>(count));
  std::iota(numbers.begin(), numbers.end(), static_cast<std::int32_t>(first));
  return Tensor(numbers, {count});
}

std::vector<Spec> Trainer::Impl::table_specs() const {
  const auto table = [](const Type& type) { return Spec{{type.dtype, type.shape.with(0, Dim::rows())}, InputKind::table}; };
  return {table(*x_type), table(*y_type), Spec::batch(DType::i32, {})};
}

// ---- loops ----

std::vector<EpochResult> Trainer::fit(const Dataset& train, const FitOptions& options) {
  Impl& impl = *impl_;
  if (options.epochs < 1 || options.batch_size < 1)
    throw UserError("fit", str("epochs and batch_size must be at least 1, got ", options.epochs, " and ", options.batch_size));
  impl.accept(train, "fit");
  if (options.validation) impl.accept(*options.validation, "fit, validation");
  const std::int64_t samples = train.size(), batches = (samples + options.batch_size - 1) / options.batch_size,
                     last_epoch = impl.epoch + options.epochs;
  const bool counted = has_class_numbers(train.y);

  std::vector<std::int32_t> order(static_cast<std::size_t>(samples));
  // Row numbers of full batches and of the ragged last one, rewritten in place for each batch.
  Tensor full = impl.row_numbers(0, std::min(options.batch_size, samples)),
         ragged = samples % options.batch_size ? impl.row_numbers(0, samples % options.batch_size) : full;
  Progress progress(std::cout, options.verbose && stdout_is_terminal(), last_epoch);
  std::vector<EpochResult> history;
  std::int64_t step = 0;
  while (impl.epoch < last_epoch) {
    const auto start = std::chrono::steady_clock::now();
    std::iota(order.begin(), order.end(), 0);
    RandomStream random(options.seed, static_cast<std::uint64_t>(impl.epoch));
    if (options.shuffle)
      for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(static_cast<std::uint32_t>(i))]);
    if (options.verbose) progress.start_epoch(impl.epoch + 1, samples);
    Totals totals;
    for (std::int64_t b = 0; b < batches; ++b) {
      const std::int64_t first = b * options.batch_size, count = std::min(options.batch_size, samples - first);
      const Tensor& rows = count == full.elements() ? full : ragged;
      std::copy_n(order.begin() + first, count, rows.view().as<std::int32_t>());
      if (options.schedule) set_learning_rate(options.schedule(step, batches * options.epochs));
      run_step(*impl.train, train, rows, counted, totals);
      ++step;
      if (options.verbose) progress.advance(totals.samples, totals.mean_loss());
    }
    EpochResult result{
        ++impl.epoch, totals.mean_loss(), totals.accuracy(), {}, {}, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count()};
    if (options.validation) {
      const Evaluation validation = evaluate(*options.validation);
      result.validation_loss = validation.loss;
      result.validation_accuracy = validation.accuracy;
    }
    if (options.verbose) progress.end_epoch(epoch_line(result, last_epoch));
    if (options.on_epoch) options.on_epoch(result);
    history.push_back(result);
  }
  return history;
}

Evaluation Trainer::evaluate(const Dataset& data) {
  Impl& impl = *impl_;
  impl.accept(data, "evaluate");
  Totals totals;
  for (std::int64_t first = 0; first < data.size(); first += evaluation_block)
    run_step(*impl.evaluate, data, impl.row_numbers(first, std::min(evaluation_block, data.size() - first)), has_class_numbers(data.y), totals);
  return {totals.mean_loss(), totals.accuracy()};
}

Tensor Trainer::predict(const Tensor& x) {
  const Tensor* in = &x;
  return std::move(impl_->predict->call({&in, 1})[0]);
}

void Trainer::predict_one(std::span<const float> in, std::span<float> out) { impl_->predict->call_one(in, out); }

double Trainer::train_on_batch(const Tensor& x, const Tensor& y) {
  const Dataset data{x, y, impl_->scale};
  impl_->accept(data, "train_on_batch");
  if (!impl_->rows.defined() || impl_->rows.elements() != data.size()) impl_->rows = impl_->row_numbers(0, data.size());
  Totals totals;
  run_step(*impl_->train, data, impl_->rows, has_class_numbers(y), totals);
  return totals.mean_loss();
}

void Trainer::set_mode(Mode mode) {
  impl_->options.mode = mode;
  for (const auto& step : {impl_->train, impl_->evaluate, impl_->predict}) step->set_mode(mode);
}

void Trainer::set_learning_rate(float rate) {
  if (!(rate >= 0) || rate > 3e38f) throw UserError("Trainer", str("the learning rate must be a finite number of at least 0, got ", rate));
  impl_->learning_rate.assign(Tensor(rate));
}

float Trainer::learning_rate() const { return static_cast<float>(impl_->learning_rate.read().item()); }

std::vector<Parameter> Trainer::parameters() const {
  if (!impl_->model) return impl_->loaded;
  std::vector<Parameter> result = impl_->model->parameters();
  for (const Parameter& p : impl_->optimizer->state()) result.push_back(p);
  return result;
}

StepCore& Trainer::train_step() { return *impl_->train; }
StepCore& Trainer::predict_step() { return *impl_->predict; }
std::string Trainer::explain() { return impl_->train->explain(); }
std::int64_t Trainer::epoch() const { return impl_->epoch; }

}  // namespace sinter
