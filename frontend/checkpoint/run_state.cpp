#include "frontend/checkpoint/run_state.h"

#include <algorithm>
#include <limits>

namespace sinter {

namespace {

/// Limits of whole numbers: those that a double holds exactly, and those that fit into the digits of a file's name.
constexpr std::int64_t most = std::int64_t{1} << 53, most_steps = 999'999'999'999;

using NamedColumns = std::vector<std::pair<std::string, std::vector<double>>>;

/// The values of all epochs, one column each. Metrics keep their order by a number in the name.
template <class Results, class Result>
void save_metrics(SavedState& saved, const std::string& kind, const Results& of, const std::vector<Result>& history) {
  for (std::size_t m = 0; m < of(history.front()).size(); ++m) {
    std::vector<double> column;
    for (const Result& result : history) column.push_back(of(result)[m].second);
    saved.set(str(kind, 1000 + m, ".", of(history.front())[m].first), std::move(column));
  }
}

template <class Results, class Result>
void restore_metrics(const SavedState& saved, const std::string& kind, const Results& of, std::vector<Result>& history) {
  const SavedState part = saved.part(kind);
  for (const auto& [name, column] : part.all_numbers()) {
    const std::size_t point = name.find('.');
    if (column.size() != history.size() || point == std::string::npos)
      throw UserError("checkpoint", str("the history of '", name, "' is incomplete"));
    for (std::size_t i = 0; i < history.size(); ++i) of(history[i]).emplace_back(name.substr(point + 1), column[i]);
  }
}

constexpr auto metrics = [](auto& result) -> auto& { return result.metrics; };
constexpr auto validation_metrics = [](auto& result) -> auto& { return result.validation_metrics; };

const std::string training_set_key = "evaluated training set.";
/// Key of the values of a set that was evaluated after each epoch; the last part is the set's name.
std::string key_of_set(std::size_t number) { return str("evaluated", 1000 + number, "."); }

/// The evaluations of one set, one of each epoch.
SavedState save_set(const std::string& name, const std::vector<Evaluation>& epochs) {
  SavedState saved;
  std::vector<double> losses, accuracies, nan_samples;
  for (const Evaluation& judged : epochs) {
    losses.push_back(judged.loss);
    if (judged.accuracy) accuracies.push_back(*judged.accuracy);
    nan_samples.push_back(static_cast<double>(judged.nan_samples));
  }
  saved.set("name." + name, std::vector<double>{});
  saved.set("loss", std::move(losses));
  if (accuracies.size() == epochs.size()) saved.set("accuracy", std::move(accuracies));
  saved.set("nan_samples", std::move(nan_samples));
  save_metrics(saved, "metric.", metrics, epochs);
  return saved;
}

std::pair<std::string, std::vector<Evaluation>> restore_set(const SavedState& saved, std::size_t epochs) {
  const SavedState names = saved.part("name.");
  if (names.all_numbers().size() != 1) throw UserError("checkpoint", "the history of a validation set has no name");
  const std::string name = names.all_numbers().begin()->first;
  std::vector<Evaluation> result(epochs);
  const auto column = [&](const char* of) -> const std::vector<double>& {
    const std::vector<double>& numbers = saved.numbers(of);
    if (numbers.size() != epochs) throw UserError("checkpoint", str("the history of '", of, "' of the set '", name, "' is incomplete"));
    return numbers;
  };
  for (std::size_t i = 0; i < epochs; ++i) {
    result[i].loss = column("loss")[i];
    if (saved.has("accuracy")) result[i].accuracy = column("accuracy")[i];
    result[i].nan_samples = static_cast<std::int64_t>(column("nan_samples")[i]);
  }
  restore_metrics(saved, "metric.", metrics, result);
  return {name, std::move(result)};
}

struct OptionalColumn {
  const char* name;
  std::optional<double> EpochResult::* member;
};
constexpr OptionalColumn optional_columns[] = {{"accuracy", &EpochResult::accuracy},
                                               {"validation_loss", &EpochResult::validation_loss},
                                               {"validation_accuracy", &EpochResult::validation_accuracy}};
struct HistoryColumn {
  const char* name;
  double EpochResult::* member;
};
constexpr HistoryColumn columns[] = {
    {"loss", &EpochResult::loss}, {"learning_rate", &EpochResult::learning_rate}, {"seconds", &EpochResult::seconds}};

SavedState save_history(const std::vector<EpochResult>& history) {
  SavedState saved;
  if (history.empty()) return saved;
  for (const auto& [name, member] : columns) {
    std::vector<double> column;
    for (const EpochResult& result : history) column.push_back(result.*member);
    saved.set(name, std::move(column));
  }
  for (const auto& [name, member] : optional_columns) {
    std::vector<double> column;
    for (const EpochResult& result : history)
      if (result.*member) column.push_back(*(result.*member));
    if (column.size() == history.size()) saved.set(name, std::move(column));
  }
  save_metrics(saved, "metric.", metrics, history);
  save_metrics(saved, "validation_metric.", validation_metrics, history);
  // Each set is in all epochs, or in none: an epoch that an interrupt ends has no evaluations, and no epoch follows it.
  const std::size_t sets = history.front().validations.size();
  const auto have_all = [&](const EpochResult& result) { return result.validations.size() == sets; };
  for (std::size_t i = 0; i < sets && std::all_of(history.begin(), history.end(), have_all); ++i) {
    std::vector<Evaluation> epochs;
    for (const EpochResult& result : history) epochs.push_back(result.validations[i].second);
    saved.add(key_of_set(i), save_set(history.front().validations[i].first, epochs));
  }
  std::vector<Evaluation> of_training;
  for (const EpochResult& result : history)
    if (result.training_set) of_training.push_back(*result.training_set);
  if (of_training.size() == history.size()) saved.add(training_set_key, save_set("training", of_training));
  return saved;
}

std::vector<EpochResult> restore_history(const SavedState& saved, std::int64_t first_epoch, std::int64_t last_epoch) {
  if (last_epoch == first_epoch) return {};
  const std::size_t epochs = saved.numbers("loss").size();
  if (static_cast<std::int64_t>(epochs) != last_epoch - first_epoch)
    throw UserError("checkpoint", str("the history has ", epochs, " epochs, not those from ", first_epoch + 1, " to ", last_epoch));
  std::vector<EpochResult> history(epochs);
  const auto read = [&](const std::string& name, const auto& member) {
    const std::vector<double>& column = saved.numbers(name);
    if (column.size() != epochs) throw UserError("checkpoint", str("the history of '", name, "' is incomplete"));
    for (std::size_t i = 0; i < epochs; ++i) history[i].*member = column[i];
  };
  for (const auto& [name, member] : columns) read(name, member);
  for (const auto& [name, member] : optional_columns)
    if (saved.has(name)) read(name, member);
  for (std::size_t i = 0; i < epochs; ++i) history[i].epoch = first_epoch + 1 + static_cast<std::int64_t>(i);
  restore_metrics(saved, "metric.", metrics, history);
  restore_metrics(saved, "validation_metric.", validation_metrics, history);
  for (std::size_t set = 0; saved.has(key_of_set(set) + "loss"); ++set) {
    const auto [name, judged] = restore_set(saved.part(key_of_set(set)), epochs);
    for (std::size_t i = 0; i < epochs; ++i) history[i].validations.emplace_back(name, judged[i]);
  }
  if (!saved.has(training_set_key + "loss")) return history;
  const std::vector<Evaluation> judged = restore_set(saved.part(training_set_key), epochs).second;
  for (std::size_t i = 0; i < epochs; ++i) history[i].training_set = judged[i];
  return history;
}

}  // namespace

SavedState RunState::save() const {
  SavedState saved;
  const auto set = [&](const char* name, std::int64_t value) { saved.set(name, static_cast<double>(value)); };
  set("first_epoch", first_epoch);
  set("epoch", epoch);
  set("step", step);
  set("stopped", stopped);
  set("now.step", now.step);
  set("now.piece", now.piece);
  set("now.steps_before_piece", now.steps_before_piece);
  set("now.row", now.row);
  set("now.draws", now.draws);
  if (!now.piece_digest.empty()) saved.set("now.piece_digest", now.piece_digest);
  saved.set("now.seconds", now.seconds);
  saved.add("now.tally.", now.tally);
  saved.add("history.", save_history(history));
  return saved;
}

RunState RunState::restore(const SavedState& saved) {
  RunState state;
  state.first_epoch = saved.integer("first_epoch", 0, most);
  state.epoch = saved.integer("epoch", state.first_epoch, most);
  state.step = saved.integer("step", 0, most_steps);
  state.stopped = saved.integer("stopped", 0, 1) != 0;
  state.now.step = saved.integer("now.step", 0, state.step);
  state.now.piece = saved.integer("now.piece", 0, most);
  state.now.steps_before_piece = saved.integer("now.steps_before_piece", 0, state.now.step);
  state.now.row = saved.integer("now.row", 0, most);
  state.now.draws = saved.integer("now.draws", 0, most);
  if (saved.has("now.piece_digest")) state.now.piece_digest = saved.numbers("now.piece_digest");
  state.now.seconds = saved.number("now.seconds");
  state.now.tally = saved.part("now.tally.");
  state.history = restore_history(saved.part("history."), state.first_epoch, state.epoch);
  return state;
}

}  // namespace sinter
