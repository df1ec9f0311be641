#include "frontend/train/trainer.h"

#include <numeric>

#include "frontend/compile/variant.h"
#include "frontend/core/grad.h"
#include "frontend/train/trainer_impl.h"

namespace sinter {

namespace {

/// Features as the model takes them.
Tensor features(const Tensor& x, float scale) { return x.dtype() == DType::u8 ? cast(x, DType::f32) * scale : x; }

bool counts_correct(const Type& prediction, const Type& y) {
  return is_index(y.dtype) && y.shape.rank() == 1 && prediction.shape.rank() == 2 && prediction.shape[1] != Dim(1);
}

/// {loss}; where the targets are class numbers, the number of correct predictions; where there are metrics, the predictions.
std::vector<Tensor> judged(const Tensor& loss, const Tensor& prediction, const Tensor& y, bool for_metrics) {
  std::vector<Tensor> results{loss};
  if (counts_correct(prediction.type(), y.type())) results.push_back(sum(cast(equal(argmax(prediction), cast(y, DType::i32)), DType::f32)));
  if (for_metrics) results.push_back(prediction);
  return results;
}

}  // namespace

Trainer::Trainer(nn::Module& model, Loss loss, std::shared_ptr<optim::Optimizer> optimizer, TrainerOptions options)
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
  const std::vector<InputKind> tables{InputKind::table, InputKind::table, InputKind::batch, InputKind::table};
  impl->returns_predictions = !options.metrics.empty();
  /// The loss of a batch; in: tables of x and y, row numbers and, for weighted samples, the table of weights.
  const auto mean_loss = [loss](std::span<const Tensor> in, const Tensor& prediction, const Tensor& y) {
    return in.size() > 3 ? loss(prediction, y, gather_rows(in[3], in[2])) : loss(prediction, y);
  };
  impl->train = step(
      "train",
      [impl, &model, mean_loss, optimizer, regularizer = options.regularizer](std::span<const Tensor> in) -> std::vector<Tensor> {
        const nn::TrainingScope training;
        const Tensor y = gather_rows(in[1], in[2]);
        const Tensor prediction = model(features(gather_rows(in[0], in[2]), impl->scale));
        Tensor total = mean_loss(in, prediction, y);
        if (regularizer) total = total + regularizer();
        if (const Tensor penalty = model.penalty(); penalty.defined()) total = total + penalty;
        const std::vector<Parameter> parameters = model.trainable_parameters();
        std::vector<Tensor> results = judged(total, prediction, y, impl->returns_predictions);
        optimizer->update(parameters, grad(total, parameters));
        return results;
      },
      tables);
  impl->evaluate = step(
      "evaluate",
      [impl, &model, mean_loss](std::span<const Tensor> in) {
        const Tensor y = gather_rows(in[1], in[2]);
        const Tensor prediction = model(features(gather_rows(in[0], in[2]), impl->scale));
        return judged(mean_loss(in, prediction, y), prediction, y, impl->returns_predictions);
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
  std::vector<Spec> specs{table(*x_type), table(*y_type), Spec::batch(DType::i32, {})};
  if (weighted) specs.push_back(Spec::table(DType::f32, {}));
  return specs;
}

// ---- calls ----

Tensor Trainer::predict(const Tensor& x) {
  const Tensor* in = &x;
  return std::move(impl_->predict->call({&in, 1})[0]);
}

void Trainer::predict_one(std::span<const float> in, std::span<float> out) { impl_->predict->call_one(in, out); }

void Trainer::set_mode(Mode mode) {
  impl_->options.mode = mode;
  for (const auto& step : {impl_->train, impl_->evaluate, impl_->predict}) step->set_mode(mode);
}

void Trainer::stop() { impl_->stopped = true; }

void Trainer::exchange_averages() {
  if (!impl_->optimizer) throw UserError("Trainer", "a trainer from a file cannot exchange averages; do it before saving");
  impl_->optimizer->exchange_averages();
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
