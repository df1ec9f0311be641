// sinter predict: a saved model on the rows of a table, on texts or on arrays.
#include <sinter/sinter.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <span>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/reading.h"
#include "cli/stream.h"
#include "cli/words.h"

namespace sinter::cli {

namespace {

struct PredictSettings {
  ReadingSettings reading;
  std::string out;
  StreamSettings stream;  ///< if it has a format
};

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

void run(const PredictSettings& s) {
  check_outputs({.files = {{"--out", s.out}}}, {s.reading.model, s.reading.data, s.reading.labels});
  Trainer trainer = Trainer::load(s.reading.model);
  const Reading reading = read_for(trainer, s.reading);
  const Tensor prediction = predictions_of(trainer, reading, s.reading);
  const data::Table result = table_of(prediction, reading);
  if (s.out.empty()) std::cout << shown(data::csv_text(result));
  else data::write_csv(s.out, result);
  // If the data has the targets too, the error; on stderr, so that stdout stays a table.
  if (reading.truth.defined()) reading.judge(prediction, std::cerr);
}

/// Throws an error if an option is given that the others do not go with.
void check_options(const PredictSettings& s, const CLI::App& command) {
  const bool is_stream = !s.stream.format.empty();
  const int given = !s.reading.data.empty() + !s.reading.texts.empty() + !s.reading.images.empty();
  if (!is_stream && given == 0) throw CLI::RequiredError("--data");
  const auto refuse = [&](std::initializer_list<const char*> options, const char* why) {
    for (const char* option : options)
      if (command.count(option)) throw UserError(option, why);
  };
  if (is_stream)
    refuse({"--data", "--text", "images", "--invert", "--labels", "--out", "--encoding", "--quotes", "--names"},
           "is for files; with --stream, records come on standard input, in UTF-8");
  else if (given > 1) throw UserError("predict", "--data, --text and images stand in place of each other; give one of them");
  else refuse({"--columns", "--max-line", "--metrics", "--counters-every"}, "is for --stream");
}

}  // namespace

void add_predict(CLI::App& app) {
  auto s = std::make_shared<PredictSettings>();
  CLI::App* command = app.add_subcommand("predict", "Predict from a table, from texts, from images, from arrays, or from a stream of records");
  add_reading_options(*command, s->reading);
  command
      ->add_option("--text", s->reading.texts,
                   "Text to predict from, for a model of texts; may be given more than once; -: each line of standard input")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command->add_option("images", s->reading.images, "PNG or JPEG files to predict from, for a model of images")->check(file_name());
  command->add_flag("--invert", s->reading.invert, "Images are dark on light, those that the model was trained on light on dark");
  command->add_option("-o,--out", s->out, "CSV file to write; without it the predictions are printed")->check(file_name());
  command->add_option("--stream", s->stream.format, "Answer records of standard input, a line each, as they come: json, csv or raw (f32)")
      ->check(one_of({"json", "csv", "raw"}));
  command->add_option("--columns", s->stream.columns, "Names of the fields, a,b,…, of csv without a header and of JSON arrays")->check(not_empty());
  command->add_option("--max-line", s->stream.max_line, "Longest line, in bytes; a longer one is answered by an error")
      ->check(whole_number(1))
      ->capture_default_str();
  command->add_option("--metrics", s->stream.metrics, "File for the counters, in Prometheus' text format")->check(file_name());
  command->add_option("--counters-every", s->stream.counters_every, "Seconds between reports of the counters; 0: at the end")
      ->check(whole_number(0))
      ->capture_default_str();
  command->callback([s, command] {
    check_options(*s, *command);
    s->stream.model = s->reading.model;
    s->stream.delimiter = s->reading.csv.delimiter.value_or(',');
    if (s->stream.format.empty()) run(*s);
    else run_stream(s->stream);
  });
}

}  // namespace sinter::cli
