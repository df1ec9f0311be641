// Trains the README's multi-layer perceptron on MNIST, or on Debian's Fashion-MNIST if no folder is given.
#include <sinter/sinter.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <iostream>

using namespace sinter;

int main(int argc, char** argv) {
  std::string folder = "/usr/share/datasets/fashion-mnist";
  std::int64_t epochs = 35, batch = 500, seeds = 1;
  CLI::App app{"Trains 784-70-30 sigmoid, 10 logits, with RMSprop, and prints the accuracy on the test set"};
  app.add_option("folder", folder, "folder with the four IDX files of MNIST or Fashion-MNIST")->capture_default_str();
  app.add_option("--epochs", epochs)->capture_default_str()->check(CLI::Range(1, 10000));
  app.add_option("--batch", batch)->capture_default_str()->check(CLI::Range(1, 60000));
  app.add_option("--seeds", seeds, "number of trainings; their mean accuracy is printed")->capture_default_str()->check(CLI::Range(1, 100));
  bool validate = false;
  app.add_flag("--validate", validate, "also measure the accuracy on the test set after each epoch");
  CLI11_PARSE(app, argc, argv);
  try {
    const auto [train, test] = data::mnist(folder);
    double total = 0;
    for (std::int64_t s = 0; s < seeds; ++s) {
      seed(static_cast<std::uint64_t>(s));
      const auto start = std::chrono::steady_clock::now();
      nn::Sequential model{nn::Dense(784, 70, Activation::sigmoid), nn::Dense(70, 30, Activation::sigmoid), nn::Dense(30, 10)};
      const auto regularizer = [&] { return loss::l2(1e-5f, {model.parameter("dense_1.weight"), model.parameter("dense_2.weight")}); };
      Trainer trainer(model, loss::categorical_crossentropy_from_logits, optim::RMSprop({.learning_rate = 1e-3f}), {.regularizer = regularizer});
      trainer.fit(train, {.epochs = epochs,
                          .batch_size = batch,
                          .validation = validate ? std::optional(test) : std::nullopt,
                          .seed = static_cast<std::uint64_t>(s)});
      const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
      const Evaluation result = trainer.evaluate(test);
      std::cout << "seed " << s << ": test loss " << result.loss << ", test accuracy " << *result.accuracy * 100 << " %, " << spent.count() << " s\n";
      total += *result.accuracy;
    }
    std::cout << "mean test accuracy of " << seeds << " run(s): " << total / static_cast<double>(seeds) * 100 << " %\n";
  } catch (const Error& error) {
    std::cerr << "error: " << error.what() << "\n";
    return 1;
  }
}
