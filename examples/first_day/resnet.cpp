// A residual network for images, whose blocks are custom modules in a Sequential. On MNIST, or on Debian's Fashion-MNIST.
#include <sinter/sinter.h>

#include <iostream>

using namespace sinter;

/// relu(f(x) + shortcut(x)), with f two 3x3 convolutions, each with batch normalization; the shortcut is x, or a 1x1 convolution where the shape
/// changes.
struct Block : nn::Module {
  nn::Sequential body, shortcut;

  Block(std::int64_t channels, std::int64_t features, std::int64_t stride) : Module("block") {
    const nn::ConvolutionOptions strided{.strides = {stride}, .padding = Padding::same(), .weight = init::he_normal(), .use_bias = false};
    body += nn::Conv2D(channels, features, {3}, Activation::none, strided);
    body += nn::BatchNorm(features);
    body += nn::ReLU();
    body += nn::Conv2D(features, features, {3}, Activation::none, {.padding = Padding::same(), .weight = init::he_normal(), .use_bias = false});
    body += nn::BatchNorm(features);
    if (stride != 1 || channels != features) shortcut += nn::Conv2D(channels, features, {1}, Activation::none, strided);
    else shortcut += nn::Identity();
    add(body);
    add(shortcut);
  }

  Tensor forward(const Tensor& x) override {
    const Tensor change = body(x);
    return relu(shortcut(x) + change);
  }
};

nn::Sequential resnet(std::int64_t width, int blocks_per_stage) {
  nn::Sequential model{nn::Reshape({28, 28, 1}), nn::Conv2D(1, width, {3}, Activation::relu, {.padding = Padding::same()})};
  std::int64_t channels = width;
  for (int stage = 0; stage < 3; ++stage)
    for (int i = 0; i < blocks_per_stage; ++i) {
      const std::int64_t features = width << stage;
      model += Block(channels, features, stage > 0 && i == 0 ? 2 : 1);
      channels = features;
    }
  model += nn::GlobalAveragePool();
  model += nn::Dense(channels, 10);
  return model;
}

int main(int argc, char** argv) try {
  const auto [train, test] = data::mnist(argc > 1 ? argv[1] : "/usr/share/datasets/fashion-mnist");
  const std::int64_t samples = argc > 2 ? std::stoll(argv[2]) : 60000;
  seed(1);
  nn::Sequential model = resnet(8, 2);
  std::cout << model.summary({DType::f32, {Dim::batch(), 784}});
  Trainer trainer(model, loss::sparse_categorical_crossentropy_from_logits, optim::SGD({.learning_rate = 0.05, .momentum = 0.9}));
  const std::int64_t steps = samples / 64;
  trainer.fit(train, {.epochs = 2, .batch_size = 64, .steps_per_epoch = steps, .schedule = schedule::one_cycle(0.1f)});
  std::cout << "test accuracy " << 100 * *trainer.evaluate(test).accuracy << " %\n";
} catch (const Error& error) {
  std::cerr << "error: " << error.what() << "\n";
  return 1;
}
