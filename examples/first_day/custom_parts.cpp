// A custom layer, loss, metric, callback and schedule, and two parameter groups.
#include <sinter/sinter.h>

#include <algorithm>
#include <cmath>
#include <iostream>

using namespace sinter;

/// Radial basis functions: exp(-|x - c|² / (2 s²)) for learned centres c [units, inputs] and widths s [units].
struct RadialBasis : nn::Module {
  Parameter centres, widths;
  RadialBasis(std::int64_t inputs, std::int64_t units) : Module("radial_basis") {
    centres = add("centres", init::uniform(-1, 1)({units, inputs}));
    widths = add("widths", Tensor::filled({DType::f32, {units}}, 0.5));
  }
  Tensor forward(const Tensor& x) override {  // |x - c|² = |x|² - 2 x c + |c|²
    const Tensor distance = sum(square(x), {-1}, true) - 2 * matmul(x, centres, false, true) + sum(square(centres), {-1});
    return exp(-distance / (2 * square(widths)));
  }
};

/// The pinball loss of a quantile q (Koenker and Bassett 1978): its minimum lies where a part q of the targets is smaller.
Loss quantile(float q) {
  return Loss("quantile_loss", [q](const Tensor& p, const Tensor& y) { return maximum(q * (y - p), (q - 1) * (y - p)); });
}

/// The part of the targets that are below the prediction.
struct Coverage : Metric {
  Coverage() : Metric("coverage") {}
  void reset() override { below = all = 0; }
  void update(const MetricBatch& batch) override {
    for (std::size_t i = 0; i < batch.prediction.size(); ++i, ++all) below += batch.target[i] < static_cast<double>(batch.prediction[i]);
  }
  double result() const override { return below / all; }
  double below = 0, all = 0;
};

/// Stops as soon as a value of an epoch is good enough.
struct StopBelow : Callback {
  StopBelow(std::string value, double limit) : value(std::move(value)), limit(limit) {}
  std::vector<std::string> monitored() const override { return {value}; }
  void on_epoch_end(Trainer& trainer, const EpochResult& result) override {
    if (result.value(value) < limit) trainer.stop();
  }
  std::string value;
  double limit;
};

int main() {
  seed(1);
  nn::Sequential model{RadialBasis(1, 24), nn::Dense(24, 1)};
  optim::Groups groups{{.pattern = "*.centres", .rate = 0.1f}, {.pattern = "*.widths", .rate = 0.1f, .weight_decay = 0.0f}};
  Trainer trainer(model, quantile(0.9f), optim::AdamW({.learning_rate = 1e-2f, .weight_decay = 1e-4f, .common = {.groups = groups}}),
                  {.metrics = {std::make_shared<Coverage>()}});

  // y = sin(3x) + noise in [-0.5, 0.5): the 0.9 quantile is sin(3x) + 0.4.
  const Tensor x = init::uniform(-1, 1)({4000, 1});
  const Dataset data{x, sin(3 * x) + init::uniform(-0.5, 0.5)({4000, 1})};
  const auto sawtooth = [](std::int64_t step, std::int64_t) { return 1e-2f * (1 - 0.9f * static_cast<float>(step % 500) / 500); };
  const auto epochs = trainer.fit(data, {.epochs = 100,
                                         .validation_split = 0.2,
                                         .verbose = false,
                                         .schedule = sawtooth,
                                         .callbacks = {std::make_shared<StopBelow>("val_loss", 0.0465)}});
  const Tensor line = Tensor({-0.8f, -0.4f, 0, 0.4f, 0.8f}, {5, 1});
  const double error = max(abs(trainer.predict(line) - (sin(3 * line) + 0.4f))).item();
  std::cout << epochs.size() << " epochs, coverage " << epochs.back().value("val_coverage") << ", greatest error of the quantile " << error << "\n";
  return std::abs(epochs.back().value("val_coverage") - 0.9) < 0.04 && error < 0.15 ? 0 : 1;
}
