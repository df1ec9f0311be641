#include "bench/published/perceptron.h"

namespace sinter::published {

namespace {

nn::Sequential dense_layers(const std::vector<std::int64_t>& sizes) {
  nn::Sequential model;
  for (std::size_t i = 0; i + 1 < sizes.size(); ++i) model.add(nn::Dense(sizes[i], sizes[i + 1], Activation::sigmoid));
  return model;
}

/// A program in Keras: sigmoid on all layers, RMSprop's defaults of that time, categorical cross-entropy of the outputs over their sum.
struct Reference {
  std::string name;
  std::vector<std::int64_t> sizes;
  std::int64_t batch, epochs;
  float l2;  ///< of the first two layers' weights

  std::vector<EpochResult> fit(const RunSettings& settings, const Images& images, Mode mode, std::int64_t count, double& test_accuracy) const {
    seed(1);
    nn::Sequential model = dense_layers(sizes);
    const std::vector<Parameter> weights{model.parameter("dense_1.weight"), model.parameter("dense_2.weight")};
    TrainerOptions options{.mode = mode, .threads = settings.threads};
    if (l2 > 0) options.regularizer = [weights, factor = l2] { return loss::l2(factor, weights); };
    Trainer trainer(model, loss::categorical_crossentropy, optim::RMSprop({.learning_rate = 1e-3, .epsilon_outside = true}), options);
    const std::vector<EpochResult> results = trainer.fit(images.train, {.epochs = count, .batch_size = batch, .seed = 1, .verbose = false});
    test_accuracy = *trainer.evaluate(images.test).accuracy;
    return results;
  }
};

std::int64_t parameter_count(const std::vector<std::int64_t>& sizes) {
  std::int64_t count = 0;
  for (const Parameter& p : dense_layers(sizes).parameters()) count += p.read().elements();
  return count;
}

/// Of all epochs: the first, which compiles, and as many others as the rest of the results say.
double training_seconds(const std::vector<EpochResult>& results, std::int64_t epochs) {
  double rest = 0;
  for (std::size_t i = 1; i < results.size(); ++i) rest += results[i].seconds;
  return results[0].seconds + rest * static_cast<double>(epochs - 1) / static_cast<double>(results.size() - 1);
}

}  // namespace

void keras_references(const RunSettings& settings, const Images& images, Report& report) {
  const Reference a{"A, L2, batch 500", {784, 70, 30, 10}, 500, 35, 0.01f}, large{"A, L2, batch 10000", a.sizes, 10000, 35, 0.01f},
      plain{"A, no regularizer, batch 500", a.sizes, 500, 35, 0}, b{"B, batch 1500", {784, 200, 100, 50, 30, 10}, 1500, 45, 0};
  report.require("weights and biases of A", static_cast<double>(parameter_count(a.sizes)), 57390, 57390);
  report.require("weights and biases of B", static_cast<double>(parameter_count(b.sizes)), 183990, 183990);
  const bool whole = !settings.quick, asserted = whole && images.is_mnist;
  for (const Reference* reference : {&a, &large, &plain, &b})
    for (const auto& [mode, column] : {std::pair{Mode::graph, "default"}, {Mode::eager, "eager"}}) {
      if (!settings.has(column)) continue;
      const std::int64_t epochs = whole && mode == Mode::graph ? reference->epochs : settings.quick ? 2 : 5;
      double accuracy = 0;
      const std::vector<EpochResult> results = reference->fit(settings, images, mode, epochs, accuracy);
      const std::string name = reference->name + ", ", sinter = str("Sinter ", column);
      const std::string note = epochs == reference->epochs ? "" : str(epochs, " of ", reference->epochs, " epochs, scaled");
      report.cell(name + "seconds", sinter, training_seconds(results, reference->epochs), "s", note);
      if (mode == Mode::eager) continue;
      if (settings.quick) {
        report.cell(name + "test accuracy", sinter, accuracy, "", str("after ", epochs, " epochs"));
        continue;
      }
      report.cell(name + "test accuracy", sinter, accuracy, "");
      report.cell(name + "loss, epoch 1", sinter, results.front().loss, "");
      report.cell(name + "loss, last epoch", sinter, results.back().loss, "");
      if (reference == &a)
        for (const EpochResult& result : results) {
          report.point("A: loss by epoch", "Sinter", static_cast<double>(result.epoch), result.loss);
          report.point("A: training accuracy by epoch", "Sinter", static_cast<double>(result.epoch), *result.accuracy);
        }
      if (!asserted) continue;
      if (reference == &a) {
        report.require("A: loss of epoch 1", results.front().loss, 2.64, 2.70);
        report.require("A: test accuracy, which depends strongly on the seed", accuracy, 0.70, 0.87);
      }
      if (reference == &plain) report.require("A without regularizer: test accuracy", accuracy, 0.96, 1);
      if (reference == &b) report.require("B: test accuracy", accuracy, 0.95, 1);
    }
}

}  // namespace sinter::published
