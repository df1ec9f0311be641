#include "cli/training.h"

#include <charconv>
#include <cmath>
#include <iomanip>
#include <iostream>
#include <numeric>

#include "cli/words.h"

namespace sinter::cli {

namespace {

std::shared_ptr<optim::Optimizer> make_optimizer(const TrainSettings& s) {
  if (s.optimizer == "sgd") return std::make_shared<optim::SGD>(optim::SGDOptions{.learning_rate = s.learning_rate, .momentum = 0.9});
  if (s.optimizer == "rmsprop") return std::make_shared<optim::RMSprop>(optim::RMSpropOptions{.learning_rate = s.learning_rate});
  if (s.optimizer == "adamw") return std::make_shared<optim::AdamW>(optim::AdamWOptions{.learning_rate = s.learning_rate});
  return std::make_shared<optim::Adam>(optim::AdamOptions{.learning_rate = s.learning_rate});
}

/// The layers from `width` numbers per sample to the outputs: hidden ones, unless only other layers were asked for, and the last.
nn::Sequential make_perceptron(const TrainSettings& s, std::int64_t width, std::int64_t outputs) {
  const nn::Activation activation = nn::parse_activation(s.activation);
  std::vector<std::shared_ptr<nn::Module>> layers;
  const bool has_hidden = s.layers.empty() || s.hidden_is_given;
  for (const std::int64_t units : has_hidden ? hidden_units(s) : std::vector<std::int64_t>()) {
    layers.push_back(std::make_shared<nn::Dense>(width, units, activation,
                                                 nn::DenseOptions{.weight = init::he_uniform(), .penalty = {.l2 = static_cast<float>(s.l2)}}));
    if (s.dropout > 0) layers.push_back(std::make_shared<nn::Dropout>(s.dropout));
    width = units;
  }
  layers.push_back(std::make_shared<nn::Dense>(width, outputs));
  return nn::Sequential(layers);
}

/// What the layers make of a text, and numbers beside it.
class TextAndNumbers : public nn::Model {
 public:
  TextAndNumbers(nn::Sequential text, nn::Sequential rest) : Model("text_and_numbers"), text_(std::move(text)), rest_(std::move(rest)) {
    add(text_);
    add(rest_);
  }
  std::vector<Tensor> forward_all(std::span<const Tensor> x) override { return {rest_(concat({text_(x[0]), x[1]}, 1))}; }

 private:
  nn::Sequential text_, rest_;
};

/// The layers that --layers names, for the first x, and the perceptron behind them.
std::shared_ptr<nn::Module> make_model(const TrainSettings& s, const Task& task) {
  const std::string layers = s.layers.empty() && task.vocabulary ? "embedding 32; global_pool" : s.layers;
  if (layers.empty()) return nn::share(make_perceptron(s, task.samples[0].shape.back().factor(), task.outputs));
  const Type& sample = task.samples[0];
  nn::Sequential first = at("--layers", [&] {
    return nn::parse_layers(layers, sample, {.entries = task.vocabulary ? task.vocabulary->size() : 0, .penalty = {.l2 = static_cast<float>(s.l2)}});
  });
  const Type made = nn::output_type(first, sample);
  if (made.shape.rank() != 2 || !made.shape[1].is_fixed())
    throw UserError("--layers", str("must end with numbers per sample, [N, numbers], but end with ", made,
                                    "; add flatten, global_pool or a recurrent layer without 'sequences'"));
  const std::int64_t beside = task.samples.size() > 1 ? task.samples[1].shape[1].factor() : 0;
  nn::Sequential rest = make_perceptron(s, made.shape[1].factor() + beside, task.outputs);
  if (beside) return std::make_shared<TextAndNumbers>(std::move(first), std::move(rest));
  return nn::share(nn::Sequential{std::move(first), std::move(rest)});
}

double mean_of(const std::vector<double>& values) { return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size()); }

/// The standard deviation of what values are taken from: the sum of squares is divided by one less than their number.
double deviation_of(const std::vector<double>& values) {
  double squares = 0;
  for (const double value : values) squares += (value - mean_of(values)) * (value - mean_of(values));
  return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

}  // namespace

std::string text_of(const std::vector<Figure>& figures, const std::vector<double>& deviations) {
  TextStream text;
  text << std::setprecision(4);
  for (std::size_t i = 0; i < figures.size(); ++i) {
    text << (i ? ", " : "") << figures[i].name << " " << figures[i].value;
    if (!deviations.empty()) text << " ± " << deviations[i];
    text << figures[i].unit;
  }
  return text.str();
}

std::vector<std::int64_t> hidden_units(const TrainSettings& s) {
  std::vector<std::int64_t> units;
  for (const std::string& part : parts_of(s.hidden)) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value);
    if (error != std::errc{} || end != part.data() + part.size() || value < 1)
      throw UserError("--hidden", str("needs numbers of units of at least 1, as in 64,32, got '", part, "'"));
    units.push_back(value);
  }
  return units;
}

