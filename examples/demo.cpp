// Trains a multi-layer perceptron eagerly and compiled, from the same initial weights and data, and prints accuracies and times side by side.
#include <sinter/sinter.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <limits>

using namespace sinter;

namespace {

struct Run {
  double accuracy = 0, epoch_seconds = std::numeric_limits<double>::infinity(), compile_seconds = 0;
};

Run run(Mode mode, const Dataset& train, const Dataset& test, std::int64_t epochs) {
  seed(1);
  nn::Sequential model{nn::Dense(784, 70, Activation::sigmoid), nn::Dense(70, 30, Activation::sigmoid), nn::Dense(30, 10, Activation::sigmoid)};
  const auto regularizer = [&] { return loss::l2(1e-5f, {model.parameter("dense_1.weight"), model.parameter("dense_2.weight")}); };
  Trainer trainer(model, loss::categorical_crossentropy, optim::RMSprop({.learning_rate = 1e-3f}), {.mode = mode, .regularizer = regularizer});
  Run result;
  for (const EpochResult& epoch : trainer.fit(train, {.epochs = epochs, .batch_size = 500, .validation = test})) {
    result.accuracy = *epoch.validation_accuracy * 100;
    result.epoch_seconds = std::min(result.epoch_seconds, epoch.seconds);
  }
  result.compile_seconds = trainer.train_step().compile_seconds();
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  std::string folder;
  std::int64_t epochs = 10;
  CLI::App app{"Trains the multi-layer perceptron eagerly and compiled and compares them"};
  app.add_option("folder", folder, "folder with the four IDX files of MNIST; without it Debian's Fashion-MNIST");
  app.add_option("--epochs", epochs)->capture_default_str()->check(CLI::Range(1, 10000));
  CLI11_PARSE(app, argc, argv);
  const std::string fashion = "/usr/share/datasets/fashion-mnist";
  try {
    const auto [train, test] = data::mnist(folder.empty() ? fashion : folder);
    std::cout << "data: " << (folder.empty() ? "Fashion-MNIST of Debian's dataset-fashion-mnist" : "the IDX files in " + folder) << ", "
              << train.size() << " training and " << test.size()
              << " test images\nmodel: 784-70-30-10, sigmoid; categorical cross-entropy; RMSprop; batch 500\n\n--- eager, line by line\n";
    const Run eager = run(Mode::eager, train, test, epochs);
    std::cout << "\n--- compiled\n";
    const Run graph = run(Mode::graph, train, test, epochs);
    std::printf("\n%-22s %12s %12s\n", "", "eager", "compiled");
    std::printf("%-22s %10.2f %% %10.2f %%\n", "test accuracy", eager.accuracy, graph.accuracy);
    std::printf("%-22s %10.3f s %10.3f s\n", "fastest epoch", eager.epoch_seconds, graph.epoch_seconds);
    std::printf("%-22s %12s %10.3f s\n", "compile time", "", graph.compile_seconds);
    std::printf("%-22s %12s %10.2f x\n", "speed-up", "", eager.epoch_seconds / graph.epoch_seconds);
    return std::abs(eager.accuracy - graph.accuracy) < 2 ? 0 : 1;
  } catch (const Error& error) {
    std::cerr << "error: " << error.what() << "\n";
    return 1;
  }
}
