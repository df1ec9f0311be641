#include "frontend/nn/convolution.h"

#include <algorithm>

#include "frontend/nn/mask.h"
#include "frontend/nn/weight_settings.h"

namespace sinter::nn {

namespace {

/// A weight's shape: height and width of the kernel, given as one number or two, then the rest.
Shape weight_shape(const std::vector<std::int64_t>& kernel, std::int64_t inner, std::int64_t last) {
  if (kernel.empty() || kernel.size() > 2)
    throw UserError("kernel", str("must be height and width, or one number for both, got ", kernel.size(), " numbers"));
  return {std::max<std::int64_t>(0, kernel.front()), std::max<std::int64_t>(0, kernel.back()), inner, last};
}

/// Channels per group; 0 for invalid groups, which the layer reports.
std::int64_t a_group(std::int64_t channels, std::int64_t groups) { return groups < 1 || channels % groups ? 0 : channels / groups; }

}  // namespace

Convolution::Convolution(std::string kind, std::int64_t channels, std::int64_t features, const Shape& weight_shape, Activation activation,
                         const ConvolutionOptions& options)
    : Module(std::move(kind)),
      made_with_(options),
      options_{options.strides, options.dilations, options.padding, options.groups},
      channels_(channels),
      activation_(activation) {
  if (channels < 1 || features < 1) throw UserError(label(), str("needs at least 1 channel and 1 feature, got ", channels, " and ", features));
  if (options.groups < 1 || channels % options.groups || features % options.groups)
    throw UserError(label(), str("groups must divide channels and features, got ", options.groups, " groups for ", channels, " channels and ",
                                 features, " features"));
  for (std::size_t axis = 0; axis + 2 < weight_shape.rank(); ++axis)
    if (weight_shape[axis].factor() < 1) throw UserError(label(), str("the kernel must be at least 1 wide, got ", weight_shape[axis]));
  for (const auto& numbers : {options.strides, options.dilations})
    for (const std::int64_t n : numbers)
      if (n < 1) throw UserError(label(), str("strides and dilations must be at least 1, got ", n));
  weight = add("weight", options.weight(weight_shape), options.penalty);
  if (options.use_bias) bias = add("bias", options.bias({features}));
}

Tensor Convolution::forward(const Tensor& x) {
  if (x.rank() != weight.shape().rank())
    throw UserError(label(), str("input must be ", weight.shape().rank() == 4 ? "[batch, height, width, channels]" : "[batch, length, channels]",
                                 ", got ", x.type()));
  if (x.dim(-1) != Dim(channels_))
    throw UserError(label(), str("input has ", x.dim(-1), " channels but the layer was built for ", channels_, "; channels come last"));
  const bool in_steps = x.mask() && x.rank() == 3;  // what lies in padding is 0
  const Tensor z = convolve(in_steps ? where_exists(*x.mask(), x) : x, options_);
  const Tensor y = activate(activation_, bias.defined() ? z + bias : z);
  return in_steps && y.dim(1) == x.dim(1) ? with_mask(y, *x.mask()) : y;
}

std::vector<Setting> Convolution::settings() const {
  std::vector<std::int64_t> kernel;
  for (std::size_t axis = 0; axis + 2 < weight.shape().rank(); ++axis) kernel.push_back(weight.shape()[axis].factor());
  std::vector<Setting> list{{"activation", std::string(nn::name(activation_))},
                            {"kernel", kernel},
                            {"strides", options_.strides},
                            {"padding", str(options_.padding)},
                            {"dilations", options_.dilations},
                            {"groups", options_.groups}};
  add_weight_settings(list, made_with_);
  return list;
}

Conv2D::Conv2D(std::int64_t channels, std::int64_t features, std::vector<std::int64_t> kernel, Activation activation, ConvolutionOptions options)
    : Convolution("conv2d", channels, features, weight_shape(kernel, a_group(channels, options.groups), features), activation, options) {}

Conv1D::Conv1D(std::int64_t channels, std::int64_t features, std::int64_t kernel, Activation activation, ConvolutionOptions options)
    : Convolution("conv1d", channels, features, {std::max<std::int64_t>(0, kernel), a_group(channels, options.groups), features}, activation,
                  options) {}

Conv2DTranspose::Conv2DTranspose(std::int64_t channels, std::int64_t features, std::vector<std::int64_t> kernel, Activation activation,
                                 ConvolutionOptions options)
    : Convolution("conv2d_transpose", channels, features, weight_shape(kernel, a_group(features, options.groups), channels), activation, options) {}

}  // namespace sinter::nn
