#include "frontend/nn/loss.h"

#include <cmath>
#include <limits>

#include "frontend/core/trace.h"
#include "frontend/nn/mask.h"

namespace sinter {

namespace {

constexpr double greatest_number = std::numeric_limits<float>::max(), infinity = std::numeric_limits<double>::infinity();

/// The value, but 0 where it is infinite and its weight is 0: weight · counted(value, weight) takes 0 · infinity for 0, and so do its gradients.
Tensor counted(const Tensor& value, const Tensor& weight) { return where(logical_and(weight == 0, abs(value) > greatest_number), 0, value); }

/// The first dimensions of x, and 1 for each other one: what broadcasts along these.
std::vector<Dim> first_dims(const Tensor& x, std::size_t count) {
  std::vector<Dim> dims(x.shape().begin(), x.shape().begin() + count);
  dims.resize(x.rank(), 1);
  return dims;
}

/// |x|, with the gradient 1 at 0: even functions of x get their gradient there from one side.
Tensor size_of(const Tensor& x) { return where(x < 0, -x, x); }

}  // namespace

namespace {

/// Warns, where a step is traced, of predictions that are probabilities already.
void require_logits(const std::string& loss, const Tensor& prediction) {
  Trace* trace = Trace::current();
  const ir::Node* made = trace ? trace->maker(prediction) : nullptr;
  if (!made) return;
  const bool softmax = std::holds_alternative<ir::Softmax>(made->op);
  if (!softmax && !std::holds_alternative<ir::Sigmoid>(made->op)) return;
  trace->warn(str(loss, " applies softmax or sigmoid itself, but its predictions come from a ", softmax ? "softmax" : "sigmoid", " (",
                  made->origin.text(), "): the model learns less; leave that activation out, or take the loss without _from_logits"));
}

}  // namespace

Tensor Loss::values(const Tensor& prediction, const Tensor& target) const {
  if (options_.predictions == Predictions::logits) require_logits(name_, prediction);
  return values_(prediction, target);
}

Tensor Loss::operator()(const Tensor& prediction, const Tensor& target) const {
  const Tensor v = values(prediction, target);
  return v.rank() == 0 ? v : mean(v);
}

Tensor Loss::weighted(const Tensor& values, const Tensor& weight) const {
  if (values.rank() == 0)
    throw UserError(name_, "the loss is one number for the whole batch, so samples cannot be weighted; return one value per sample");
  if (weight.rank() != 1 || weight.dim(0) != values.dim(0) || weight.dtype() != DType::f32)
    throw UserError(name_, str("weights must be f32[", values.dim(0), "], one per sample, got ", weight.type()));
  const Tensor w = reshape(weight, first_dims(values, 1));
  return counted(values, w) * w;
}

Tensor Loss::operator()(const Tensor& prediction, const Tensor& target, const Tensor& weight) const {
  return mean(weighted(values(prediction, target), weight));
}

Tensor Loss::of_steps(const Tensor& prediction, const Tensor& target, const Tensor& exists, const Tensor& weight) const {
  Tensor v = values(prediction, target);
  if (v.rank() < 2 || Type{DType::boolean, {v.dim(0), v.dim(1)}} != exists.type())
    throw UserError(name_, str("needs a value for each step that may exist, ", exists.type(), ", but the loss gives ", v.type(),
                               "; let it return [N, T] or [N, T, ...]"));
  if (weight.defined()) v = weighted(v, weight);
  const Tensor of_each = v.rank() == 2 ? v : mean(reshape(v, {v.dim(0), v.dim(1), v.shape().product(2, v.rank())}), {2});  // [N, T]
  return sum(nn::where_exists(exists, of_each)) / maximum(sum(cast(exists, DType::f32)), 1);
}

Losses::Losses(std::vector<OutputLoss> list) : list_(std::move(list)) {
  if (list_.empty()) throw UserError("Losses", "needs a loss for each output of the model, got none");
  for (const OutputLoss& l : list_)
    if (!(l.factor >= 0) || !std::isfinite(l.factor)) throw UserError("Losses", str("factors must be finite numbers of at least 0, got ", l.factor));
}

namespace loss {

namespace {

constexpr float epsilon = 1e-7f;

// ---- targets ----

/// Targets with false and true as the numbers 0 and 1.
Tensor as_number(const Tensor& target, DType dtype) { return target.dtype() == DType::boolean ? cast(target, dtype) : target; }

/// One-hot targets [N, ..., C], also from class numbers [N, ...].
Tensor one_hot_targets(const Tensor& prediction, const Tensor& given, const char* loss) {
  if (prediction.rank() < 2 || !prediction.dim(-1).is_fixed())
    throw UserError(loss, str("predictions must be [batch, ..., classes], got ", prediction.type()));
  const Shape one_each = prediction.shape().erase(prediction.rank() - 1, prediction.rank());
  const Tensor target = as_number(given, given.shape() == one_each ? DType::u8 : DType::f32);
  if (!is_index(target.dtype())) {
    if (target.shape() != prediction.shape())
      throw UserError(loss, str("targets must be class numbers ", one_each, " or one-hot ", prediction.shape(), ", got ", target.type()));
    return target;
  }
  if (target.shape() != one_each) throw UserError(loss, str("class numbers must be ", one_each, ", got ", target.type()));
  return one_hot(target, prediction.dim(-1).factor());
}

void require_class_numbers(const Tensor& target, const char* loss) {
  if (!is_index(target.dtype()))
    throw UserError(
        loss, str("targets must be class numbers (integers, [batch]), got ", target.type(), "; categorical_crossentropy takes one-hot targets"));
}

/// Targets as f32 in the shape of the predictions.
Tensor numbers_like(const Tensor& prediction, const Tensor& target, const char* loss) {
  const Tensor y = is_float(target.dtype()) ? target : cast(target, DType::f32);
  if (y.shape() == prediction.shape()) return y;
  const bool one_column = prediction.rank() == y.rank() + 1 && y.rank() > 0 && prediction.shape() == y.shape().insert(y.rank(), 1);
  if (!one_column) throw UserError(loss, str("prediction and target must have one shape, got ", prediction.type(), " and ", target.type()));
  return reshape(y, {prediction.shape().begin(), prediction.shape().end()});
}

Tensor smoothed(const Tensor& y, float amount, double classes) { return amount > 0 ? y * (1 - amount) + amount / classes : y; }

void check(const CrossentropyOptions& options, const char* loss) {
  if (!(options.label_smoothing >= 0 && options.label_smoothing < 1))
    throw UserError(loss, str("label_smoothing must be in [0, 1), got ", options.label_smoothing));
}

/// `otherwise`: what it takes if not logits.
LossOptions traits_of(const CrossentropyOptions& options, Predictions otherwise) {
  return {options.from_logits ? Predictions::logits : otherwise,
          {{"from_logits", options.from_logits}, {"label_smoothing", options.label_smoothing}, {"weighted mean over", "samples"}}};
}

/// A loss of each element of predictions and targets of one shape.
Loss elementwise(const char* name, Tensor (*f)(const Tensor& p, const Tensor& y)) {
  return {name, [=](const Tensor& p, const Tensor& y) { return f(p, numbers_like(p, y, name)); }};
}

const char* name_of(const CrossentropyOptions& options) {
  return options.from_logits ? "categorical_crossentropy_from_logits" : "categorical_crossentropy";
}

Loss::Values categorical_values(const CrossentropyOptions& options) {
  return [=, name = name_of(options)](const Tensor& p, const Tensor& target) {
    const Tensor one_hot = one_hot_targets(p, target, name);  // checks the predictions first
    const Tensor y = smoothed(one_hot, options.label_smoothing, static_cast<double>(p.dim(-1).factor()));
    if (options.from_logits) return -sum(y * counted(log_softmax(p), one_hot), {-1});
    return -sum(y * log(clip(p / sum(p, {-1}, true), epsilon, 1 - epsilon)), {-1});
  };
}

Loss sparse(const char* name, const CrossentropyOptions& options) {
  return {name,
          [name, values = categorical_values(options)](const Tensor& p, const Tensor& y) {
            const Tensor numbers = as_number(y, DType::u8);
            require_class_numbers(numbers, name);
            return values(p, numbers);
          },
          traits_of(options, Predictions::proportions)};
}

}  // namespace

// ---- classes ----

Loss categorical(CrossentropyOptions options) {
  check(options, name_of(options));
  return {name_of(options), categorical_values(options), traits_of(options, Predictions::proportions)};
}

const Loss categorical_crossentropy = categorical({});
const Loss categorical_crossentropy_from_logits = categorical({.from_logits = true});
const Loss sparse_categorical_crossentropy = sparse("sparse_categorical_crossentropy", {});
const Loss sparse_categorical_crossentropy_from_logits = sparse("sparse_categorical_crossentropy_from_logits", {.from_logits = true});

const Loss kl_divergence{"kl_divergence",
                         [](const Tensor& p, const Tensor& target) {
                           const Tensor y = clip(numbers_like(p, target, "kl_divergence"), epsilon, 1);
                           return sum(y * log(y / clip(p, epsilon, 1)), {-1});
                         },
                         {Predictions::probabilities, {{"mean over", "samples"}}}};

// ---- binary targets ----

Loss binary(CrossentropyOptions options) {
  const char* name = options.from_logits ? "binary_crossentropy_from_logits" : "binary_crossentropy";
  check(options, name);
  return {name,
          [=](const Tensor& p, const Tensor& target) {
            const Tensor given = numbers_like(p, target, name), y = smoothed(given, options.label_smoothing, 2);
            if (options.from_logits) {
              const Tensor size = size_of(p);
              const auto against = [&](const Tensor& t) { return where(p < 0, t, 1 - t); };  // how far the sign of p is wrong
              return counted(size, against(given)) * against(y) + log1p(exp(-size));
            }
            const Tensor q = clip(p, epsilon, 1 - epsilon);
            return -(y * log(q) + (1 - y) * log(1 - q));
          },
          traits_of(options, Predictions::probabilities)};
}

const Loss binary_crossentropy = binary({});
const Loss binary_crossentropy_from_logits = binary({.from_logits = true});
const Loss hinge = elementwise("hinge", [](const Tensor& p, const Tensor& y) { return relu(1 - y * p); });
const Loss squared_hinge = elementwise("squared_hinge", [](const Tensor& p, const Tensor& y) { return square(relu(1 - y * p)); });

// ---- numbers ----

const Loss mean_squared_error = elementwise("mean_squared_error", [](const Tensor& p, const Tensor& y) { return square(p - y); });
const Loss mean_absolute_error = elementwise("mean_absolute_error", [](const Tensor& p, const Tensor& y) { return abs(p - y); });
const Loss mean_absolute_percentage_error = elementwise(
    "mean_absolute_percentage_error", [](const Tensor& p, const Tensor& y) { return abs(p - y) / maximum(abs(y), double{epsilon}) * 100; });
const Loss mean_squared_logarithmic_error = elementwise("mean_squared_logarithmic_error", [](const Tensor& p, const Tensor& y) {
  const Tensor infinite = p > greatest_number, finite = where(infinite, 0, p);
  return where(infinite, infinity, square(log1p(relu(finite)) - log1p(relu(y))));
});

Loss huber(float delta) {
  if (!(delta > 0)) throw UserError("huber", str("delta must be positive, got ", delta));
  return {"huber",
          [=](const Tensor& p, const Tensor& target) {
            const Tensor apart = abs(p - numbers_like(p, target, "huber")), near = minimum(apart, delta);
            return square(near) * 0.5 + (apart - near) * delta;
          },
          {.settings = {{"delta", delta}}}};
}

const Loss log_cosh = elementwise("log_cosh", [](const Tensor& p, const Tensor& y) {
  const Tensor apart = size_of(p - y);
  return apart + log1p(exp(apart * -2)) - double{static_cast<float>(std::log(2.0))};
});
const Loss poisson = elementwise("poisson", [](const Tensor& p, const Tensor& y) { return p - y * log(minimum(p, greatest_number) + epsilon); });
const Loss cosine_distance = elementwise("cosine_distance", [](const Tensor& p, const Tensor& y) {
  return 1 - sum(p * y, {-1}) * rsqrt(maximum(sum(square(p), {-1}), 1e-12)) * rsqrt(maximum(sum(square(y), {-1}), 1e-12));
});

Tensor l2(float factor, const std::vector<Parameter>& parameters) {
  if (parameters.empty()) throw UserError("l2", "needs at least one parameter");
  Tensor total;
  for (const Parameter& parameter : parameters) {
    const Tensor squares = sum(square(parameter));
    total = total.defined() ? total + squares : squares;
  }
  return total * factor;
}

}  // namespace loss
}  // namespace sinter
