// sinter predict: a saved model on the rows of a table.
#include <sinter/sinter.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <span>

#include "cli/commands.h"
#include "cli/model.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/stream.h"
#include "cli/task.h"
#include "cli/words.h"

namespace sinter::cli {

namespace {

struct Settings {
  std::string model, data, labels, out, encoding = "utf-8";
  char delimiter = ',';
  StreamSettings stream;  ///< if it has a format
};

/// Names and units of predictions, and the true targets if the data has them.
struct Reading {
  Tensor features, truth;
  std::string target;
  std::vector<std::string> classes;  ///< none for numbers
  std::vector<std::size_t> rows;     ///< of the data, from 1; empty if the encoder leaves none out
  double unit = 1, offset = 0;       ///< a number is prediction · unit + offset
};

/// Says which rows the conditions that the model was trained with leave out.
void warn_of_rows(const data::Table& table, const std::vector<std::size_t>& kept, const data::Encoder& encoder) {
  if (kept.size() == table.rows()) return;
  std::size_t first = 0;
  while (first < kept.size() && kept[first] == first) ++first;
  std::string conditions;
  for (const data::Condition& condition : encoder.keep()) conditions += (conditions.empty() ? "" : ", ") + condition.text();
  warn_on_stderr(str(table.rows() - kept.size(), " of ", table.rows(), " rows are left out, that of line ", table.line(first),
                     " first: the model is for rows with ", conditions));
}

Reading read_table(const Settings& s, const data::Encoder& encoder) {
  if (!data::is_table(s.data)) throw UserError(s.data, "is no table, but the model was trained on one; give a CSV file");
  if (!s.labels.empty()) throw UserError("--labels", "is for .npy or IDX samples; the targets of a table are a column of it");
  const data::Table read = data::read_csv(s.data, {.delimiter = s.delimiter, .encoding = s.encoding});
  std::vector<std::size_t> kept = at(s.data, [&] { return encoder.kept_rows(read); });
  warn_of_rows(read, kept, encoder);
  if (kept.empty()) throw UserError(s.data, "has no row that the model's conditions keep, so that there is nothing to predict");
  const data::Table table = kept.size() == read.rows() ? read : read.select(kept);
  Reading result{at(s.data, [&] { return encoder.features(table, warn_on_stderr); }), {}, encoder.target_name(), {}, {}};
  if (!encoder.keep().empty()) {
    for (std::size_t& row : kept) ++row;
    result.rows = std::move(kept);
  }
  for (const data::ColumnSummary& column : encoder.summary(table)) {
    if (!column.is_target) continue;
    const auto unjudged = [&](const char* what, std::size_t rows, const std::string& first) {
      warn_on_stderr(
          str("column '", column.name, "': ", what, " in ", rows, " of ", table.rows(), " rows", first, ", so predictions are not judged"));
    };
    if (column.missing) unjudged("no value", column.missing, "");
    else if (column.unseen) unjudged("unknown classes", column.unseen, str(", '", column.first_unseen, "' first"));
    else result.truth = at(s.data, [&] { return encoder.target(table); });
  }
  if (encoder.is_classification()) result.classes = encoder.classes();
  else result.unit = encoder.target_unit(), result.offset = encoder.unscaled(0);
  return result;
}

/// The targets of samples, if they are of the kind that the model predicts.
Tensor truth_of(const std::string& path, std::int64_t samples, bool classes, std::int64_t outputs) {
  const Tensor truth = targets_of(path);
  if (extent(truth, 0) != samples)
    throw UserError(path, str("has ", counted(extent(truth, 0), "target"), ", but the data has ", counted(samples, "sample"), "; give one for each"));
  if (classes != is_index(truth.dtype()) || (!classes && extent(truth, 1) != outputs))
    throw UserError(path, str("has targets ", truth.type(), ", but the model predicts ",
                              classes ? "class numbers" : str(counted(outputs, "number"), " per sample")));
  return truth;
}

Reading read_arrays(const Settings& s, Trainer& trainer) {
  if (!trainer.has_metadata("task")) throw UserError(s.model, "was not written by sinter train: it does not say what it predicts");
  if (data::is_table(s.data)) throw UserError(s.data, "seems to be a table, but the model was trained on arrays; give samples as .npy or IDX");
  Reading result{samples_of(s.data), {}, "prediction", {}, {}};
  const std::int64_t inputs = inputs_of(trainer, s.model), outputs = outputs_of(trainer, s.model), numbers = extent(result.features, 1);
  if (numbers != inputs) throw UserError(s.data, str("has ", counted(numbers, "number"), " per sample, but the model takes ", inputs));
  const bool classes = trainer.metadata("task") == "classes";
  if (!s.labels.empty()) result.truth = truth_of(s.labels, extent(result.features, 0), classes, outputs);
  for (std::int64_t c = 0; classes && c < std::max<std::int64_t>(2, outputs); ++c)  // one output tells two apart
    result.classes.push_back(std::to_string(c));
  return result;
}

/// What is written, of numbers or the probabilities of classes, behind the number of the row where the encoder leaves rows out. Of classes whose
/// probabilities are NaN none is the greatest: their rows name none, and a warning says so.
data::Table table_of(const Tensor& prediction, const Reading& reading) {
  const std::vector<float> values = prediction.to_vector<float>();
  const auto rows = static_cast<std::size_t>(prediction.shape()[0].factor()), width = static_cast<std::size_t>(prediction.shape()[1].factor());
  data::Table result;
  const auto begin_row = [&](std::size_t r) {
    if (!reading.rows.empty()) result.add_field(std::to_string(reading.rows[r]));
  };
  if (!reading.rows.empty()) result.names.push_back("row");
  if (!reading.classes.empty()) {
    result.names.push_back(reading.target);
    for (const std::string& name : reading.classes) result.names.push_back("p(" + name + ")");
    std::vector<std::size_t> undecided;
    for (std::size_t r = 0; r < rows; ++r) {
      begin_row(r);
      const std::span<const float> p = std::span(values).subspan(r * width, width);
      if (std::any_of(p.begin(), p.end(), [](float part) { return std::isnan(part); })) {
        result.add_field("");
        undecided.push_back(r);
      } else {
        result.add_field(reading.classes[static_cast<std::size_t>(std::max_element(p.begin(), p.end()) - p.begin())]);
      }
      for (const float part : p) result.add_field(serve::prediction_text(static_cast<double>(part)));
      result.end_row();
    }
    if (!undecided.empty())
      warn_on_stderr(str("no class is predicted for ", undecided.size(), " of ", counted(rows, "row"), ", whose probabilities are not finite, row ",
                         undecided.front() + 1, " first: does the data have greater numbers than the model was trained on?"));
    return result;
  }
  for (std::size_t c = 0; c < width; ++c) result.names.push_back(width == 1 ? reading.target : str(reading.target, " ", c + 1));
  for (std::size_t r = 0; r < rows; ++r) {
    begin_row(r);
    for (std::size_t c = 0; c < width; ++c)
      result.add_field(serve::prediction_text(static_cast<double>(values[r * width + c]) * reading.unit + reading.offset, reading.unit));
    result.end_row();
  }
  return result;
}

void run(const Settings& s) {
  check_outputs({.files = {{"--out", s.out}}}, {s.model, s.data, s.labels});
  Trainer trainer = Trainer::load(s.model);
  (void)outputs_of(trainer, s.model);
  const Reading reading = trainer.has_metadata("encoder") ? read_table(s, encoder_of(trainer, s.model)) : read_arrays(s, trainer);
  Tensor prediction = at(s.data, [&] { return trainer.predict(reading.features); });
  if (!reading.classes.empty()) prediction = class_probabilities(trainer, prediction);
  const data::Table result = table_of(prediction, reading);
  if (s.out.empty()) std::cout << shown(data::csv_text(result));
  else data::write_csv(s.out, result);
  // If the data has the targets too, the error; on stderr, so that stdout stays a table.
  if (!reading.truth.defined()) return;
  for (const metric::Pointer& metric : reading.classes.empty()
                                           ? std::vector{metric::r2(), metric::scaled(reading.unit, metric::root_mean_squared_error())}
                                           : std::vector{metric::accuracy()}) {
    metric->add(prediction, reading.truth);
    std::cerr << metric->name() << " " << metric->result() << "\n";
  }
}

/// Throws an error if an option is given that the others do not go with.
void check_options(const Settings& s, const CLI::App& command) {
  const bool is_stream = !s.stream.format.empty();
  if (!is_stream && s.data.empty()) throw CLI::RequiredError("--data");
  const auto refuse = [&](std::initializer_list<const char*> options, const char* why) {
    for (const char* option : options)
      if (command.count(option)) throw UserError(option, why);
  };
  if (is_stream) refuse({"--data", "--labels", "--out", "--encoding"}, "is for files; with --stream, records come on standard input, in UTF-8");
  else refuse({"--columns", "--max-line", "--metrics", "--counters-every"}, "is for --stream");
}

}  // namespace

void add_predict(CLI::App& app) {
  auto s = std::make_shared<Settings>();
  CLI::App* command = app.add_subcommand("predict", "Predict from a table, from arrays, or from a stream of records");
  command->add_option("model", s->model, "Model file from sinter train")->required()->check(not_empty());
  command->add_option("--data", s->data, "CSV file with the columns that the model was trained on, or samples as .npy or IDX")->check(not_empty());
  command->add_option("--labels", s->labels, "Targets of .npy or IDX samples, to evaluate the predictions")->check(not_empty());
  command->add_option("-o,--out", s->out, "CSV file to write; without it the predictions are printed")->check(not_empty());
  command->add_option("--delimiter", s->delimiter, "Separator between the fields of the data")->check(field_separator());
  command->add_option("--encoding", s->encoding, "Encoding of the CSV file, as iconv names it: utf-8, latin1, cp1252, ...")->check(not_empty());
  command->add_option("--stream", s->stream.format, "Answer records of standard input, a line each, as they come: json, csv or raw (f32)")
      ->check(one_of({"json", "csv", "raw"}));
  command->add_option("--columns", s->stream.columns, "Names of the fields, a,b,…, of csv without a header and of JSON arrays")->check(not_empty());
  command->add_option("--max-line", s->stream.max_line, "Longest line, in bytes; a longer one is answered by an error")
      ->check(whole_number(1))
      ->capture_default_str();
  command->add_option("--metrics", s->stream.metrics, "File for the counters, in Prometheus' text format")->check(not_empty());
  command->add_option("--counters-every", s->stream.counters_every, "Seconds between reports of the counters; 0: at the end")
      ->check(whole_number(0))
      ->capture_default_str();
  command->callback([s, command] {
    check_options(*s, *command);
    s->stream.model = s->model;
    s->stream.delimiter = s->delimiter;
    if (s->stream.format.empty()) run(*s);
    else run_stream(s->stream);
  });
}

}  // namespace sinter::cli
