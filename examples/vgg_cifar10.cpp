// Trains a small VGG on CIFAR-10 with flipped and shifted images, which are prefetched during training; on generated images if no folder is given.
#include <sinter/sinter.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <random>

using namespace sinter;

namespace {

/// Ten classes of stripes, which differ in direction and width.
Dataset make_stripes(std::int64_t samples, unsigned seed_value) {
  std::mt19937 random(seed_value);
  const auto below = [&](std::uint32_t bound) { return static_cast<std::uint32_t>(random() % bound); };
  std::vector<std::uint8_t> x, y;
  for (std::int64_t i = 0; i < samples; ++i) {
    const std::uint32_t label = below(10), phase = below(16), width = 2 + label / 2;
    for (std::uint32_t h = 0; h < 32; ++h)
      for (std::uint32_t w = 0; w < 32; ++w)
        for (std::uint32_t c = 0; c < 3; ++c) {
          const bool bright = ((label % 2 ? h : w) + phase) / width % 2;
          x.push_back(static_cast<std::uint8_t>(60 + 80 * bright + below(60)));
        }
    y.push_back(static_cast<std::uint8_t>(label));
  }
  return {Tensor(x, {samples, 32, 32, 3}), Tensor(y, {samples}), 1.0f / 255};
}

nn::Sequential make_model() {
  using enum nn::Activation;
  const auto conv = [](std::int64_t from, std::int64_t to, nn::Activation activation) {
    return nn::Conv2D(from, to, {3}, activation, {.padding = Padding::same()});
  };
  const auto rectified = [] { return nn::Lambda([](const Tensor& x) { return sinter::relu(x); }); };
  return nn::Sequential{conv(3, 50, relu),   conv(50, 50, none),         nn::MaxPool2D({2}), rectified(),       nn::Dropout(0.25),
                        conv(50, 100, relu), conv(100, 100, none),       nn::MaxPool2D({2}), rectified(),       nn::Dropout(0.25),
                        nn::Flatten(),       nn::Dense(6400, 512, relu), nn::Dropout(0.5),   nn::Dense(512, 10)};
}

}  // namespace

int main(int argc, char** argv) {
  std::string folder;
  std::int64_t epochs = 10, samples = 0;
  bool augment = false;
  CLI::App app{"Trains 3×3 convolutions of 50, 50, 100 and 100 features and two dense layers, SGD with momentum 0.9, batch 64"};
  app.add_option("folder", folder, "folder with CIFAR-10's binary files; without it, generated stripes");
  app.add_option("--epochs", epochs)->capture_default_str()->check(CLI::Range(1, 10000));
  app.add_option("--samples", samples, "train on this number of samples; 0: all")->check(CLI::Range(0, 1000000));
  app.add_flag("--augment", augment, "mirror and shift the images, anew each epoch");
  CLI11_PARSE(app, argc, argv);
  try {
    std::pair<Dataset, Dataset> sets = folder.empty() ? std::pair(make_stripes(640, 1), make_stripes(128, 2)) : data::cifar10(folder);
    if (samples) sets.first = sets.first.slice(0, std::min(samples, sets.first.size()));
    seed(1);
    nn::Sequential model = make_model();
    Trainer trainer(model, loss::sparse_categorical_crossentropy_from_logits, optim::SGD({.learning_rate = 0.01, .momentum = 0.9}));
    const FitOptions options{.epochs = epochs, .batch_size = 64, .validation = sets.second};
    if (augment) trainer.fit(data::augmented(sets.first, {.shift = 4}), options);
    else trainer.fit(sets.first, options);
    std::cout << "test accuracy " << *trainer.evaluate(sets.second).accuracy * 100 << " %\n";
  } catch (const Error& error) {
    std::cerr << "error: " << error.what() << "\n";
    return 1;
  }
}
