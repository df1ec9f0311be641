// Layers that normalize.
#pragma once

#include "frontend/nn/module.h"

namespace sinter::nn {

struct BatchNormOptions {
  double momentum = 0.9;  ///< in [0, 1): the share of the running statistics that a step keeps
  double epsilon = 1e-5;  ///< > 0
  bool scale = true, center = true;
};
/// (x - mean) / sqrt(variance + epsilon) · gamma + beta for each feature, the last axis (Ioffe and Szegedy 2015). In training mean and variance are
/// those of the batch over all other axes, and the running ones move towards them (the variance as in Keras, divided by the count); else, and when
/// the layer is frozen, they are the running ones.
class BatchNorm : public Module {
 public:
  /// Throws UserError for fewer than 1 feature or options out of range.
  explicit BatchNorm(std::int64_t features, BatchNormOptions options);
  explicit BatchNorm(std::int64_t features) : BatchNorm(features, BatchNormOptions()) {}
  /// Throws UserError unless the last axis of x has `features` elements.
  Tensor forward(const Tensor& x) override;
  std::vector<Setting> settings() const override;

  Parameter gamma, beta;  ///< [features]; undefined without scale, center
  Parameter running_mean, running_variance;

 private:
  std::int64_t features_;
  BatchNormOptions options_;
};

/// While one lives, batch normalization in training mode on this thread averages the statistics of all batches alike, whatever its momentum. `batch`
/// is the number of this one, from 1, a scalar. See Trainer::recompute_statistics.
class StatisticsScope {
 public:
  explicit StatisticsScope(Tensor batch);
  ~StatisticsScope();
  StatisticsScope(const StatisticsScope&) = delete;
  StatisticsScope& operator=(const StatisticsScope&) = delete;

 private:
  Tensor outer_;
};

struct LayerNormOptions {
  double epsilon = 1e-5;  ///< > 0
  bool scale = true, center = true;
};
/// (x - mean) / sqrt(variance + epsilon) · gamma + beta, with mean and variance over the last axis of each sample (Ba et al. 2016).
class LayerNorm : public Module {
 public:
  explicit LayerNorm(std::int64_t features, LayerNormOptions options);
  explicit LayerNorm(std::int64_t features) : LayerNorm(features, LayerNormOptions()) {}
  Tensor forward(const Tensor& x) override;
  bool passes_mask() const override { return true; }
  std::vector<Setting> settings() const override;

  Parameter gamma, beta;

 private:
  std::int64_t features_;
  LayerNormOptions options_;
};

struct GroupNormOptions {
  double epsilon = 1e-5;  ///< > 0
  bool scale = true, center = true;
};
/// (x - mean) / sqrt(variance + epsilon) · gamma + beta for images [N, H, W, channels], series [N, L, channels] or rows [N, channels], with mean and
/// variance, divided by the count, of each sample over all places and the channels of a group, in training and prediction alike (Wu and He 2018).
/// Groups are of adjacent channels; gamma and beta are those of each channel. Steps that a mask leaves out do not count; they become 0, and the mask
/// is passed on.
class GroupNorm : public Module {
 public:
  /// Throws UserError for fewer than 1 channel, groups that do not divide the channels, or options out of range.
  GroupNorm(std::int64_t groups, std::int64_t channels, GroupNormOptions options = {});
  /// Throws UserError unless the last axis of x has `channels` elements.
  Tensor forward(const Tensor& x) override;
  std::vector<Setting> settings() const override;

  Parameter gamma, beta;  ///< [channels]; undefined without scale, center

 protected:
  GroupNorm(std::string kind, std::int64_t groups, std::int64_t channels, GroupNormOptions options);
  std::int64_t groups_, channels_;
  GroupNormOptions options_;
};

/// The same with each channel a group of its own, so over places alone: images or series (Ulyanov et al. 2016).
class InstanceNorm : public GroupNorm {
 public:
  explicit InstanceNorm(std::int64_t channels, GroupNormOptions options = {}) : GroupNorm("instance_norm", channels, channels, options) {}
  /// Throws UserError for rows [N, channels] too: all of them would become 0.
  Tensor forward(const Tensor& x) override;
  std::vector<Setting> settings() const override;
};

}  // namespace sinter::nn
