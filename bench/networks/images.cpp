// DenseNet (Huang et al. 2017), U-Net (Ronneberger et al. 2015) and an autoencoder with transposed convolutions.
#include "bench/networks/networks.h"

namespace sinter::bench {

namespace {

// ---- DenseNet ----

nn::Sequential before_convolution(std::int64_t channels, std::int64_t features, std::int64_t size) {
  return nn::Sequential{
      nn::BatchNorm(channels), nn::ReLU(),
      nn::Conv2D(channels, features, {size}, Activation::none, {.padding = Padding::around({size / 2, size / 2}), .use_bias = false})};
}

/// So many more channels, made of all those before.
nn::Concat dense_block(std::int64_t channels, std::int64_t growth) {
  return nn::Concat(nn::Sequential{before_convolution(channels, 4 * growth, 1), before_convolution(4 * growth, growth, 3)}, nn::Identity());
}

std::shared_ptr<nn::Module> densenet() {
  constexpr std::int64_t growth = 12;
  nn::Sequential layers;
  layers += nn::Conv2D(3, 2 * growth, {3}, Activation::none, {.padding = Padding::same(), .use_bias = false});
  std::int64_t channels = 2 * growth;
  for (const int blocks : {6, 12, 24, 16}) {
    for (int i = 0; i < blocks; ++i, channels += growth) layers += dense_block(channels, growth);
    if (blocks == 16) break;  // the last stage
    layers += before_convolution(channels, channels / 2, 1);
    layers += nn::AveragePool2D({2});
    channels /= 2;
  }
  layers += nn::BatchNorm(channels);
  layers += nn::ReLU();
  layers += nn::GlobalAveragePool();
  layers += nn::Dense(channels, 10);
  return nn::share(std::move(layers));
}

// ---- U-Net ----

nn::Sequential two_convolutions(std::int64_t channels, std::int64_t features) {
  return nn::Sequential{normalized_convolution(channels, features, 3, 1, Activation::relu),
                        normalized_convolution(features, features, 3, 1, Activation::relu)};
}

/// Two convolutions; then, of half the image, the next level, whose result is laid beside theirs, and two convolutions of both.
struct UNetLevel : nn::Module {
  nn::Sequential down, up;
  std::shared_ptr<nn::Module> below;
  nn::Conv2DTranspose grow;

  UNetLevel(std::int64_t channels, std::int64_t features, std::shared_ptr<nn::Module> next)
      : Module("level"),
        down(two_convolutions(channels, features)),
        up(two_convolutions(2 * features, features)),
        below(std::move(next)),
        grow(2 * features, features, {2}, Activation::none, {.strides = {2}}) {
    add(down);
    add(*below);
    add(grow);
    add(up);
  }
  Tensor forward(const Tensor& x) override {
    const Tensor seen = down(x);
    return up(concat({grow((*below)(max_pool2d(seen, {2}))), seen}, -1));
  }
};

std::shared_ptr<nn::Module> unet() {
  std::shared_ptr<nn::Module> level = nn::share(two_convolutions(128, 256));
  for (const std::int64_t features : {128, 64, 32}) level = std::make_shared<UNetLevel>(features == 32 ? 3 : features / 2, features, level);
  return nn::share(nn::Sequential{level, nn::Conv2D(32, 1, {1})});
}

Tensor mask_of_pixels(std::int64_t samples, std::uint64_t stream) { return uniform({samples, 64, 64, 1}, 0, 1, stream); }

// ---- autoencoder ----

std::shared_ptr<nn::Module> autoencoder() {
  const nn::ConvolutionOptions strided{.strides = {2}, .padding = Padding::same()};
  return nn::share(nn::Sequential{
      nn::Conv2D(3, 32, {3}, Activation::relu, strided), nn::Conv2D(32, 64, {3}, Activation::relu, strided),
      nn::Conv2D(64, 128, {3}, Activation::relu, strided), nn::Flatten(), nn::Dense(8 * 8 * 128, 64), nn::Dense(64, 8 * 8 * 128, Activation::relu),
      nn::Reshape({8, 8, 128}), nn::Conv2DTranspose(128, 64, {3}, Activation::relu, strided),
      nn::Conv2DTranspose(64, 32, {3}, Activation::relu, strided), nn::Conv2DTranspose(32, 3, {3}, Activation::sigmoid, strided)});
}

Tensor images_again(std::int64_t samples, std::uint64_t stream) { return images_of<64>(samples, stream - 10)[0]; }

}  // namespace

std::vector<NetworkSpec> image_networks() {
  return {{"densenet", densenet, images_of<32>, ten_classes, loss::sparse_categorical_crossentropy_from_logits},
          {"unet", unet, images_of<64>, mask_of_pixels, loss::binary_crossentropy_from_logits},
          {"autoencoder", autoencoder, images_of<64>, images_again, loss::mean_squared_error}};
}

}  // namespace sinter::bench
