// Pools and other layers for images and series.
#pragma once

#include "frontend/core/image.h"
#include "frontend/nn/dropout.h"
#include "frontend/nn/module.h"

namespace sinter::nn {

/// Base of the pools: windows of height and width (or one number for both); strides default to the window's size.
class Pool2D : public Module {
 protected:
  Pool2D(std::string kind, std::vector<std::int64_t> window, PoolOptions options)
      : Module(std::move(kind)), window_(std::move(window)), options_(std::move(options)) {}
  std::vector<std::int64_t> window_;
  PoolOptions options_;

 public:
  std::vector<Setting> settings() const override;
};

/// max_pool2d.
class MaxPool2D : public Pool2D {
 public:
  explicit MaxPool2D(std::vector<std::int64_t> window, PoolOptions options = {}) : Pool2D("max_pool2d", std::move(window), std::move(options)) {}
  Tensor forward(const Tensor& x) override { return max_pool2d(x, window_, options_); }
};

/// average_pool2d.
class AveragePool2D : public Pool2D {
 public:
  std::vector<Setting> settings() const override;
  explicit AveragePool2D(std::vector<std::int64_t> window, PoolOptions options = {})
      : Pool2D("average_pool2d", std::move(window), std::move(options)) {}
  Tensor forward(const Tensor& x) override { return average_pool2d(x, window_, options_); }
};

/// Base of the pools over series [N, L, C], or [N, T, C] (conv1d says how). Steps that a mask leaves out are no part of any window, and the mask is
/// passed on, where the length is kept.
class Pool1D : public Module {
 protected:
  Pool1D(std::string kind, std::int64_t window, PoolOptions options) : Module(std::move(kind)), window_(window), options_(std::move(options)) {}
  /// The mask of x, if there is one and windows are as many as steps.
  Tensor kept_mask(const Tensor& x) const;
  std::int64_t window_;
  PoolOptions options_;

 public:
  std::vector<Setting> settings() const override;
};

/// max_pool1d.
class MaxPool1D : public Pool1D {
 public:
  explicit MaxPool1D(std::int64_t window, PoolOptions options = {}) : Pool1D("max_pool1d", window, std::move(options)) {}
  Tensor forward(const Tensor& x) override;
};

/// average_pool1d.
class AveragePool1D : public Pool1D {
 public:
  std::vector<Setting> settings() const override;
  explicit AveragePool1D(std::int64_t window, PoolOptions options = {}) : Pool1D("average_pool1d", window, std::move(options)) {}
  Tensor forward(const Tensor& x) override;
};

/// [N, H, W, C] or [N, L, C] as [N, C]: the greatest element of each channel; of the steps that a mask has, and 0 if it has none.
class GlobalMaxPool : public Module {
 public:
  GlobalMaxPool() : Module("global_max_pool") {}
  Tensor forward(const Tensor& x) override;
};

/// [N, H, W, C] or [N, L, C] as [N, C]: the mean of each channel; of the steps that a mask has, and 0 if it has none.
class GlobalAveragePool : public Module {
 public:
  GlobalAveragePool() : Module("global_average_pool") {}
  Tensor forward(const Tensor& x) override;
};

/// Zero padding of images or series: a number of elements on both sides of each axis between the first and the last, or one number for all.
class ZeroPadding : public Module {
 public:
  /// Throws UserError for negative numbers.
  explicit ZeroPadding(std::vector<std::int64_t> padding);
  Tensor forward(const Tensor& x) override;
  std::vector<Setting> settings() const override { return {{"padding", padding_}}; }

 private:
  std::vector<std::int64_t> padding_;
};

/// Dropout of whole channels: one draw for all elements of a channel of a sample (Tompson et al. 2015).
class SpatialDropout : public Module {
 public:
  /// Throws UserError unless rate is in [0, 1).
  explicit SpatialDropout(double rate);
  Tensor forward(const Tensor& x) override;
  bool passes_mask() const override { return true; }
  std::vector<Setting> settings() const override { return {{"rate", rate_}}; }

  Parameter draws;  ///< u32: how many masks have been drawn

 private:
  double rate_;
  std::uint64_t stream_;
};

}  // namespace sinter::nn
