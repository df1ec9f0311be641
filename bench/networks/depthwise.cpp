// MobileNetV2 (Sandler et al. 2018) and EfficientNet-B0 (Tan and Le 2019) for images of 32 × 32: the first stages keep the size.
#include "bench/networks/networks.h"

namespace sinter::bench {

namespace {

/// x · sigmoid(expand(silu(reduce(mean of each channel)))).
struct SqueezeExcite : nn::Module {
  nn::Dense reduce, expand;

  SqueezeExcite(std::int64_t channels, std::int64_t reduced)
      : Module("squeeze_excite"), reduce(channels, reduced, nn::Activation::silu), expand(reduced, channels, nn::Activation::sigmoid) {
    add(reduce);
    add(expand);
  }
  Tensor forward(const Tensor& x) override {
    const std::int64_t channels = x.shape().back().factor();
    return x * reshape(expand(reduce(mean(x, {1, 2}))), {x.dim(0), 1, 1, channels});
  }
};

/// 1 × 1 to more channels, depthwise, 1 × 1 to fewer; plus the input where the shape stays.
struct InvertedResidual : nn::Module {
  nn::Sequential body;
  bool adds;

  struct Form {
    std::int64_t size = 3;
    nn::Activation activation = nn::Activation::relu6;
    bool excites = false;
  };
  InvertedResidual(std::int64_t channels, std::int64_t features, std::int64_t expansion, std::int64_t stride, const Form& form)
      : Module("inverted_residual"), adds(stride == 1 && channels == features) {
    const std::int64_t inner = channels * expansion;
    if (expansion > 1) body += normalized_convolution(channels, inner, 1, 1, form.activation);
    body += normalized_convolution(inner, inner, form.size, stride, form.activation, inner);
    if (form.excites) body += SqueezeExcite(inner, std::max<std::int64_t>(1, channels / 4));
    body += normalized_convolution(inner, features, 1);
    add(body);
  }
  Tensor forward(const Tensor& x) override {
    const Tensor y = body(x);
    return adds ? x + y : y;
  }
};

struct Stage {
  std::int64_t expansion, features;
  int blocks;
  std::int64_t stride, size = 3;
};

std::shared_ptr<nn::Module> inverted(const std::vector<Stage>& stages, std::int64_t last, InvertedResidual::Form form) {
  nn::Sequential layers;
  layers += normalized_convolution(3, 32, 3, 1, form.activation);
  std::int64_t channels = 32;
  for (const Stage& stage : stages)
    for (int i = 0; i < stage.blocks; ++i) {
      form.size = stage.size;
      layers += InvertedResidual(channels, stage.features, stage.expansion, i == 0 ? stage.stride : 1, form);
      channels = stage.features;
    }
  layers += normalized_convolution(channels, last, 1, 1, form.activation);
  layers += nn::GlobalAveragePool();
  layers += nn::Dense(last, 10);
  return nn::share(std::move(layers));
}

std::shared_ptr<nn::Module> mobilenet() {
  return inverted({{1, 16, 1, 1}, {6, 24, 2, 1}, {6, 32, 3, 2}, {6, 64, 4, 2}, {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}}, 1280, {});
}
std::shared_ptr<nn::Module> efficientnet() {
  return inverted({{1, 16, 1, 1}, {6, 24, 2, 2}, {6, 40, 2, 2, 5}, {6, 80, 3, 2}, {6, 112, 3, 1, 5}, {6, 192, 4, 2, 5}, {6, 320, 1, 1}}, 1280,
                  {.activation = nn::Activation::silu, .excites = true});
}

}  // namespace

std::vector<NetworkSpec> depthwise_networks() {
  return {{"mobilenet_v2", mobilenet, images_of<32>, ten_classes, loss::sparse_categorical_crossentropy_from_logits},
          {"efficientnet_b0", efficientnet, images_of<32>, ten_classes, loss::sparse_categorical_crossentropy_from_logits}};
}

}  // namespace sinter::bench
