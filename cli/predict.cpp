// sinter predict: a saved model on the rows of a table.
#include <sinter/sinter.h>

#include <iostream>

#include "cli/commands.h"
#include "cli/model.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/task.h"

namespace sinter::cli {

namespace {

struct Settings {
  std::string model, data, labels, out;
  char delimiter = ',';
};

/// Softmax of a row.
std::vector<double> probabilities(const float* logits, std::size_t classes) {
  const double greatest = static_cast<double>(*std::max_element(logits, logits + classes));
  std::vector<double> result;
  double total = 0;
  for (std::size_t c = 0; c < classes; ++c) total += result.emplace_back(std::exp(static_cast<double>(logits[c]) - greatest));
  for (double& p : result) p /= total;
  return result;
}

/// What predictions are called and mean, and the truth where the data tells it.
struct Reading {
  Tensor features, truth;
  std::string target;
  std::vector<std::string> classes;  ///< none for numbers
  double factor = 1, offset = 0;     ///< a number is prediction · factor + offset
};

Reading read_table(const Settings& s, const data::Encoder& encoder) {
  const data::Table table = data::read_csv(s.data, {.delimiter = s.delimiter});
  Reading result{encoder.features(table), {}, encoder.target_name(), {}};
  if (encoder.is_classification()) result.classes = encoder.classes();
  else result.offset = encoder.unscaled(0), result.factor = encoder.unscaled(1) - result.offset;
  if (std::find(table.names.begin(), table.names.end(), encoder.target_name()) != table.names.end()) result.truth = encoder.target(table);
  return result;
}

Reading read_arrays(const Settings& s, const Trainer& trainer) {
  if (!trainer.has_metadata("task")) throw UserError(s.model, "was not written by sinter train: it does not say what it predicts");
  Reading result{flattened(data::array(s.data)), {}, "prediction", {}};
  if (!s.labels.empty()) result.truth = data::array(s.labels);
  return result;
}

data::Table table_of(const Tensor& prediction, const Reading& reading) {
  const std::vector<float> values = prediction.to_vector<float>();
  const auto rows = static_cast<std::size_t>(prediction.shape()[0].factor()), width = rows ? values.size() / rows : 0;
  data::Table result;
  if (!reading.classes.empty()) {
    result.names = {reading.target};
    for (const std::string& name : reading.classes) result.names.push_back("p(" + name + ")");
    result.columns.resize(1 + width);
    for (std::size_t r = 0; r < rows; ++r) {
      const std::vector<double> p = probabilities(values.data() + r * width, width);
      result.columns[0].push_back(reading.classes[static_cast<std::size_t>(std::max_element(p.begin(), p.end()) - p.begin())]);
      for (std::size_t c = 0; c < width; ++c) result.columns[c + 1].push_back(str(p[c]));
    }
    return result;
  }
  result.columns.resize(width);
  for (std::size_t c = 0; c < width; ++c) result.names.push_back(width == 1 ? reading.target : str(reading.target, " ", c + 1));
  for (std::size_t i = 0; i < values.size(); ++i)
    result.columns[i % width].push_back(str(static_cast<double>(values[i]) * reading.factor + reading.offset));
  return result;
}

void print(const data::Table& table) {
  for (std::size_t c = 0; c < table.names.size(); ++c) std::cout << (c ? "," : "") << shown(table.names[c]);
  std::cout << "\n";
  for (std::size_t r = 0; r < table.rows(); ++r) {
    for (std::size_t c = 0; c < table.columns.size(); ++c) std::cout << (c ? "," : "") << shown(table.columns[c][r]);
    std::cout << "\n";
  }
}

void run(const Settings& s) {
  check_outputs({{"--out", s.out}}, {s.model, s.data, s.labels});
  Trainer trainer = Trainer::load(s.model);
  Reading reading = trainer.has_metadata("encoder") ? read_table(s, encoder_of(trainer, s.model)) : read_arrays(s, trainer);
  const Tensor prediction = trainer.predict(reading.features);
  if (!trainer.has_metadata("encoder") && trainer.metadata("task") == "classes")
    for (std::int64_t c = 0; c < prediction.dim(-1).factor(); ++c) reading.classes.push_back(std::to_string(c));
  const data::Table result = table_of(prediction, reading);
  if (s.out.empty()) print(result);
  else data::write_csv(s.out, result);
  // Where the data tells the truth too, how far off it is; on stderr, so that stdout stays a table.
  if (!reading.truth.defined()) return;
  for (const metric::Pointer& metric :
       reading.classes.empty() ? std::vector{metric::r2(), metric::root_mean_squared_error()} : std::vector{metric::accuracy()}) {
    metric->add(prediction, reading.truth);
    std::cerr << metric->name() << " " << metric->result() * (metric->name() == "root_mean_squared_error" ? reading.factor : 1) << "\n";
  }
}

}  // namespace

void add_predict(CLI::App& app) {
  auto s = std::make_shared<Settings>();
  CLI::App* command = app.add_subcommand("predict", "Predict from a table or from arrays");
  command->add_option("model", s->model, "Model file of sinter train")->required();
  command->add_option("--data", s->data, "CSV file with the columns that the model was trained on, or samples as .npy or IDX")->required();
  command->add_option("--labels", s->labels, "The targets of .npy or IDX samples, to judge the predictions");
  command->add_option("-o,--out", s->out, "CSV file to write; else the predictions are printed")->check(not_empty());
  command->add_option("--delimiter", s->delimiter, "Between the fields of the data")->check(field_separator());
  command->callback([s] { run(*s); });
}

}  // namespace sinter::cli
