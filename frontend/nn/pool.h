// Pools and what else belongs to images.
#pragma once

#include "frontend/core/image.h"
#include "frontend/nn/dropout.h"
#include "frontend/nn/module.h"

namespace sinter::nn {

/// max_pool2d: windows of height and width (or one number for both), as far apart as they are large unless `options` say otherwise.
class MaxPool2D : public Module {
 public:
  explicit MaxPool2D(std::vector<std::int64_t> window, PoolOptions options = {})
      : Module("max_pool2d"), window_(std::move(window)), options_(std::move(options)) {}
  Tensor forward(const Tensor& x) override { return max_pool2d(x, window_, options_); }

 private:
  std::vector<std::int64_t> window_;
  PoolOptions options_;
};

class AveragePool2D : public Module {
 public:
  explicit AveragePool2D(std::vector<std::int64_t> window, PoolOptions options = {})
      : Module("average_pool2d"), window_(std::move(window)), options_(std::move(options)) {}
  Tensor forward(const Tensor& x) override { return average_pool2d(x, window_, options_); }

 private:
  std::vector<std::int64_t> window_;
  PoolOptions options_;
};

/// Over series [N, L, C].
class MaxPool1D : public Module {
 public:
  explicit MaxPool1D(std::int64_t window, PoolOptions options = {}) : Module("max_pool1d"), window_(window), options_(std::move(options)) {}
  Tensor forward(const Tensor& x) override { return max_pool1d(x, window_, options_); }

 private:
  std::int64_t window_;
  PoolOptions options_;
};

class AveragePool1D : public Module {
 public:
  explicit AveragePool1D(std::int64_t window, PoolOptions options = {}) : Module("average_pool1d"), window_(window), options_(std::move(options)) {}
  Tensor forward(const Tensor& x) override { return average_pool1d(x, window_, options_); }

 private:
  std::int64_t window_;
  PoolOptions options_;
};

/// [N, H, W, C] or [N, L, C] as [N, C]: the greatest element of each channel.
class GlobalMaxPool : public Module {
 public:
  GlobalMaxPool() : Module("global_max_pool") {}
  Tensor forward(const Tensor& x) override;
};

/// Their mean.
class GlobalAveragePool : public Module {
 public:
  GlobalAveragePool() : Module("global_average_pool") {}
  Tensor forward(const Tensor& x) override;
};

/// Zeros around images or series: `places` as many on both sides of each axis between the first and the last, or one number for all.
class ZeroPadding : public Module {
 public:
  /// Throws UserError for negative numbers.
  explicit ZeroPadding(std::vector<std::int64_t> places);
  Tensor forward(const Tensor& x) override;

 private:
  std::vector<std::int64_t> places_;
};

/// Dropout of whole channels: one draw for all places of a channel of a sample (Tompson et al. 2015).
class SpatialDropout : public Module {
 public:
  /// Throws UserError unless rate is in [0, 1).
  explicit SpatialDropout(double rate);
  Tensor forward(const Tensor& x) override;

  Parameter draws;  ///< u32: how many masks have been drawn

 private:
  double rate_;
  std::uint64_t stream_;
};

}  // namespace sinter::nn
