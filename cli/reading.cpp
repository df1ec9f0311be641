#include "cli/reading.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <ostream>

#include "cli/model.h"
#include "cli/options.h"
#include "cli/reading_kinds.h"
#include "cli/task.h"
#include "cli/words.h"

namespace sinter::cli {

namespace {

/// Their mean, and which so many percent of them do not exceed; NaN is the greatest.
void judge_errors(std::vector<float> errors, std::ostream& out) {
  std::sort(errors.begin(), errors.end(), [](float a, float b) { return std::isnan(b) ? !std::isnan(a) : a < b; });
  out << "mean_squared_error " << std::accumulate(errors.begin(), errors.end(), 0.0) / static_cast<double>(errors.size()) << "\n";
  for (const auto& [name, percent] : {std::pair{"median", 50}, {"percentile_90", 90}, {"percentile_99", 99}, {"greatest", 100}})
    out << name << " " << errors[(errors.size() - 1) * static_cast<std::size_t>(percent) / 100] << "\n";
}

}  // namespace

Reading of_outputs(const Trainer& trainer, const std::string& path, std::int64_t outputs) {
  const bool says = trainer.has_metadata("task"), classes = says && trainer.metadata("task") == "classes", is_self = is_autoencoder(trainer);
  Reading result{.x = {}, .truth = {}, .target = is_self ? "error" : says ? "prediction" : "output", .classes = {}, .rows = {}, .is_self = is_self};
  const std::int64_t count = classes ? std::max<std::int64_t>(2, outputs) : 0;  // one output tells two apart
  for (std::int64_t c = 0; c < count; ++c) result.classes.push_back(std::to_string(c));
  if (!classes || !trainer.has_metadata("classes")) return result;
  result.classes = names_of(trainer.metadata("classes"), path);
  if (std::ssize(result.classes) != count)
    throw UserError(path, str("the entry 'classes' has ", result.classes.size(), " names, but the model tells ", count, " classes apart"));
  return result;
}

void Reading::judge(const Tensor& prediction, std::ostream& out) const {
  if (is_self) return judge_errors(prediction.to_vector<float>(), out);
  const std::vector<metric::Pointer> metrics =
      classes.empty() ? std::vector{metric::r2(), metric::scaled(unit, metric::root_mean_squared_error())} : std::vector{metric::accuracy()};
  for (const metric::Pointer& metric : metrics) {
    metric->add(prediction, truth);
    out << metric->name() << " " << metric->result() << "\n";
  }
}

std::string name_of(const ReadingSettings& s) { return !s.images.empty() ? s.images[0] : s.texts.empty() ? s.data : "--text"; }

Reading read_for(Trainer& trainer, const ReadingSettings& s) {
  (void)outputs_of(trainer, s.model);
  if (!s.images.empty() && (trainer.has_metadata("encoder") || trainer.has_metadata("vocabulary")))
    throw UserError(s.images[0], str("is an image, but ", s.model, " does not take images"));
  if (trainer.has_metadata("encoder")) return read_table_for(trainer, s, encoder_of(trainer, s.model));
  return trainer.has_metadata("vocabulary") ? read_texts_for(trainer, s) : read_arrays_for(trainer, s);
}

Tensor predictions_of(Trainer& trainer, const Reading& reading, const ReadingSettings& settings) {
  const Tensor prediction = at(name_of(settings), [&] { return trainer.predict(reading.x); });
  if (!reading.is_self) return reading.classes.empty() ? prediction : class_probabilities(trainer, prediction);
  const Tensor samples = numbers_of(reading.x.only());
  if (samples.shape() != prediction.shape())
    throw UserError(settings.model, str("says that it reproduces its samples, but makes ", prediction.type(), " of ", samples.type()));
  return mean(square(prediction - samples), {1}, true);
}

void add_reading_options(CLI::App& command, ReadingSettings& s) {
  command.add_option("model", s.model, "Model file from sinter train")->required()->check(file_name());
  command
      .add_option("--data", s.data, "Table with the columns that the model was trained on, samples as .npy or IDX, or a folder, as for sinter train")
      ->check(file_name());
  command.add_option("--labels", s.labels, "Targets of .npy or IDX samples, to evaluate the predictions")->check(file_name());
  add_csv_options(command, s.csv, "; as of the data that the model was trained on, if not given");
}

}  // namespace sinter::cli
