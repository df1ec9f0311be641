// A recurrent cell of one's own through scan(): the minimal gated unit (Zhou et al. 2016), which has one gate where a GRU has two. It learns to
// add two marked numbers of a long sequence (Hochreiter and Schmidhuber 1997), eagerly and compiled.
#include <sinter/sinter.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <random>

using namespace sinter;

namespace {

/// h ← (1 − f) h + f tanh(x W + (f h) U + b), where f is sigmoid(x V + h R + c).
struct MinimalGatedUnit : nn::Module {
  Parameter gate_weight, gate_recurrent, gate_bias, weight, recurrent_weight, bias;

  MinimalGatedUnit(std::int64_t inputs, std::int64_t units) : Module("minimal_gated_unit") {
    const auto matrix = init::glorot_uniform(), square = init::orthogonal();
    gate_weight = add("gate_weight", matrix({inputs, units}));
    gate_recurrent = add("gate_recurrent", square({units, units}));
    gate_bias = add("gate_bias", Tensor::filled({DType::f32, {units}}, -1));  // remembers at first
    weight = add("weight", matrix({inputs, units}));
    recurrent_weight = add("recurrent_weight", square({units, units}));
    bias = add("bias", Tensor::zeros({DType::f32, {units}}));
  }

  /// The last state, [N, units], of sequences x [N, T, inputs].
  Tensor forward(const Tensor& x) override {
    const auto step = [&](const Tensor& h, const Tensor& x) {
      const Tensor f = sigmoid(matmul(x, gate_weight) + matmul(h, gate_recurrent) + gate_bias);
      return (1 - f) * h + f * tanh(matmul(x, weight) + matmul(f * h, recurrent_weight) + bias);
    };
    const Tensor zero = broadcast_to(Tensor(0.0f), {x.dim(0), bias.type().shape[0]});
    return scan(step, {zero}, {x}).carries[0];
  }
};

/// Sequences of numbers in [0, 1), two of which are marked; y is the sum of those.
std::pair<Tensor, Tensor> marked_numbers(std::int64_t count, std::int64_t length, std::mt19937& random) {
  const auto below = [&](std::int64_t n) { return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n)); };
  std::vector<float> x, y;
  for (std::int64_t n = 0; n < count; ++n) {
    const std::int64_t first = below(length / 2), second = length / 2 + below(length - length / 2);
    float sum = 0;
    for (std::int64_t t = 0; t < length; ++t) {
      const float number = static_cast<float>(random() % 1024) / 1024;
      const bool marked = t == first || t == second;
      x.insert(x.end(), {number, marked ? 1.0f : 0.0f});
      if (marked) sum += number;
    }
    y.push_back(sum);
  }
  return {Tensor(x, {count, length, 2}), Tensor(y, {count, 1})};
}

struct Run {
  double error = 0, step = 0;  // mean squared error on new sequences, seconds of a training step
};

Run run(Mode mode, std::int64_t steps, std::int64_t length) {
  seed(1);
  std::mt19937 random(2);
  nn::Sequential model{MinimalGatedUnit(2, 32), nn::Dense(32, 1)};
  Trainer trainer(model, loss::mean_squared_error, optim::Adam({.learning_rate = 5e-3}), {.mode = mode});
  double seconds = 0;
  for (std::int64_t i = 0; i < steps; ++i) {
    const auto [x, y] = marked_numbers(64, length, random);
    const auto start = std::chrono::steady_clock::now();
    trainer.train_on_batch(x, y);
    if (i > 0) seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();  // the first one compiles
  }
  const auto [x, y] = marked_numbers(1000, length, random);
  return {trainer.evaluate({x, y}).loss, seconds / static_cast<double>(std::max<std::int64_t>(steps - 1, 1))};
}

}  // namespace

int main(int argc, char** argv) {
  std::int64_t steps = 600, length = 30;
  bool eager = false;
  CLI::App app{"A recurrent cell of one's own learns to add two marked numbers of a sequence"};
  app.add_option("--steps", steps, "training steps")->capture_default_str()->check(CLI::Range(1, 1000000));
  app.add_option("--length", length, "numbers in a sequence")->capture_default_str()->check(CLI::Range(2, 10000));
  app.add_flag("--eager", eager, "train eagerly, too");
  CLI11_PARSE(app, argc, argv);
  try {
    std::printf("%-10s %14s %22s\n", "", "a step", "mean squared error");
    const Run compiled = run(Mode::graph, steps, length);
    std::printf("%-10s %11.3f ms %22.5f\n", "compiled", compiled.step * 1e3, compiled.error);
    if (eager) {
      const Run result = run(Mode::eager, steps, length);
      std::printf("%-10s %11.3f ms %22.5f\n", "eager", result.step * 1e3, result.error);
    }
    std::printf("1 for each sequence would have an error of 0.1667\n");
    return 0;
  } catch (const Error& error) {
    std::cerr << "error: " << error.what() << "\n";
    return 1;
  }
}
