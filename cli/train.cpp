// sinter train: a model of the layers that are asked for, on a table, on texts, on arrays or on images, from flags or a JSON file.
#include <sinter/sinter.h>

#include <filesystem>
#include <iostream>
#include <limits>

#include "cli/commands.h"
#include "cli/config.h"
#include "cli/later.h"
#include "cli/model.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/training.h"
#include "cli/words.h"

namespace sinter::cli {

namespace {

void add_writers(FitOptions& options, const TrainSettings& s, LaterErrors& errors) {
  const auto add = [&](std::shared_ptr<Callback> writer) { options.callbacks.push_back(std::make_shared<Later>(std::move(writer), errors)); };
  if (!s.log.empty()) add(std::make_shared<callback::CsvLog>(s.log));
  if (!s.tensorboard.empty()) add(std::make_shared<callback::TensorBoard>(s.tensorboard));
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
report::Options report_options(const TrainSettings& s, const Task& task) {
  report::Target target{.predictions = task.classes ? report::Reading::logits : report::Reading::numbers};
  if (task.encoder && task.encoder->has_target()) {
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

/// The task to train on, after a cross-validation if that is asked for. What was read is not kept.
Task load_task(const TrainSettings& s) {
  const TaskData data = load(s.task);
  const data::RowSplit rows = held_out(data, s.task);
  if (s.folds) cross_validate(s, data);
  return data.task(rows);
}

void run(const TrainSettings& given) {
  TrainSettings s = given;
  s.task.keeps_shape = !s.layers.empty();
  s.task.stratified = s.split == "stratified";
  (void)hidden_units(s);
  if (!s.layers.empty() && s.dropout > 0 && !s.hidden_is_given)
    throw UserError("--dropout", "is for the layers of --hidden; in --layers, write dropout 0.3");
  (void)at("--activation", [&] { return nn::parse_activation(s.activation); });
  if (s.checkpoint_every && s.checkpoints.empty()) throw UserError("--checkpoint-every", "needs --checkpoints FOLDER");
  check_outputs({.files = {{"--out", s.out}, {"--log", s.log}, {"--report", s.report}},
                 .folders = {{"--checkpoints", s.checkpoints}, {"--tensorboard", s.tensorboard}}},
                {s.task.data, s.task.labels, s.task.subwords, s.config});
  const Task task = load_task(s);
  auto [model, trainer, finite, options] = make_training(s, task);
  options.verbose = !s.quiet;
  options.stop_on_interrupt = true;
  options.checkpoint = {.folder = s.checkpoints, .every_steps = s.checkpoint_every};
  LaterErrors errors;
  add_writers(options, s, errors);
  options.callbacks.push_back(finite);
  // Metadata is made before training, so that no later failure can cost the trained model.
  if (task.encoder) {
    trainer.set_metadata("encoder", checked_json(*task.encoder));
    if (const std::string csv = to_json(csv_options(s.task.csv)); csv != to_json(data::CsvOptions())) trainer.set_metadata("csv", csv);
  }
  trainer.set_metadata("task", task.classes ? "classes" : task.is_self ? "self" : "numbers");
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
  std::cout << (task.validation ? "validation: " : "training: ") << text_of(figures_of(judged, task)) << "\n";
  std::cout << "saved " << s.out << "\n";
  if (!s.report.empty()) errors.attempt([&] { report::write_html(s.report, trainer, history, report_options(s, task)); });
  errors.rethrow();
}

void add_options(CLI::App& command, TrainSettings& s) {
  command.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast)->always_capture_default();
  command
      .add_option("--data", s.task.data,
                  "CSV file with a header, JSON lines (.jsonl), samples as .npy or IDX, or a folder: with a subfolder of images per class, of "
                  "MNIST's IDX files, or, with "
                  "--text text --target class, with a subfolder of texts per class")
      ->check(file_name());
  command
      .add_option("--target", s.task.target,
                  "Column of the CSV file to predict: numbers, or classes if it holds texts; self: a model that reproduces its samples")
      ->check(not_empty());
  command.add_option("--labels", s.task.labels, "The targets of .npy or IDX samples: class numbers (integers) or f32")->check(file_name());
  command.add_option("-o,--out", s.out, "Model file to write")->check(file_name());
  command.add_option("--text", s.task.text, "Column of texts: their words become numbers, for layers that begin with an embedding")
      ->check(not_empty());
  command.add_option("--max-words", s.task.max_words, "Words of the vocabulary, the most frequent ones")->check(whole_number(1));
  command.add_option("--max-length", s.task.max_length, "Words of a text that are read")->check(whole_number(1));
  command.add_option("--keep-words", s.task.keep_words, "Which words of a longer text are read")->check(one_of({"first", "last"}));
  command.add_option("--subwords", s.task.subwords, "SentencePiece model (.model) whose pieces are read in place of words")->check(file_name());
  command
      .add_option("--layers", s.layers,
                  "Layers before the last one: \"conv 32 3 relu; pool 2; flatten; dense 128 relu\", or \"embedding 64; gru 100\" of a text")
      ->check(not_empty());
  command.add_option("--hidden", s.hidden, "Units of the hidden layers, a list with commas; with --layers none, unless they are given");
  command.add_option("--activation", s.activation, "Activation of the hidden layers: relu, tanh, gelu, ...");
  command.add_option("--dropout", s.dropout, "Dropout rate after each hidden layer, in [0, 1)")->check(number(0, 1));
  command.add_option("--l2", s.l2, "Factor of the L2 penalty on the weights of the hidden layers")->check(number(0));
  command.add_option("--optimizer", s.optimizer, "Optimizer")->check(one_of({"adam", "adamw", "rmsprop", "sgd"}));
  command.add_option("--learning-rate", s.learning_rate, "Learning rate")->check(positive_number());
  command.add_option("--epochs", s.epochs, "Passes over the data")->check(whole_number(1));
  command.add_option("--batch-size", s.batch_size, "Rows per step")->check(whole_number(1));
  command.add_option("--validation-split", s.task.validation_split, "Share of the rows to hold out for validation")->check(number(0, 1));
  command.add_option("--split", s.split, "How rows are held out; stratified: so that each class keeps its share")
      ->check(one_of({"random", "stratified"}));
  command.add_option("--folds", s.folds, "Before the training, judge as many models, each by other rows than it learns from; 0: none")
      ->check(whole_number(0));
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
  command.add_option("--normalize", s.task.normalize, "Divide the features of each row by their norm")->check(one_of({"l1", "l2", "max"}));
  command.add_option("--pca", s.task.pca, "Principal components in place of the features: their number, or a share of the variance below 1")
      ->check(number(0));
  command.add_option("--missing", s.task.missing, "Texts that mean a missing value, as in \"-,n.a.\", besides NA, null, ? and similar");
  command.add_option("--thousands", s.task.thousands, "Separator of groups of three digits in numbers, as , in 25,500.00");
  command.add_option("--strip", s.task.strip, "Texts around numbers to drop, a list with spaces or commas, as in \"$ EUR\" for $15.7 and 15.7 EUR");
  command.add_option("--decimal", s.task.decimal, "Decimal separator of numbers")->check(one_of({".", ","}));
  command.add_option("--channels", s.task.channels, "Channels of the images in a folder: 3 for colours, 1 for grey")->check(whole_number(1, 3));
  command.add_option("--classes", s.task.classes, "Number of classes if --labels are class numbers; 0: the greatest + 1, up to 1000")
      ->check(whole_number(0, std::numeric_limits<std::int32_t>::max()));
  add_csv_options(command, s.task.csv, "");
  command.add_option("--seed", s.task.seed, "Seed of initial weights, dropout and shuffles")->check(seed_number());
  command.add_option("--threads", s.threads, "Greatest number of threads; 0: one per core")->check(whole_number(0, most_threads));
  command.add_option("--log", s.log, "CSV file to log one line per epoch to")->check(file_name());
  command.add_option("--tensorboard", s.tensorboard, "Folder for TensorBoard's event files")->check(folder_name());
  command.add_option("--report", s.report, "HTML report to write: curves, predictions of the rows held out, model, times and compiled graph")
      ->check(file_name());
  command.add_option("--checkpoints", s.checkpoints, "Folder for checkpoints, from which the same command resumes after it was stopped")
      ->check(folder_name());
  command.add_option("--checkpoint-every", s.checkpoint_every, "Also write a checkpoint every N steps; 0: only after each epoch")
      ->check(whole_number(0));
  command.add_flag("--eager", s.eager, "Run line by line without compiling");
  command.add_flag("--quiet", s.quiet, "Print only the result");
}

}  // namespace

void add_train(CLI::App& app) {
  auto settings = std::make_shared<TrainSettings>();
  CLI::App* command = app.add_subcommand("train", "Train a model on a table, on texts, on images or on arrays");
  add_options(*command, *settings);
  add_config(*command, settings->config);
  command->callback([settings, command] {
    settings->hidden_is_given = command->count("--hidden") > 0;
    if (!settings->task.subwords.empty() && command->count("--max-words"))
      throw UserError("--max-words", "is for a vocabulary of words, but --subwords has its own pieces; leave one of them out");
    run(*settings);
  });
}

}  // namespace sinter::cli
