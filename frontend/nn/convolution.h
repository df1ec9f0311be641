// Convolutional layers, channels last as in Keras.
#pragma once

#include "frontend/core/image.h"
#include "frontend/nn/activation.h"
#include "frontend/nn/init.h"
#include "frontend/nn/module.h"

namespace sinter::nn {

struct ConvolutionOptions {
  std::vector<std::int64_t> strides = {1}, dilations = {1};  ///< one number per axis, or one for all
  Padding padding = Padding::valid();
  std::int64_t groups = 1;  ///< as many as channels: a depthwise convolution
  Initializer weight = init::glorot_uniform();
  Initializer bias = init::zeros();
  bool use_bias = true;
  Penalty penalty = {};  ///< of the weight
};

/// Base of the convolutional layers: activation(convolution of x with the weight + bias).
class Convolution : public Module {
 public:
  /// Throws UserError if x has another rank or another number of channels.
  Tensor forward(const Tensor& x) override;
  std::vector<Setting> settings() const override;

  Parameter weight, bias;  ///< bias [features] is undefined without use_bias

 protected:
  /// `weight_shape` [kernel..., ...]. Throws UserError for sizes below 1 and groups that don't divide channels and features.
  Convolution(std::string kind, std::int64_t channels, std::int64_t features, const Shape& weight_shape, Activation activation,
              const ConvolutionOptions& options);
  virtual Tensor convolve(const Tensor& x, const ConvOptions& options) const = 0;

 private:
  ConvolutionOptions made_with_;
  ConvOptions options_;
  std::int64_t channels_;
  Activation activation_;
};

/// conv2d: x [N, H, W, channels], weight [KH, KW, channels / groups, features].
class Conv2D : public Convolution {
 public:
  /// `kernel`: height and width, or one number for both.
  Conv2D(std::int64_t channels, std::int64_t features, std::vector<std::int64_t> kernel, Activation activation, ConvolutionOptions options);
  Conv2D(std::int64_t channels, std::int64_t features, std::vector<std::int64_t> kernel, Activation activation = Activation::none)
      : Conv2D(channels, features, std::move(kernel), activation, ConvolutionOptions()) {}

 private:
  Tensor convolve(const Tensor& x, const ConvOptions& options) const override { return conv2d(x, weight, options); }
};

/// conv1d: x [N, L, channels], weight [K, channels / groups, features].
class Conv1D : public Convolution {
 public:
  Conv1D(std::int64_t channels, std::int64_t features, std::int64_t kernel, Activation activation, ConvolutionOptions options);
  Conv1D(std::int64_t channels, std::int64_t features, std::int64_t kernel, Activation activation = Activation::none)
      : Conv1D(channels, features, kernel, activation, ConvolutionOptions()) {}

 private:
  Tensor convolve(const Tensor& x, const ConvOptions& options) const override { return conv1d(x, weight, options); }
};

/// conv2d_transpose, from `channels` to `features`: weight [KH, KW, features / groups, channels], as in Keras.
class Conv2DTranspose : public Convolution {
 public:
  Conv2DTranspose(std::int64_t channels, std::int64_t features, std::vector<std::int64_t> kernel, Activation activation, ConvolutionOptions options);
  Conv2DTranspose(std::int64_t channels, std::int64_t features, std::vector<std::int64_t> kernel, Activation activation = Activation::none)
      : Conv2DTranspose(channels, features, std::move(kernel), activation, ConvolutionOptions()) {}

 private:
  Tensor convolve(const Tensor& x, const ConvOptions& options) const override { return conv2d_transpose(x, weight, options); }
};

}  // namespace sinter::nn
