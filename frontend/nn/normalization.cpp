#include "frontend/nn/normalization.h"

#include <utility>

#include "frontend/core/number.h"
#include "frontend/nn/mask.h"

namespace sinter::nn {

namespace {

thread_local Tensor averaged_batch;  // of the innermost StatisticsScope

void require_features(const std::string& name, const Tensor& x, std::int64_t features) {
  if (x.rank() < 2 || x.dim(-1) != Dim(features))
    throw UserError(name, str("input must be [batch, ..., ", features, "], got ", x.type(), "; the layer was built for ", features, " features"));
}

void check(const char* layer, std::int64_t features, double epsilon) {
  if (features < 1) throw UserError(layer, str("needs at least 1 feature, got ", features));
  if (const std::string rule = not_positive(epsilon); !rule.empty()) throw UserError(layer, str("epsilon ", rule, ", got ", epsilon));
}

Tensor scaled(const Tensor& x, const Parameter& gamma, const Parameter& beta) {
  const Tensor y = gamma.defined() ? x * gamma : x;
  return beta.defined() ? y + beta : y;
}

}  // namespace

StatisticsScope::StatisticsScope(Tensor batch) : outer_(std::exchange(averaged_batch, std::move(batch))) {}
StatisticsScope::~StatisticsScope() { averaged_batch = std::move(outer_); }

BatchNorm::BatchNorm(std::int64_t features, BatchNormOptions options) : Module("batch_norm"), features_(features), options_(options) {
  check("BatchNorm", features, options.epsilon);
  if (!(options.momentum >= 0 && options.momentum < 1)) throw UserError("BatchNorm", str("momentum must be in [0, 1), got ", options.momentum));
  const Type type{DType::f32, {features}};
  if (options.scale) gamma = add("gamma", Tensor::filled(type, 1));
  if (options.center) beta = add("beta", Tensor::zeros(type));
  running_mean = add_state("running_mean", Tensor::zeros(type));
  running_variance = add_state("running_variance", Tensor::filled(type, 1));
}

Tensor BatchNorm::forward(const Tensor& x) {
  require_features(label(), x, features_);
  note_not_training();
  if (!is_training() || !trainable()) {
    // Two numbers per feature, for any batch size.
    const Tensor root = rsqrt(running_variance + options_.epsilon), factor = gamma.defined() ? gamma * root : root;
    const Tensor shift = beta.defined() ? beta - running_mean * factor : -(running_mean * factor);
    return x * factor + shift;
  }
  Tensor rows = x;
  if (x.rank() > 2) {  // [N, ..., features] as [kN, features]
    const Dim count = x.shape().product(0, x.rank() - 1);
    rows = reshape(x, {count, features_});
  }
  const Tensor center = mean(rows, {0}), apart = rows - center, spread = mean(square(apart), {0});
  const auto move = [&](const Parameter& running, const Tensor& now) {
    const double kept = options_.momentum;
    running.assign(averaged_batch.defined() ? running + (now - running) / averaged_batch : running * kept + now * (1 - kept));
  };
  move(running_mean, center.detach());
  move(running_variance, spread.detach());
  const Tensor y = scaled(apart * rsqrt(spread + options_.epsilon), gamma, beta);
  return x.rank() > 2 ? reshape(y, {x.shape().begin(), x.shape().end()}) : y;
}

std::vector<Setting> BatchNorm::settings() const {
  return {{"momentum", options_.momentum},
          {"epsilon", options_.epsilon},
          {"scale", options_.scale},
          {"center", options_.center},
          {"running variance over", "the count"}};
}

std::vector<Setting> LayerNorm::settings() const { return {{"epsilon", options_.epsilon}, {"scale", options_.scale}, {"center", options_.center}}; }

LayerNorm::LayerNorm(std::int64_t features, LayerNormOptions options) : Module("layer_norm"), features_(features), options_(options) {
  check("LayerNorm", features, options.epsilon);
  const Type type{DType::f32, {features}};
  if (options.scale) gamma = add("gamma", Tensor::filled(type, 1));
  if (options.center) beta = add("beta", Tensor::zeros(type));
}

Tensor LayerNorm::forward(const Tensor& x) {
  require_features(label(), x, features_);
  const Tensor apart = x - mean(x, {-1}, true);
  return scaled(apart * rsqrt(mean(square(apart), {-1}, true) + options_.epsilon), gamma, beta);
}

GroupNorm::GroupNorm(std::int64_t groups, std::int64_t channels, GroupNormOptions options) : GroupNorm("group_norm", groups, channels, options) {}

GroupNorm::GroupNorm(std::string kind, std::int64_t groups, std::int64_t channels, GroupNormOptions options)
    : Module(std::move(kind)), groups_(groups), channels_(channels), options_(options) {
  const char* layer = this->kind() == "group_norm" ? "GroupNorm" : "InstanceNorm";
  check(layer, channels, options.epsilon);
  if (groups < 1 || channels % groups)
    throw UserError(layer, str("groups must divide channels, got ", groups, " groups for ", channels, " channels"));
  const Type type{DType::f32, {channels}};
  if (options.scale) gamma = add("gamma", Tensor::filled(type, 1));
  if (options.center) beta = add("beta", Tensor::zeros(type));
}

Tensor GroupNorm::forward(const Tensor& x) {
  require_features(label(), x, channels_);
  const Dim samples = x.dim(0), places = x.shape().product(1, x.rank() - 1);
  const Tensor mask = x.rank() == 3 ? mask_of(x) : Tensor();
  const Tensor count = mask.defined() ? maximum(sum(cast(reshape(mask, {samples, places, 1}), DType::f32), {1}), 1) : Tensor();
  // [N, 1, channels]: of each channel the mean of its group, whose channels all have as many elements.
  const auto mean_of_group = [&](const Tensor& t) {
    Tensor m = mask.defined() ? sum(where_exists(mask, t), {1}) / count : mean(t, {1});
    if (groups_ != channels_) {
      const Tensor of_group = mean(reshape(m, {samples, groups_, channels_ / groups_}), {-1}, true);
      m = broadcast_to(of_group, {samples, groups_, channels_ / groups_});
    }
    return reshape(m, {samples, 1, channels_});
  };
  const Tensor rows = reshape(x, {samples, places, channels_}), apart = rows - mean_of_group(rows);
  const Tensor root = rsqrt(mean_of_group(square(apart)) + options_.epsilon);
  const Tensor y = reshape(scaled(apart * root, gamma, beta), {x.shape().begin(), x.shape().end()});
  return mask.defined() ? with_mask(where_exists(mask, y), mask) : y;
}

Tensor InstanceNorm::forward(const Tensor& x) {
  require_features(label(), x, channels_);
  if (x.rank() == 2)
    throw UserError(label(), str("input must be [batch, ..., ", channels_, "] with axes between these, got ", x.type(),
                                 ": a channel of one element is its own mean; take LayerNorm or BatchNorm"));
  return GroupNorm::forward(x);
}

std::vector<Setting> GroupNorm::settings() const {
  return {{"groups", groups_}, {"epsilon", options_.epsilon}, {"scale", options_.scale}, {"center", options_.center}};
}
std::vector<Setting> InstanceNorm::settings() const {
  return {{"epsilon", options_.epsilon}, {"scale", options_.scale}, {"center", options_.center}};
}

}  // namespace sinter::nn
