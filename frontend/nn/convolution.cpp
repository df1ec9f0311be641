#include "frontend/nn/convolution.h"

namespace sinter::nn {

namespace {

ConvOptions window_of(const ConvLayerOptions& o) { return {o.strides, o.dilations, o.padding, o.groups}; }

void check(const char* layer, std::int64_t channels, std::int64_t features, const std::vector<std::int64_t>& kernel, const ConvLayerOptions& o) {
  if (channels < 1 || features < 1) throw UserError(layer, str("needs at least 1 channel and 1 feature, got ", channels, " and ", features));
  for (const std::int64_t k : kernel)
    if (k < 1) throw UserError(layer, str("the kernel must be at least 1 wide, got ", k));
  if (o.groups < 1 || channels % o.groups || features % o.groups)
    throw UserError(
        layer, str("groups must divide channels and features, got ", o.groups, " groups for ", channels, " channels and ", features, " features"));
  for (const auto& numbers : {o.strides, o.dilations})
    for (const std::int64_t n : numbers)
      if (n < 1) throw UserError(layer, str("strides and dilations must be at least 1, got ", n));
}

/// Height and width of a kernel.
std::vector<std::int64_t> two(const char* layer, std::vector<std::int64_t> kernel) {
  if (kernel.size() == 1) kernel.push_back(kernel[0]);
  if (kernel.size() != 2) throw UserError(layer, str("the kernel must be height and width, or one number for both, got ", kernel.size(), " numbers"));
  return kernel;
}

void require_channels(const std::string& name, const Tensor& x, std::size_t rank, const char* form, std::int64_t channels) {
  if (x.rank() != rank) throw UserError(name, str("input must be ", form, ", got ", x.type()));
  if (x.dim(-1) != Dim(channels))
    throw UserError(name, str("input has ", x.dim(-1), " channels but the layer was built for ", channels, "; channels come last"));
}

}  // namespace

Conv2D::Conv2D(std::int64_t channels, std::int64_t features, std::vector<std::int64_t> kernel, Activation activation, ConvLayerOptions options)
    : Module("conv2d"), options_(window_of(options)), channels_(channels), activation_(activation) {
  const std::vector<std::int64_t> k = two("Conv2D", std::move(kernel));
  check("Conv2D", channels, features, k, options);
  weight = add("weight", options.weight({k[0], k[1], channels / options.groups, features}), options.penalty);
  if (options.use_bias) bias = add("bias", options.bias({features}));
}

Tensor Conv2D::forward(const Tensor& x) {
  require_channels(name(), x, 4, "[batch, height, width, channels]", channels_);
  const Tensor z = conv2d(x, weight, options_);
  return activate(activation_, bias.defined() ? z + bias : z);
}

Conv1D::Conv1D(std::int64_t channels, std::int64_t features, std::int64_t kernel, Activation activation, ConvLayerOptions options)
    : Module("conv1d"), options_(window_of(options)), channels_(channels), activation_(activation) {
  check("Conv1D", channels, features, {kernel}, options);
  weight = add("weight", options.weight({kernel, channels / options.groups, features}), options.penalty);
  if (options.use_bias) bias = add("bias", options.bias({features}));
}

Tensor Conv1D::forward(const Tensor& x) {
  require_channels(name(), x, 3, "[batch, length, channels]", channels_);
  const Tensor z = conv1d(x, weight, options_);
  return activate(activation_, bias.defined() ? z + bias : z);
}

Conv2DTranspose::Conv2DTranspose(std::int64_t channels, std::int64_t features, std::vector<std::int64_t> kernel, Activation activation,
                                 ConvLayerOptions options)
    : Module("conv2d_transpose"), options_(window_of(options)), channels_(channels), activation_(activation) {
  const std::vector<std::int64_t> k = two("Conv2DTranspose", std::move(kernel));
  check("Conv2DTranspose", channels, features, k, options);
  weight = add("weight", options.weight({k[0], k[1], features / options.groups, channels}), options.penalty);
  if (options.use_bias) bias = add("bias", options.bias({features}));
}

Tensor Conv2DTranspose::forward(const Tensor& x) {
  require_channels(name(), x, 4, "[batch, height, width, channels]", channels_);
  const Tensor z = conv2d_transpose(x, weight, options_);
  return activate(activation_, bias.defined() ? z + bias : z);
}

}  // namespace sinter::nn