Training make_training(const TrainSettings& s, const Task& task) {
  if (s.balance && !task.classes) throw UserError("--balance", "is for classes, but the targets are numbers");
  seed(s.task.seed);
  const std::shared_ptr<nn::Module> model = make_model(s, task);
  std::vector<metric::Pointer> metrics;
  if (!task.classes && !task.is_self)
    metrics = {metric::r2(), metric::scaled(task.encoder ? task.encoder->target_unit() : 1, metric::root_mean_squared_error())};
  Trainer trainer(model, task.classes ? loss::sparse_categorical_crossentropy_from_logits : loss::mean_squared_error, make_optimizer(s),
                  {.mode = s.eager ? Mode::eager : Mode::graph, .threads = s.threads, .metrics = metrics, .log = warn_on_stderr});
  FitOptions options{.epochs = s.epochs, .batch_size = s.batch_size, .validation = task.validation, .seed = s.task.seed, .verbose = false};
  if (s.balance) options.class_weights = data::balanced_class_weights(task.train.y, task.outputs);
  if (s.patience > 0)  // the callback tolerates so many epochs and stops after the next
    options.callbacks.push_back(std::make_shared<callback::EarlyStopping>(
        callback::EarlyStoppingOptions{.monitor = task.validation ? "val_loss" : "loss", .patience = s.patience - 1, .restore_best = true}));
  const auto finite = std::make_shared<FiniteRun>(model->parameters(), FiniteRunOptions{.out = s.out,
                                                                                        .checkpoints = s.checkpoints,
                                                                                        .learning_rate = s.learning_rate,
                                                                                        .checkpoint_every = s.checkpoint_every,
                                                                                        .restores_best = s.patience > 0});
  return {model, std::move(trainer), finite, std::move(options)};
}

std::vector<Figure> figures_of(const Evaluation& judged, const Task& task) {
  if (task.is_self) return {{"mean squared error", judged.loss}};
  if (judged.accuracy) return {{"accuracy", *judged.accuracy * 100, " %"}};
  std::vector<Figure> figures;
  for (const auto& [name, value] : judged.metrics) figures.push_back({name == "r2" ? "R²" : "root mean squared error", value});
  return figures;
}

void cross_validate(const TrainSettings& s, const TaskData& data) {
  const std::vector<data::RowSplit> all = folds(data, static_cast<std::size_t>(s.folds), s.task);
  std::vector<Figure> figures;
  std::vector<std::vector<double>> values;  // of each figure
  for (std::size_t fold = 0; fold < all.size(); ++fold) {
    const Task task = data.task(all[fold]);
    Training training = make_training(s, task);
    training.options.callbacks.push_back(training.finite);
    (void)training.trainer.fit(task.train, training.options);
    figures = figures_of(training.trainer.evaluate(*task.validation), task);
    if (!s.quiet) std::cout << "fold " << fold + 1 << "/" << all.size() << ": " << text_of(figures) << std::endl;
    values.resize(figures.size());
    for (std::size_t i = 0; i < figures.size(); ++i) values[i].push_back(figures[i].value);
  }
  std::vector<double> deviations;
  for (std::size_t i = 0; i < figures.size(); ++i) {
    figures[i].value = mean_of(values[i]);
    deviations.push_back(deviation_of(values[i]));
  }
  std::cout << all.size() << " folds: " << text_of(figures, deviations) << "\n";
}

}  // namespace sinter::cli
