// What sinter train makes of its settings: a model, its trainer, and what they are judged by.
#pragma once

#include <sinter/sinter.h>

#include <memory>
#include <string>
#include <vector>

#include "cli/finite_run.h"
#include "cli/task.h"

namespace sinter::cli {

struct TrainSettings {
  TaskSettings task;
  std::string out = "model.sinter", log, report, config, checkpoints, tensorboard, activation = "relu", optimizer = "adam";
  std::string split = "random", layers, hidden = "64,32";  // the latter a list, with commas
  bool hidden_is_given = false;
  std::int64_t epochs = 50, batch_size = 32, patience = 0, checkpoint_every = 0;
  double learning_rate = 1e-3, dropout = 0, l2 = 0;
  int threads = 0;
  std::int64_t folds = 0;  ///< of a cross-validation before the training; 0: none
  bool eager = false, quiet = false, balance = false;
};

/// The numbers of --hidden. Throws UserError for what is none.
std::vector<std::int64_t> hidden_units(const TrainSettings& settings);

/// A model for a task, with new parameters, and what trains it.
struct Training {
  std::shared_ptr<nn::Module> model;
  Trainer trainer;
  std::shared_ptr<FiniteRun> finite;  ///< to be the last of the callbacks
  FitOptions options;
};
/// Parameters depend on the seed alone.
Training make_training(const TrainSettings& settings, const Task& task);

/// What judges a model, as it is printed: "accuracy", 98.5, " %".
struct Figure {
  std::string name;
  double value;
  std::string unit = {};
};
std::vector<Figure> figures_of(const Evaluation& judged, const Task& task);
/// "accuracy 93.1 %, …"; with the deviation of each, "accuracy 93.1 ± 1.2 %, …".
std::string text_of(const std::vector<Figure>& figures, const std::vector<double>& deviations = {});

/// Trains a model on each fold's rows, judges it by the others, and prints the figures, their means and standard deviations.
void cross_validate(const TrainSettings& settings, const TaskData& data);

}  // namespace sinter::cli
