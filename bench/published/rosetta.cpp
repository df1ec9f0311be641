// The rosetta stone of frameworks, article R: a CNN on CIFAR-10 and a GRU on IMDB's reviews, by the settings of the repository behind the article.
#include <array>
#include <cmath>
#include <numeric>

#include "bench/published/calls.h"
#include "bench/published/rosetta_data.h"
#include "frontend/core/random.h"

namespace sinter::published {

namespace {

constexpr std::int64_t batch = 64;
/// MXNet's training accuracy after each epoch of the CNN, of the repository's notebook.
constexpr std::array mxnet_curve{.331, .511, .593, .653, .691, .723, .750, .775, .790, .807};

enum class Rectified { after_pool, before_pool };  ///< MXNet, PyTorch, TensorFlow; Keras, CNTK, Chainer, Lasagne

Trainer cnn_trainer(Rectified rectified, Mode mode, const RunSettings& settings) {
  using enum nn::Activation;
  seed(1);
  const auto conv = [](std::int64_t from, std::int64_t to, nn::Activation activation) {
    return nn::Conv2D(from, to, {3}, activation, {.padding = Padding::same()});
  };
  nn::Sequential model;
  for (const auto& [from, to] : {std::pair<std::int64_t, std::int64_t>{3, 50}, {50, 100}}) {
    model += conv(from, to, relu);
    model += conv(to, to, rectified == Rectified::before_pool ? relu : none);
    model += nn::MaxPool2D({2});
    if (rectified == Rectified::after_pool) model += nn::ReLU();
    model += nn::Dropout(0.25);
  }
  model += nn::Flatten();
  model += nn::Dense(6400, 512, relu);
  model += nn::Dropout(0.5);
  model += nn::Dense(512, 10);
  return {model,
          loss::sparse_categorical_crossentropy_from_logits,
          optim::SGD({.learning_rate = 0.01, .momentum = 0.9}),
          {.mode = mode, .threads = settings.threads}};
}

Trainer gru_trainer(Mode mode, const RunSettings& settings) {
  seed(1);
  return {nn::Sequential{nn::Embedding(vocabulary, 125), nn::GRU(125, 100), nn::Dense(100, 2)},
          loss::sparse_categorical_crossentropy_from_logits,
          optim::Adam({.learning_rate = 1e-3, .epsilon = 1e-8}),
          {.mode = mode, .threads = settings.threads}};
}

std::int64_t parameters_of(const Trainer& trainer) {
  std::int64_t count = 0;
  for (const Parameter& parameter : trainer.parameters()) count += parameter.trainable() ? parameter.read().elements() : 0;
  return count;
}

/// What the article's frameworks share: batches in an order of the epoch, from a generator.
enum class Shuffled { batches, observations };

Generator generator(const Dataset& data, Shuffled shuffled, std::int64_t steps) {
  return [&data, shuffled, steps, order = std::vector<std::int32_t>()](std::int64_t epoch, std::int64_t piece) mutable -> std::optional<Dataset> {
    if (piece == steps) return std::nullopt;
    if (piece == 0) {
      order.resize(static_cast<std::size_t>(shuffled == Shuffled::batches ? data.size() / batch : data.size()));
      std::iota(order.begin(), order.end(), 0);
      RandomStream random(7, static_cast<std::uint64_t>(epoch));
      for (std::size_t i = order.size() - 1; i > 0; --i) std::swap(order[i], order[random.below(static_cast<std::uint32_t>(i) + 1)]);
    }
    if (shuffled == Shuffled::batches) {
      const std::int64_t first = order[static_cast<std::size_t>(piece)] * batch;
      return data.slice(first, first + batch);
    }
    const std::vector<std::int32_t> chosen(order.begin() + piece * batch, order.begin() + (piece + 1) * batch);
    const Tensor rows(chosen, {batch});
    return Dataset{gather_rows(data.x.only(), rows), gather_rows(data.y.only(), rows), data.scale};
  };
}

/// Seconds a step of so many, after three that are not counted.
template <class Data>
double step_seconds(Trainer& trainer, const Data& warm_up, const Data& data, std::int64_t steps) {
  trainer.fit(warm_up, {.batch_size = batch, .steps_per_epoch = 3, .shuffle = false, .verbose = false});
  return trainer.fit(data, {.batch_size = batch, .steps_per_epoch = steps, .verbose = false}).front().seconds / static_cast<double>(steps);
}
double step_seconds(Trainer& trainer, const Dataset& data, std::int64_t steps) { return step_seconds(trainer, data, data, steps); }

std::string steps_note(std::int64_t steps) { return str(counted(static_cast<std::size_t>(steps), "step"), " of ", batch); }

/// Where the rectifier is makes no difference to what is computed, and none to the compiled step: the pass relu_past_pool moves it.
void require_moved_relu(const Dataset& data, const RunSettings& settings, Report& report) {
  std::array<std::vector<double>, 2> losses;
  for (const Rectified rectified : {Rectified::after_pool, Rectified::before_pool}) {
    Trainer trainer = cnn_trainer(rectified, Mode::graph, settings);
    const Dataset first = data.slice(0, batch);
    for (int i = 0; i < 3; ++i) losses[static_cast<std::size_t>(rectified)].push_back(trainer.train_on_batch(first.x, first.y));
    if (rectified == Rectified::before_pool)
      report.require("CNN, ReLU before the pool: the pass relu_past_pool moves two of them",
                     trainer.explain().find("moved 2 relus past the max pool") != std::string::npos, 1, 1);
  }
  double worst = 0;
  for (std::size_t i = 0; i < 3; ++i) worst = std::max(worst, std::abs(losses[0][i] - losses[1][i]));
  report.require("CNN: losses of three steps, ReLU before against after the pool, greatest difference", worst, 0, 1e-5);
}

/// Steps of the CNN in each way: seconds.
void time_cnn(const Dataset& data, const RunSettings& settings, Report& report) {
  const std::int64_t steps = std::min<std::int64_t>(settings.quick ? 10 : 60, data.size() / batch);
  if (settings.has("default")) {
    for (const auto& [rectified, where] : {std::pair{Rectified::after_pool, "after"}, {Rectified::before_pool, "before"}}) {
      Trainer trainer = cnn_trainer(rectified, Mode::graph, settings);
      const double seconds = step_seconds(trainer, data, steps);
      report.cell(str("CNN, ReLU ", where, " the pool, training step"), "Sinter default", seconds, "s", steps_note(steps));
      report.cell(str("CNN, ReLU ", where, " the pool, compile"), "Sinter", trainer.train_step().compile_seconds(), "s");
    }
    for (const auto& [shuffled, what] : {std::pair{Shuffled::batches, "batches"}, {Shuffled::observations, "observations"}}) {
      Trainer trainer = cnn_trainer(Rectified::after_pool, Mode::graph, settings);
      const double seconds = step_seconds(trainer, generator(data, shuffled, 3), generator(data, shuffled, steps), steps);
      report.cell(str("CNN, own generator that shuffles ", what, ", training step"), "Sinter default", seconds, "s", steps_note(steps));
    }
  }
  if (settings.has("eager")) {
    Trainer trainer = cnn_trainer(Rectified::after_pool, Mode::eager, settings);
    const std::int64_t few = settings.quick ? 3 : 10;
    report.cell("CNN, ReLU after the pool, training step", "Sinter eager", step_seconds(trainer, data, few), "s", steps_note(few));
  }
}

/// Epochs of 781 complete batches, as the repository's, and what they reach.
template <class Data>
void train_cnn(const std::string& name, const Data& data, std::int64_t epochs, const Sets& sets, const RunSettings& settings, Report& report) {
  constexpr std::int64_t all_epochs = mxnet_curve.size();
  Trainer trainer = cnn_trainer(Rectified::after_pool, Mode::graph, settings);
  double seconds = 0;
  std::size_t epoch = 0;
  for (const EpochResult& result :
       trainer.fit(data, {.epochs = epochs, .batch_size = batch, .steps_per_epoch = sets.train.size() / batch, .verbose = false})) {
    seconds += result.seconds;
    report.point("CNN on CIFAR-10: training accuracy", "Sinter, " + name, static_cast<double>(epoch + 1), *result.accuracy);
    report.require(str("CNN, ", name, ": training accuracy of epoch ", epoch + 1, ", MXNet's ± 0.03"), *result.accuracy, mxnet_curve[epoch] - 0.03,
                   mxnet_curve[epoch] + 0.03);
    ++epoch;
  }
  seconds -= trainer.train_step().compile_seconds();
  const std::string note =
      epochs == all_epochs ? name + "; without compiling" : str(name, "; without compiling", "; ", epochs, " of ", all_epochs, " epochs, scaled");
  report.cell("CNN, 10 epochs, seconds", "Sinter default", seconds * static_cast<double>(all_epochs) / static_cast<double>(epochs), "s", note);
  const double accuracy = *trainer.evaluate(sets.test).accuracy;
  report.cell(str("CNN, test accuracy after ", counted(static_cast<std::size_t>(epochs), "epoch")), "Sinter default", 100 * accuracy, "%", name);
  if (epochs == all_epochs) report.require(str("CNN, ", name, ": test accuracy after 10 epochs"), accuracy, 0.755, 0.795);
}

void run_cnn(const RunSettings& settings, Report& report) {
  const Sets sets = cifar(settings, report);
  report.require("CNN: parameters", static_cast<double>(parameters_of(cnn_trainer(Rectified::after_pool, Mode::graph, settings))), 3441592, 3441592);
  require_moved_relu(sets.train, settings, report);
  time_cnn(sets.train, settings, report);
  if (!sets.is_real || settings.quick) return;
  if (!settings.full) return train_cnn("from memory", sets.train, 2, sets, settings, report);
  train_cnn("from memory", sets.train, 10, sets, settings, report);
  const std::int64_t steps = sets.train.size() / batch;
  train_cnn("own generator that shuffles observations", generator(sets.train, Shuffled::observations, steps), 10, sets, settings, report);
  train_cnn("own generator that shuffles batches", generator(sets.train, Shuffled::batches, steps), 10, sets, settings, report);
}

void run_gru(const RunSettings& settings, Report& report) {
  const Sets sets = reviews(settings, report);
  report.require("GRU: parameters", static_cast<double>(parameters_of(gru_trainer(Mode::graph, settings))), 3750000 + 68100 + 202,
                 3750000 + 68100 + 202);
  if (settings.has("eager")) {
    Trainer trainer = gru_trainer(Mode::eager, settings);
    const std::int64_t few = settings.quick ? 3 : 10;
    report.cell("GRU, training step", "Sinter eager", step_seconds(trainer, sets.train, few), "s", steps_note(few));
  }
  if (!settings.has("default")) return;
  Trainer trainer = gru_trainer(Mode::graph, settings);
  const std::int64_t steps = settings.quick ? 20 : 100;
  report.cell("GRU, training step", "Sinter default", step_seconds(trainer, sets.train, steps), "s", steps_note(steps));
  report.cell("GRU, compile", "Sinter", trainer.train_step().compile_seconds(), "s");
  if (!sets.is_real || settings.quick) return;
  trainer = gru_trainer(Mode::graph, settings);
  double seconds = 0, epoch = 0;
  for (const EpochResult& result :
       trainer.fit(sets.train, {.epochs = 3, .batch_size = batch, .steps_per_epoch = sets.train.size() / batch, .verbose = false})) {
    seconds += result.seconds;
    report.point("GRU on IMDB: training accuracy", "Sinter", ++epoch, *result.accuracy);
  }
  report.cell("GRU, 3 epochs, seconds", "Sinter default", seconds - trainer.train_step().compile_seconds(), "s", "without compiling");
  const double accuracy = *trainer.evaluate(sets.test).accuracy;
  report.cell("GRU, test accuracy after 3 epochs", "Sinter default", 100 * accuracy, "%");
  report.require("GRU: test accuracy after 3 epochs", accuracy, 0.84, 0.88);
}

}  // namespace

void rosetta(const RunSettings& settings, Report& report) {
  const WithoutCache compiles;
  run_cnn(settings, report);
  run_gru(settings, report);
}

}  // namespace sinter::published
