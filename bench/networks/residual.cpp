// ResNet-18 and -50 (He et al. 2016) for images of 32 × 32: a first convolution of 3 × 3 and no pool after it.
#include "bench/networks/networks.h"

namespace sinter::bench {

namespace {

/// relu(body(x) + shortcut(x)); the shortcut is x, or a 1 × 1 convolution where the shape changes.
struct ResidualBlock : nn::Module {
  nn::Sequential body;
  std::shared_ptr<nn::Module> shortcut;

  ResidualBlock(const nn::Sequential& layers, std::int64_t channels, std::int64_t features, std::int64_t stride) : Module("block"), body(layers) {
    shortcut = stride == 1 && channels == features ? nn::share(nn::Identity()) : nn::share(normalized_convolution(channels, features, 1, stride));
    add(body);
    add(*shortcut);
  }
  Tensor forward(const Tensor& x) override { return sinter::relu(body(x) + (*shortcut)(x)); }
};

ResidualBlock basic_block(std::int64_t channels, std::int64_t width, std::int64_t stride) {
  return {nn::Sequential{normalized_convolution(channels, width, 3, stride, Activation::relu), normalized_convolution(width, width, 3)}, channels,
          width, stride};
}
ResidualBlock bottleneck(std::int64_t channels, std::int64_t width, std::int64_t stride) {
  return {nn::Sequential{normalized_convolution(channels, width, 1, 1, Activation::relu),
                         normalized_convolution(width, width, 3, stride, Activation::relu), normalized_convolution(width, 4 * width, 1)},
          channels, 4 * width, stride};
}

std::shared_ptr<nn::Module> resnet(ResidualBlock (*block)(std::int64_t, std::int64_t, std::int64_t), std::int64_t expansion,
                                   const std::vector<int>& blocks) {
  nn::Sequential layers;
  layers += normalized_convolution(3, 64, 3, 1, Activation::relu);
  std::int64_t channels = 64, width = 64;
  for (std::size_t stage = 0; stage < blocks.size(); ++stage, width *= 2)
    for (int i = 0; i < blocks[stage]; ++i) {
      layers += block(channels, width, stage > 0 && i == 0 ? 2 : 1);
      channels = expansion * width;
    }
  layers += nn::GlobalAveragePool();
  layers += nn::Dense(channels, 10);
  return nn::share(std::move(layers));
}

std::shared_ptr<nn::Module> resnet18() { return resnet(basic_block, 1, {2, 2, 2, 2}); }
std::shared_ptr<nn::Module> resnet50() { return resnet(bottleneck, 4, {3, 4, 6, 3}); }

}  // namespace

std::vector<NetworkSpec> residual_networks() {
  return {{"resnet18", resnet18, images_of<32>, ten_classes, loss::sparse_categorical_crossentropy_from_logits},
          {"resnet50", resnet50, images_of<32>, ten_classes, loss::sparse_categorical_crossentropy_from_logits}};
}

}  // namespace sinter::bench
