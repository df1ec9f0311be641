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

/// Base of the pools of images whose results have given extents: height and width, or one number for both.
class AdaptivePool2D : public Module {
 protected:
  AdaptivePool2D(std::string kind, std::vector<std::int64_t> out);
  std::vector<std::int64_t> out_;

 public:
  std::vector<Setting> settings() const override { return {{"out", out_}}; }
};

/// adaptive_max_pool2d. Throws UserError for extents below 1.
class AdaptiveMaxPool2D : public AdaptivePool2D {
 public:
  explicit AdaptiveMaxPool2D(std::vector<std::int64_t> out) : AdaptivePool2D("adaptive_max_pool2d", std::move(out)) {}
  Tensor forward(const Tensor& x) override { return adaptive_max_pool2d(x, out_); }
};

/// adaptive_average_pool2d. Throws UserError for extents below 1.
class AdaptiveAveragePool2D : public AdaptivePool2D {
 public:
  explicit AdaptiveAveragePool2D(std::vector<std::int64_t> out) : AdaptivePool2D("adaptive_average_pool2d", std::move(out)) {}
  Tensor forward(const Tensor& x) override { return adaptive_average_pool2d(x, out_); }
};

/// Base of the pools of series [N, L, C] whose results have a given length.
class AdaptivePool1D : public Module {
 protected:
  AdaptivePool1D(std::string kind, std::int64_t out);
  std::int64_t out_;

 public:
  std::vector<Setting> settings() const override { return {{"out", out_}}; }
};

/// adaptive_max_pool1d. Throws UserError for a length below 1.
class AdaptiveMaxPool1D : public AdaptivePool1D {
 public:
  explicit AdaptiveMaxPool1D(std::int64_t out) : AdaptivePool1D("adaptive_max_pool1d", out) {}
  Tensor forward(const Tensor& x) override { return adaptive_max_pool1d(x, out_); }
};

/// adaptive_average_pool1d. Throws UserError for a length below 1.
class AdaptiveAveragePool1D : public AdaptivePool1D {
 public:
  explicit AdaptiveAveragePool1D(std::int64_t out) : AdaptivePool1D("adaptive_average_pool1d", out) {}
  Tensor forward(const Tensor& x) override { return adaptive_average_pool1d(x, out_); }
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

/// upsample2d, or upsample1d of series: so many times the extent of each axis between the first and the last, or one number for all.
class Upsample : public Module {
 public:
  /// Throws UserError for numbers below 1.
  explicit Upsample(std::vector<std::int64_t> scale, Interpolation interpolation = Interpolation::nearest);
  Tensor forward(const Tensor& x) override;
  std::vector<Setting> settings() const override;

 private:
  std::vector<std::int64_t> scale_;
  Interpolation interpolation_;
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
