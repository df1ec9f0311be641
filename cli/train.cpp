// sinter train: a perceptron on a table, from flags or a JSON file.
#include <sinter/sinter.h>

#include <algorithm>
#include <charconv>
#include <iomanip>
#include <iostream>
#include <numeric>
#include <span>
#include <sstream>

#include "cli/commands.h"
#include "cli/config.h"

namespace sinter::cli {

namespace {

struct Settings {
  std::string data, target, out = "model.sinter", log, activation = "relu", optimizer = "adam";
  std::string hidden = "64,32", categorical, ignore;  // lists, with commas
  std::int64_t epochs = 50, batch_size = 32, patience = 0;
  double learning_rate = 1e-3, dropout = 0, l2 = 0, validation_split = 0.2;
  std::uint64_t seed = 0;
  int threads = 0;
  char delimiter = ',';
  bool eager = false, quiet = false, balance = false;
};

/// "a,b" as a and b; nothing of an empty text.
std::vector<std::string> parts_of(const std::string& list) {
  std::vector<std::string> parts;
  std::istringstream text(list);
  for (std::string part; std::getline(text, part, ',');) parts.push_back(part);
  return parts;
}

std::vector<std::int64_t> hidden_units(const Settings& s) {
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

std::shared_ptr<optim::Optimizer> make_optimizer(const Settings& s) {
  if (s.optimizer == "sgd") return std::make_shared<optim::SGD>(optim::SGDOptions{.learning_rate = s.learning_rate, .momentum = 0.9});
  if (s.optimizer == "rmsprop") return std::make_shared<optim::RMSprop>(optim::RMSpropOptions{.learning_rate = s.learning_rate});
  if (s.optimizer == "adamw") return std::make_shared<optim::AdamW>(optim::AdamOptions{.learning_rate = s.learning_rate, .weight_decay = 0.01});
  return std::make_shared<optim::Adam>(optim::AdamOptions{.learning_rate = s.learning_rate});
}

nn::Sequential make_model(const Settings& s, std::int64_t inputs, std::int64_t outputs) {
  const nn::Activation activation = nn::parse_activation(s.activation);
  std::vector<std::shared_ptr<nn::Module>> layers;
  std::int64_t width = inputs;
  for (const std::int64_t units : hidden_units(s)) {
    layers.push_back(std::make_shared<nn::Dense>(width, units, activation,
                                                 nn::Dense::Options{.weight = init::he_uniform(), .penalty = {.l2 = static_cast<float>(s.l2)}}));
    if (s.dropout > 0) layers.push_back(std::make_shared<nn::Dropout>(s.dropout));
    width = units;
  }
  layers.push_back(std::make_shared<nn::Dense>(width, outputs));
  return nn::Sequential(layers);
}

/// Row numbers in an order of their own, so that the part held out is no special one.
std::vector<std::size_t> shuffled_rows(std::size_t count, std::uint64_t seed_value) {
  seed(seed_value);
  const std::vector<float> key = init::uniform(0, 1)({static_cast<std::int64_t>(count)}).to_vector<float>();
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return key[a] != key[b] ? key[a] < key[b] : a < b; });
  return order;
}

data::Table picked(const data::Table& table, std::span<const std::size_t> rows) {
  data::Table result{table.names, {}};
  for (const auto& column : table.columns) {
    result.columns.emplace_back();
    for (const std::size_t row : rows) result.columns.back().push_back(column[row]);
  }
  return result;
}

void run(const Settings& s) {
  if (!(s.validation_split >= 0 && s.validation_split < 1)) throw UserError("--validation-split", str("must be in [0, 1), got ", s.validation_split));
  (void)hidden_units(s);
  const data::Table table = data::read_csv(s.data, {.delimiter = s.delimiter});
  const std::vector<std::size_t> order = shuffled_rows(table.rows(), s.seed);
  const auto held_out = static_cast<std::size_t>(s.validation_split * static_cast<double>(table.rows())), kept = table.rows() - held_out;
  if (kept == 0) throw UserError("--validation-split", str("leaves no rows of ", table.rows(), " to train on"));
  // Means, deviations and categories are those of the rows that are trained on.
  const data::Table training = picked(table, std::span(order).first(kept));
  const data::Encoder encoder =
      data::Encoder::fit(training, {.target = s.target, .categorical = parts_of(s.categorical), .ignore = parts_of(s.ignore)});
  const Dataset train = encoder.dataset(training);
  std::optional<Dataset> validation;
  if (held_out) validation = encoder.dataset(picked(table, std::span(order).subspan(kept)));

  const bool classes = encoder.is_classification();
  seed(s.seed);
  nn::Sequential model = make_model(s, encoder.width(), classes ? static_cast<std::int64_t>(encoder.classes().size()) : 1);
  const std::vector<metric::Pointer> metrics =
      classes ? std::vector<metric::Pointer>{} : std::vector<metric::Pointer>{metric::r2(), metric::root_mean_squared_error()};
  Trainer trainer(model, classes ? loss::sparse_categorical_crossentropy_from_logits : loss::mean_squared_error, make_optimizer(s),
                  {.mode = s.eager ? Mode::eager : Mode::graph, .threads = s.threads, .metrics = metrics});
  FitOptions options{.epochs = s.epochs, .batch_size = s.batch_size, .validation = validation, .seed = s.seed, .verbose = !s.quiet};
  if (s.balance && classes) options.class_weights = data::balanced_class_weights(train.y, static_cast<std::int64_t>(encoder.classes().size()));
  if (s.patience > 0)
    options.callbacks.push_back(std::make_shared<callback::EarlyStopping>(
        callback::EarlyStoppingOptions{.monitor = validation ? "val_loss" : "loss", .patience = s.patience, .restore_best = true}));
  if (!s.log.empty()) options.callbacks.push_back(std::make_shared<callback::CsvLog>(s.log));
  options.stop_on_interrupt = true;
  if (!s.quiet)
    std::cout << train.size() << " rows to train on, " << held_out << " to validate, " << encoder.width() << " features\n"
              << model.summary({DType::f32, {Dim::batch(), encoder.width()}});
  trainer.fit(train, options);
  trainer.set_metadata("encoder", encoder.to_json());
  trainer.save(s.out);

  const Evaluation judged = trainer.evaluate(validation ? *validation : train);
  std::cout << (validation ? "validation" : "training") << ": " << std::setprecision(4);
  if (judged.accuracy) std::cout << "accuracy " << *judged.accuracy * 100 << " %";
  for (const auto& [name, value] : judged.metrics)
    std::cout << (name == "r2" ? "R² " : "root mean squared error ") << (name == "r2" ? value : encoder.unscaled(value) - encoder.unscaled(0))
              << (name == "r2" ? ", " : "");
  std::cout << "\nsaved " << s.out << "\n";
}

void add_options(CLI::App& command, Settings& s) {
  command.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast)->always_capture_default();
  command.add_option("--data", s.data, "CSV file with a header");
  command.add_option("--target", s.target, "Column to predict: numbers, or classes if it holds texts");
  command.add_option("-o,--out", s.out, "Model file to write");
  command.add_option("--hidden", s.hidden, "Units of the hidden layers, in a list");
  command.add_option("--activation", s.activation, "Of the hidden layers: relu, tanh, gelu, ...");
  command.add_option("--dropout", s.dropout, "Behind each hidden layer, in [0, 1)");
  command.add_option("--l2", s.l2, "Penalty on the squared weights of the hidden layers");
  command.add_option("--optimizer", s.optimizer, "adam, adamw, rmsprop or sgd")->check(CLI::IsMember({"adam", "adamw", "rmsprop", "sgd"}));
  command.add_option("--learning-rate", s.learning_rate, "Size of the steps");
  command.add_option("--epochs", s.epochs, "Passes over the data");
  command.add_option("--batch-size", s.batch_size, "Rows a step");
  command.add_option("--validation-split", s.validation_split, "Part of the rows that is held out");
  command.add_option("--patience", s.patience, "Stop after so many epochs without improvement; 0: never");
  command.add_flag("--balance", s.balance, "Weigh classes so that all count the same");
  command.add_option("--categorical", s.categorical, "List of columns of categories although they hold numbers");
  command.add_option("--ignore", s.ignore, "List of columns to leave out");
  command.add_option("--delimiter", s.delimiter, "Between the fields of the file");
  command.add_option("--seed", s.seed, "Of initial weights, dropout and shuffles");
  command.add_option("--threads", s.threads, "0: as many as there are cores");
  command.add_option("--log", s.log, "CSV file for one line an epoch");
  command.add_flag("--eager", s.eager, "Do not compile");
  command.add_flag("--quiet", s.quiet, "No line an epoch");
}

}  // namespace

void add_train(CLI::App& app) {
  auto settings = std::make_shared<Settings>();
  CLI::App* command = app.add_subcommand("train", "Train a perceptron on a CSV file");
  add_options(*command, *settings);
  add_config(*command);
  command->callback([settings] {
    if (settings->data.empty() || settings->target.empty())
      throw UserError("train", "needs --data FILE.csv and --target COLUMN; see sinter train --help");
    run(*settings);
  });
}

}  // namespace sinter::cli
