// A small U-Net (Ronneberger et al. 2015): finds the pixels of discs among squares and noise.
#include <sinter/sinter.h>

#include <iostream>
#include <random>

using namespace sinter;

constexpr std::int64_t side = 32;

/// Two 3x3 convolutions, each with batch normalization.
nn::Sequential twice(std::int64_t channels, std::int64_t features) {
  nn::Sequential layers;
  for (const std::int64_t inputs : {channels, features}) {
    layers += nn::Conv2D(inputs, features, {3}, Activation::none, {.padding = Padding::same(), .weight = init::he_normal(), .use_bias = false});
    layers += nn::BatchNorm(features);
    layers += nn::ReLU();
  }
  return layers;
}

/// Down to a quarter of the image's sides and up again; each level on the way up also sees what was there on the way down.
struct UNet : nn::Module {
  nn::Sequential down_1 = twice(1, 8), down_2 = twice(8, 16), bottom = twice(16, 32), up_2 = twice(32, 16), up_1 = twice(16, 8);
  nn::Conv2DTranspose grow_2{32, 16, {2}, Activation::none, {.strides = {2}}}, grow_1{16, 8, {2}, Activation::none, {.strides = {2}}};
  nn::Conv2D last{8, 1, {1}};

  UNet() : Module("unet") { add(down_1), add(down_2), add(bottom), add(grow_2), add(up_2), add(grow_1), add(up_1), add(last); }

  Tensor forward(const Tensor& x) override {
    const Tensor one = down_1(x);
    const Tensor two = down_2(max_pool2d(one, {2}));
    const Tensor three = bottom(max_pool2d(two, {2}));
    const Tensor two_again = up_2(concat({grow_2(three), two}, -1));
    return last(up_1(concat({grow_1(two_again), one}, -1)));
  }
};

/// n images [n, side, side, 1] of two discs and two squares in noise, and their masks: 1 in a disc, 0 elsewhere.
Dataset shapes(std::int64_t n, std::mt19937& random) {
  const auto between = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
  std::vector<float> image(static_cast<std::size_t>(n * side * side)), mask(image.size());
  for (std::size_t i = 0; i < image.size(); i += side * side)
    for (const bool disc : {false, false, true, true}) {
      const int size = between(3, 6), row = between(6, side - 7), column = between(6, side - 7);
      for (int r = -size; r <= size; ++r)
        for (int c = -size; c <= size; ++c) {
          if (disc && r * r + c * c > size * size) continue;
          const std::size_t at = i + static_cast<std::size_t>((row + r) * side + column + c);
          image[at] = 1, mask[at] = disc ? 1 : 0;
        }
    }
  const Shape shape{n, side, side, 1};
  return {Tensor(image, shape) + init::normal(0, 0.3f)(shape), Tensor(mask, shape)};
}

int main() {
  seed(1);
  std::mt19937 random(7);
  const Dataset train = shapes(1000, random), test = shapes(100, random);
  UNet model;
  Trainer trainer(model, loss::binary_crossentropy_from_logits, optim::Adam(), {.metrics = {metric::binary_accuracy(0)}});
  trainer.fit(train, {.epochs = 10, .batch_size = 16, .validation = test, .schedule = schedule::one_cycle(1e-2f)});

  const Tensor found = trainer.predict(test.x) > 0, wanted = test.y[0] > 0.5f;
  const double both = sum(logical_and(found, wanted)).item(), either = sum(logical_or(found, wanted)).item();
  std::cout << "intersection over union of the discs: " << both / either << "\n";
  return both / either > 0.7 ? 0 : 1;
}
