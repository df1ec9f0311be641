// sinter train: a model of the layers that are asked for, on a table, on texts, on arrays or on images, from flags or a JSON file.
#include <sinter/sinter.h>

#include <charconv>
#include <filesystem>
#include <iomanip>
#include <iostream>
#include <limits>

#include "cli/commands.h"
#include "cli/config.h"
#include "cli/finite_run.h"
#include "cli/later.h"
#include "cli/model.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/task.h"
#include "cli/words.h"

namespace sinter::cli {

namespace {

struct Settings {
  TaskSettings task;
  std::string out = "model.sinter", log, report, config, checkpoints, tensorboard, activation = "relu", optimizer = "adam";
  std::string layers, hidden = "64,32";  // the latter a list, with commas
  bool hidden_is_given = false;
  std::int64_t epochs = 50, batch_size = 32, patience = 0, checkpoint_every = 0;
  double learning_rate = 1e-3, dropout = 0, l2 = 0;
  int threads = 0;
  bool eager = false, quiet = false, balance = false;
};

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
  if (s.optimizer == "adamw") return std::make_shared<optim::AdamW>(optim::AdamWOptions{.learning_rate = s.learning_rate});
  return std::make_shared<optim::Adam>(optim::AdamOptions{.learning_rate = s.learning_rate});
}

/// The layers from `width` numbers per sample to the outputs: hidden ones, unless only other layers were asked for, and the last.
nn::Sequential make_perceptron(const Settings& s, std::int64_t width, std::int64_t outputs) {
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
std::shared_ptr<nn::Module> make_model(const Settings& s, const Task& task) {
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

void add_callbacks(FitOptions& options, const Settings& s, const Task& task, LaterErrors& errors) {
  if (s.patience > 0)  // the callback tolerates so many epochs and stops after the next
    options.callbacks.push_back(std::make_shared<callback::EarlyStopping>(
        callback::EarlyStoppingOptions{.monitor = task.validation ? "val_loss" : "loss", .patience = s.patience - 1, .restore_best = true}));
  const auto add = [&](std::shared_ptr<Callback> writer) { options.callbacks.push_back(std::make_shared<Later>(std::move(writer), errors)); };
  if (!s.log.empty()) add(std::make_shared<callback::CsvLog>(s.log));
  if (!s.tensorboard.empty()) add(std::make_shared<callback::TensorBoard>(s.tensorboard));
}

void print(const Evaluation& judged, const Task& task) {
  std::cout << (task.validation ? "validation" : "training") << ": " << std::setprecision(4);
  if (judged.accuracy) std::cout << "accuracy " << *judged.accuracy * 100 << " %";
  for (const auto& [name, value] : judged.metrics)
    std::cout << (name == "r2" ? "R² " : "root mean squared error ") << value << (name == "r2" ? ", " : "");
  std::cout << "\n";
}

/// The encoder as text for the model's file, checked to be readable by predict.
std::string checked_json(const data::Encoder& encoder) {
  std::string json = encoder.to_json();
  (void)data::Encoder::from_json(json);
  return json;
}

/// Throws unless predict can use the file.
void load_back(const std::string& path) {
  if (!std::filesystem::is_regular_file(path)) return;  // a device or a pipe cannot be read back
  Trainer trainer = Trainer::load(path);
  (void)outputs_of(trainer, path);
  if (trainer.has_metadata("encoder")) (void)encoder_of(trainer, path);
}

/// What the page is to show; `task` must outlive it.
report::Options report_options(const Settings& s, const Task& task) {
  report::Target target{.predictions = task.classes ? report::Reading::logits : report::Reading::numbers};
  if (task.encoder) {
    target.name = task.encoder->target_name();
    if (task.classes) {
      target.names = task.encoder->classes();
    } else {
      target.scale = task.encoder->target_unit();
      target.offset = task.encoder->unscaled(0);
    }
  }
  return {.title = s.out,
          .sample = &task.train,
          .batch_size = s.batch_size,
          .judged = task.validation ? &*task.validation : &task.train,
          .judged_as = task.validation ? "validation" : "training",
          .targets = {target},
          .image = task.image};
}

/// "13 features", "texts and 2 features", "28×28×1 numbers".
std::string samples_text(const Task& task) {
  std::string text;
  for (const Type& sample : task.samples) {
    const Shape one = sample.shape.erase(0, 1);
    const std::string part = one.has_length() ? "texts" : one.rank() == 1 ? counted(one[0].factor(), "feature") : str(one, " numbers");
    text += (text.empty() ? "" : " and ") + part;
  }
  return text;
}

void run(const Settings& given) {
  Settings s = given;
  s.task.keeps_shape = !s.layers.empty();
  (void)hidden_units(s);
  if (!s.layers.empty() && s.dropout > 0 && !s.hidden_is_given)
    throw UserError("--dropout", "is for the layers of --hidden; in --layers, write dropout 0.3");
  (void)at("--activation", [&] { return nn::parse_activation(s.activation); });
  if (s.checkpoint_every && s.checkpoints.empty()) throw UserError("--checkpoint-every", "needs --checkpoints FOLDER");
  check_outputs({.files = {{"--out", s.out}, {"--log", s.log}, {"--report", s.report}},
                 .folders = {{"--checkpoints", s.checkpoints}, {"--tensorboard", s.tensorboard}}},
                {s.task.data, s.task.labels, s.config});
  const Task task = load_task(s.task);
  if (s.balance && !task.classes) throw UserError("--balance", "is for classes, but the targets are numbers");
  seed(s.task.seed);
  const std::shared_ptr<nn::Module> model = make_model(s, task);
  std::vector<metric::Pointer> metrics;
  if (!task.classes) metrics = {metric::r2(), metric::scaled(task.encoder ? task.encoder->target_unit() : 1, metric::root_mean_squared_error())};
  Trainer trainer(model, task.classes ? loss::sparse_categorical_crossentropy_from_logits : loss::mean_squared_error, make_optimizer(s),
                  {.mode = s.eager ? Mode::eager : Mode::graph, .threads = s.threads, .metrics = metrics, .log = warn_on_stderr});
  FitOptions options{.epochs = s.epochs,
                     .batch_size = s.batch_size,
                     .validation = task.validation,
                     .seed = s.task.seed,
                     .verbose = !s.quiet,
                     .stop_on_interrupt = true};
  if (s.balance) options.class_weights = data::balanced_class_weights(task.train.y, task.outputs);
  options.checkpoint = {.folder = s.checkpoints, .every_steps = s.checkpoint_every};
  LaterErrors errors;
  add_callbacks(options, s, task, errors);
  const auto finite = std::make_shared<FiniteRun>(model->parameters(), FiniteRunOptions{.out = s.out,
                                                                                        .checkpoints = s.checkpoints,
                                                                                        .learning_rate = s.learning_rate,
                                                                                        .checkpoint_every = s.checkpoint_every,
                                                                                        .restores_best = s.patience > 0});
  options.callbacks.push_back(finite);
  // Metadata is made before training, so that no later failure can cost the trained model.
  if (task.encoder) {
    trainer.set_metadata("encoder", checked_json(*task.encoder));
    if (const std::string csv = to_json(csv_options(s.task.csv)); csv != to_json(data::CsvOptions())) trainer.set_metadata("csv", csv);
  }
  trainer.set_metadata("task", task.classes ? "classes" : "numbers");
  if (!task.image.empty()) trainer.set_metadata("image", to_string(Shape(task.image)));
  if (!task.class_names.empty()) trainer.set_metadata("classes", names_json(task.class_names));
  if (task.vocabulary) {
    trainer.set_vocabulary(*task.vocabulary);
    trainer.set_metadata("text", s.task.text);
  }
  if (!s.quiet)
    std::cout << counted(task.train.size(), "row") << " to train on, " << (task.validation ? task.validation->size() : 0) << " to validate, "
              << samples_text(task) << "\n"
              << (task.encoder ? str("columns of ", printable(s.task.data), ":\n") : "") << task.columns << model->summary_all(task.samples);
  const std::vector<EpochResult> history = trainer.fit(task.train, options);
  const Evaluation judged = trainer.evaluate(task.validation ? *task.validation : task.train);
  finite->require_saveable(judged.loss);
  if (!finite->stopped().empty()) std::cout << finite->stopped() << "\n";
  trainer.save(s.out);
  load_back(s.out);
  print(judged, task);
  std::cout << "saved " << s.out << "\n";
  if (!s.report.empty()) errors.attempt([&] { report::write_html(s.report, trainer, history, report_options(s, task)); });
  errors.rethrow();
}

void add_options(CLI::App& command, Settings& s) {
  command.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast)->always_capture_default();
  command
      .add_option("--data", s.task.data,
                  "CSV file with a header, JSON lines (.jsonl), samples as .npy or IDX, or a folder: with a subfolder of images per class, of "
                  "MNIST's IDX files, or, with "
                  "--text text --target class, with a subfolder of texts per class")
      ->check(not_empty());
  command.add_option("--target", s.task.target, "Column of the CSV file to predict: numbers, or classes if it holds texts")->check(not_empty());
  command.add_option("--labels", s.task.labels, "The targets of .npy or IDX samples: class numbers (integers) or f32")->check(not_empty());
  command.add_option("-o,--out", s.out, "Model file to write")->check(not_empty());
  command.add_option("--text", s.task.text, "Column of texts: their words become numbers, for layers that begin with an embedding")
      ->check(not_empty());
  command.add_option("--max-words", s.task.max_words, "Words of the vocabulary, the most frequent ones")->check(whole_number(1));
  command.add_option("--max-length", s.task.max_length, "Words of a text that are read")->check(whole_number(1));
  command.add_option("--keep-words", s.task.keep_words, "Which words of a longer text are read: first or last")->check(one_of({"first", "last"}));
  command
      .add_option("--layers", s.layers,
                  "Layers before the last one: \"conv 32 3 relu; pool 2; flatten; dense 128 relu\", or \"embedding 64; gru 100\" of a text")
      ->check(not_empty());
  command.add_option("--hidden", s.hidden, "Units of the hidden layers, a list with commas; with --layers none, unless they are given");
  command.add_option("--activation", s.activation, "Activation of the hidden layers: relu, tanh, gelu, ...");
  command.add_option("--dropout", s.dropout, "Dropout rate after each hidden layer, in [0, 1)")->check(number(0, 1));
  command.add_option("--l2", s.l2, "Factor of the L2 penalty on the weights of the hidden layers")->check(number(0));
  command.add_option("--optimizer", s.optimizer, "adam, adamw, rmsprop or sgd")->check(one_of({"adam", "adamw", "rmsprop", "sgd"}));
  command.add_option("--learning-rate", s.learning_rate, "Learning rate")->check(positive_number());
  command.add_option("--epochs", s.epochs, "Passes over the data")->check(whole_number(1));
  command.add_option("--batch-size", s.batch_size, "Rows per step")->check(whole_number(1));
  command.add_option("--validation-split", s.task.validation_split, "Share of the rows to hold out for validation")->check(number(0, 1));
  command.add_option("--patience", s.patience, "Stop after this number of epochs without improvement; 0: never")->check(whole_number(0));
  command.add_flag("--balance", s.balance, "Weight classes so that all count the same");
  command.add_option("--categorical", s.task.categorical, "Columns to treat as categories although they hold numbers, a list with commas");
  command.add_option("--ignore", s.task.ignore, "Columns to leave out, a list with commas");
  command.add_option("--columns", s.task.columns, "Columns to use besides the target, a list with commas; all if not given");
  command.add_option("--keep", s.task.keep,
                     "Conditions for the rows to use, here and by predict, with commas: Class not empty, amount > 0, town == Bonn");
  command.add_option("--train-on", s.task.train_on,
                     "Further conditions for the rows to train on, as in \"Class == 0\"; other rows are still held out and predicted");
  command.add_option("--scaling", s.task.scaling,
                     "What becomes of numbers: standard, min_max or none; for some columns with their names, as in \"min_max,price=none\"");
  command.add_option("--normalize", s.task.normalize, "Divide the features of each row by their norm: l1, l2 or max")
      ->check(one_of({"l1", "l2", "max"}));
  command.add_option("--pca", s.task.pca, "Principal components in place of the features: their number, or a share of the variance below 1")
      ->check(number(0));
  command.add_option("--missing", s.task.missing, "Texts that mean a missing value, as in \"-,n.a.\", besides NA, null, ? and similar");
  command.add_option("--thousands", s.task.thousands, "Separator of groups of three digits in numbers, as , in 25,500.00");
  command.add_option("--strip", s.task.strip, "Texts around numbers to drop, a list with spaces or commas, as in \"$ EUR\" for $15.7 and 15.7 EUR");
  command.add_option("--decimal", s.task.decimal, "Decimal separator of numbers: . or ,")->check(one_of({".", ","}));
  command.add_option("--channels", s.task.channels, "Channels of the images in a folder: 3 for colours, 1 for grey")->check(whole_number(1, 3));
  command.add_option("--classes", s.task.classes, "Number of classes if --labels are class numbers; 0: the greatest + 1, up to 1000")
      ->check(whole_number(0, std::numeric_limits<std::int32_t>::max()));
  add_csv_options(command, s.task.csv, "");
  command.add_option("--seed", s.task.seed, "Seed of initial weights, dropout and shuffles")->check(seed_number());
  command.add_option("--threads", s.threads, "Greatest number of threads; 0: one per core")->check(whole_number(0, most_threads));
  command.add_option("--log", s.log, "CSV file to log one line per epoch to")->check(not_empty());
  command.add_option("--tensorboard", s.tensorboard, "Folder for TensorBoard's event files")->check(not_empty());
  command.add_option("--report", s.report, "HTML report to write: curves, predictions of the rows held out, model, times and compiled graph")
      ->check(not_empty());
  command.add_option("--checkpoints", s.checkpoints, "Folder for checkpoints, from which the same command resumes after it was stopped")
      ->check(not_empty());
  command.add_option("--checkpoint-every", s.checkpoint_every, "Also write a checkpoint every N steps; 0: only after each epoch")
      ->check(whole_number(0));
  command.add_flag("--eager", s.eager, "Run line by line without compiling");
  command.add_flag("--quiet", s.quiet, "Print only the result");
}

}  // namespace

void add_train(CLI::App& app) {
  auto settings = std::make_shared<Settings>();
  CLI::App* command = app.add_subcommand("train", "Train a model on a table, on texts, on images or on arrays");
  add_options(*command, *settings);
  add_config(*command, settings->config);
  command->callback([settings, command] {
    settings->hidden_is_given = command->count("--hidden") > 0;
    run(*settings);
  });
}

}  // namespace sinter::cli
