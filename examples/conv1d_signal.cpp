// Detects a faint oscillation in noisy series of 30 channels with two convolutions. Trains by single steps and by fit, eagerly and compiled.
#include <sinter/sinter.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <random>

using namespace sinter;

namespace {

constexpr std::int64_t channels = 30, batch = 32;

/// In every other series some channels carry the same wave.
Dataset make_series(std::int64_t samples, std::int64_t length, unsigned seed_value) {
  std::mt19937 random(seed_value);
  const auto uniform = [&] { return (static_cast<double>(random()) + 0.5) / 4294967296.0; };
  const auto normal = [&] {  // Box-Muller, because distributions differ between standard libraries
    const double radius = std::sqrt(-2 * std::log(uniform()));
    return radius * std::cos(2 * M_PI * uniform());
  };
  std::vector<float> x;
  std::vector<std::int32_t> y;
  for (std::int64_t i = 0; i < samples; ++i) {
    const bool wave = i % 2 == 1;
    const double phase = 2 * M_PI * uniform();
    for (std::int64_t t = 0; t < length; ++t)
      for (std::int64_t c = 0; c < channels; ++c)
        x.push_back(static_cast<float>(normal() + (wave && c % 3 == 0 ? 0.7 * std::sin(phase + 0.9 * static_cast<double>(t)) : 0)));
    y.push_back(wave);
  }
  return {Tensor(x, {samples, length, channels}), Tensor(y, {samples})};
}

struct Result {
  double step = 0, epoch = 0, accuracy = 0;  // seconds per step and per epoch
};

Result run(Mode mode, const Dataset& train, const Dataset& test, std::int64_t epochs) {
  const auto clock = [] { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); };
  seed(1);
  nn::Sequential model{nn::Conv1D(channels, 40, 9, Activation::relu), nn::Conv1D(40, 80, 7, Activation::relu), nn::GlobalAveragePool(),
                       nn::Dropout(0.3), nn::Dense(80, 1)};
  Trainer trainer(model, loss::binary_crossentropy_from_logits, optim::Adam({.learning_rate = 1e-3}),
                  {.mode = mode, .metrics = {metric::binary_accuracy(0)}});
  const Dataset one = train.slice(0, batch);
  trainer.train_on_batch(one.x, one.y);  // compiles
  Result result;
  const double start = clock();
  trainer.train_on_batch(one.x, one.y);
  result.step = clock() - start;
  for (const EpochResult& epoch : trainer.fit(train, {.epochs = epochs, .batch_size = batch, .verbose = false}))
    result.epoch = result.epoch > 0 ? std::min(result.epoch, epoch.seconds) : epoch.seconds;
  result.accuracy = trainer.evaluate(test).metrics[0].second * 100;
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  std::string size = "small";
  std::int64_t samples = 512, epochs = 5;
  CLI::App app{"Trains a network of convolutions along time on generated series, eagerly and compiled"};
  app.add_option("--size", size, "series of 140, 1400 or 14000 steps")->capture_default_str()->check(CLI::IsMember({"small", "medium", "large"}));
  app.add_option("--samples", samples)->capture_default_str()->check(CLI::Range(64, 100000));
  app.add_option("--epochs", epochs)->capture_default_str()->check(CLI::Range(1, 1000));
  CLI11_PARSE(app, argc, argv);
  try {
    const std::int64_t length = size == "small" ? 140 : size == "medium" ? 1400 : 14000;
    const Dataset train = make_series(samples, length, 1), test = make_series(samples / 4, length, 2);
    const Result eager = run(Mode::eager, train, test, epochs), graph = run(Mode::graph, train, test, epochs);
    std::printf("%-22s %12s %12s\n", "", "eager", "compiled");
    std::printf("%-22s %9.2f ms %9.2f ms\n", "a step by itself", eager.step * 1e3, graph.step * 1e3);
    std::printf("%-22s %10.3f s %10.3f s\n", "fastest epoch of fit", eager.epoch, graph.epoch);
    std::printf("%-22s %10.2f %% %10.2f %%\n", "test accuracy", eager.accuracy, graph.accuracy);
    return std::min(eager.accuracy, graph.accuracy) > 80 ? 0 : 1;
  } catch (const Error& error) {
    std::cerr << "error: " << error.what() << "\n";
    return 1;
  }
}
