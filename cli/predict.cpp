// sinter predict: a saved model on the rows of a table.
#include <sinter/sinter.h>

#include <iostream>

#include "cli/commands.h"
#include "cli/model.h"

namespace sinter::cli {

namespace {

struct Settings {
  std::string model, data, out;
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

void run(const Settings& s) {
  Trainer trainer = Trainer::load(s.model);
  const data::Encoder encoder = encoder_of(trainer, s.model);
  const data::Table table = data::read_csv(s.data, {.delimiter = s.delimiter});
  const Tensor prediction = trainer.predict(encoder.features(table));
  const std::vector<float> values = prediction.to_vector<float>();
  data::Table result;
  if (encoder.is_classification()) {
    const std::size_t classes = encoder.classes().size();
    result.names = {encoder.target_name()};
    for (const std::string& name : encoder.classes()) result.names.push_back("p(" + name + ")");
    result.columns.resize(1 + classes);
    for (std::size_t r = 0; r < table.rows(); ++r) {
      const std::vector<double> p = probabilities(values.data() + r * classes, classes);
      result.columns[0].push_back(encoder.classes()[static_cast<std::size_t>(std::max_element(p.begin(), p.end()) - p.begin())]);
      for (std::size_t c = 0; c < classes; ++c) result.columns[c + 1].push_back(str(p[c]));
    }
  } else {
    result.names = {encoder.target_name()};
    result.columns.resize(1);
    for (const float value : values) result.columns[0].push_back(str(encoder.unscaled(static_cast<double>(value))));
  }
  if (s.out.empty()) {
    for (std::size_t c = 0; c < result.names.size(); ++c) std::cout << (c ? "," : "") << result.names[c];
    std::cout << "\n";
    for (std::size_t r = 0; r < result.rows(); ++r) {
      for (std::size_t c = 0; c < result.columns.size(); ++c) std::cout << (c ? "," : "") << result.columns[c][r];
      std::cout << "\n";
    }
  } else {
    data::write_csv(s.out, result);
  }
  // Where the table tells the truth too, how far off it is; on stderr, so that stdout stays a table.
  if (std::find(table.names.begin(), table.names.end(), encoder.target_name()) == table.names.end()) return;
  const Tensor target = encoder.target(table);
  for (const metric::Pointer& metric :
       encoder.is_classification() ? std::vector{metric::accuracy()} : std::vector{metric::r2(), metric::root_mean_squared_error()}) {
    metric->add(prediction, target);
    const bool error = metric->name() == "root_mean_squared_error";
    std::cerr << metric->name() << " " << (error ? encoder.unscaled(metric->result()) - encoder.unscaled(0) : metric->result()) << "\n";
  }
}

}  // namespace

void add_predict(CLI::App& app) {
  auto s = std::make_shared<Settings>();
  CLI::App* command = app.add_subcommand("predict", "Predict from the rows of a CSV file");
  command->add_option("model", s->model, "Model file of sinter train")->required();
  command->add_option("--data", s->data, "CSV file with the columns that the model was trained on")->required();
  command->add_option("-o,--out", s->out, "CSV file to write; else the predictions are printed");
  command->add_option("--delimiter", s->delimiter, "Between the fields of the data");
  command->callback([s] { run(*s); });
}

}  // namespace sinter::cli
