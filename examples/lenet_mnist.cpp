// Trains LeNet on MNIST, or on Debian's Fashion-MNIST if no folder is given; then measures the time per image, for single images and batches of 64.
#include <sinter/sinter.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <iostream>
#include <limits>

using namespace sinter;

namespace {

/// Seconds of the fastest of 50 calls.
template <class F>
double fastest(F&& f) {
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < 50; ++i) {
    const auto start = std::chrono::steady_clock::now();
    f();
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return best;
}

}  // namespace

int main(int argc, char** argv) {
  std::string folder = "/usr/share/datasets/fashion-mnist";
  std::int64_t epochs = 10, batch = 64, samples = 60000;
  CLI::App app{"Trains LeNet with SGD and momentum, and prints the accuracy on the test set and the time an image takes"};
  app.add_option("folder", folder, "folder with the four IDX files of MNIST or Fashion-MNIST")->capture_default_str();
  app.add_option("--epochs", epochs)->capture_default_str()->check(CLI::Range(1, 10000));
  app.add_option("--batch", batch)->capture_default_str()->check(CLI::Range(1, 60000));
  app.add_option("--samples", samples, "train on this number of samples")->capture_default_str()->check(CLI::Range(1, 60000));
  CLI11_PARSE(app, argc, argv);
  try {
    const auto [train, test] = data::mnist(folder);
    seed(1);
    nn::Sequential model{nn::Reshape({28, 28, 1}),
                         nn::Conv2D(1, 20, {5}),
                         nn::MaxPool2D({2}),
                         nn::Conv2D(20, 50, {5}),
                         nn::MaxPool2D({2}),
                         nn::Flatten(),
                         nn::Dense(800, 500, Activation::relu),
                         nn::Dense(500, 10)};
    Trainer trainer(model, loss::sparse_categorical_crossentropy_from_logits, optim::SGD({.learning_rate = 0.01, .momentum = 0.9}));
    trainer.fit(train.slice(0, std::min(samples, train.size())), {.epochs = epochs, .batch_size = batch, .validation = test});
    std::cout << trainer.summary() << "test accuracy " << *trainer.evaluate(test).accuracy * 100 << " %\n";

    const std::vector<float> one = (cast(test.slice(0, 1).x.only(), DType::f32) * test.scale).to_vector<float>();
    std::vector<float> scores(10);
    trainer.predict_one(one, scores);
    const auto best = std::max_element(scores.begin(), scores.end()) - scores.begin();
    const Tensor several = test.slice(0, 64).x;
    trainer.predict(several);
    std::cout << "the first image is a " << best << " (it says " << static_cast<int>(test.y.only().to_vector<std::uint8_t>()[0]) << ")\n"
              << "alone: " << fastest([&] { trainer.predict_one(one, scores); }) * 1e6
              << " us, of 64: " << fastest([&] { trainer.predict(several); }) / 64 * 1e6 << " us an image\n";
  } catch (const Error& error) {
    std::cerr << "error: " << error.what() << "\n";
    return 1;
  }
}
