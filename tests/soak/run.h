// A training run with all that a checkpoint must keep: dropout, batch statistics, an optimizer with slots and averages, a schedule, weights, metrics,
// validation and callbacks.
#pragma once

#include <sinter/sinter.h>

#include <memory>
#include <string>
#include <vector>

#include "frontend/core/random.h"

namespace sinter::test {

struct RunOptions {
  CheckpointOptions checkpoint = {};
  Mode mode = Mode::eager;
  bool generator = false;  ///< data in pieces of several sizes instead of in memory
  std::int64_t epochs = 3;
  std::vector<std::shared_ptr<Callback>> callbacks = {};
  std::function<void(const std::string&)> log = [](const std::string&) {};
  bool stop_on_interrupt = false;
};

/// Two classes of points, one inside of the other.
inline Dataset rings(std::int64_t samples, std::uint64_t stream) {
  RandomStream random(31, stream);
  std::vector<float> x, weights;
  std::vector<std::int32_t> y;
  for (std::int64_t i = 0; i < samples; ++i) {
    const double a = random.normal(), b = random.normal();
    x.insert(x.end(), {static_cast<float>(a), static_cast<float>(b)});
    y.push_back(a * a + b * b > 1);
    weights.push_back(static_cast<float>(0.5 + random.uniform()));
  }
  return {Tensor(x, {samples, 2}), Tensor(y, {samples}), 1, Tensor(weights, {samples})};
}

/// What a run leaves: the bytes of all states by name, and the results of its epochs.
struct RunResult {
  std::vector<std::pair<std::string, std::vector<float>>> states;
  std::vector<std::vector<std::pair<std::string, double>>> epochs;  ///< without their seconds
  bool operator==(const RunResult&) const = default;
};

/// The same program each time. 45 samples in batches of 8: 6 steps an epoch, the last one smaller; or pieces of 13, 20 and 12 samples.
inline RunResult train(const RunOptions& options) {
  seed(12);
  nn::Sequential model{nn::Dense(2, 9, nn::Activation::relu), nn::BatchNorm(9), nn::Dropout(0.2), nn::Dense(9, 2)};
  Trainer trainer(model, loss::categorical_crossentropy_from_logits, optim::Adam({.learning_rate = 0.02, .common = {.average_decay = 0.9}}),
                  {.mode = options.mode, .metrics = {metric::accuracy(), metric::top_k_accuracy(1)}, .log = options.log});
  FitOptions fit{.epochs = options.epochs, .batch_size = 8, .validation = rings(20, 2), .seed = 5, .verbose = false};
  fit.schedule = [](std::int64_t step, std::int64_t) { return 0.02f / (1 + 0.05f * static_cast<float>(step)); };
  fit.callbacks = options.callbacks;
  fit.checkpoint = options.checkpoint;
  fit.stop_on_interrupt = options.stop_on_interrupt;
  const auto piece = [](std::int64_t epoch, std::int64_t number) -> std::optional<Dataset> {
    constexpr std::int64_t sizes[] = {13, 20, 12};
    if (number == 3) return std::nullopt;
    return rings(sizes[number], static_cast<std::uint64_t>(100 * epoch + number));
  };
  if (options.generator) fit.steps_per_epoch = 6;
  RunResult result;
  for (const EpochResult& epoch : options.generator ? trainer.fit(piece, fit) : trainer.fit(rings(45, 1), fit)) {
    auto values = epoch.values();
    std::erase_if(values, [](const auto& value) { return value.first == "seconds"; });
    result.epochs.push_back(std::move(values));
  }
  for (const Parameter& p : trainer.parameters()) {
    const Tensor value = cast(p.read(), DType::f32);
    result.states.emplace_back(p.name(), value.to_vector<float>());
  }
  return result;
}

}  // namespace sinter::test
