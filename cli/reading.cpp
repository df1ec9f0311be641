#include "cli/reading.h"

#include <sinter/graph.h>

#include <algorithm>
#include <iostream>
#include <numeric>

#include "cli/model.h"
#include "cli/options.h"
#include "cli/task.h"
#include "cli/words.h"

namespace sinter::cli {

namespace {

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

/// The texts, with the lines of standard input.
std::vector<std::string> given_texts(const ReadingSettings& s) {
  std::vector<std::string> texts;
  for (const std::string& text : s.texts) {
    if (text != "-") {
      texts.push_back(text);
      continue;
    }
    for (std::string line; std::getline(std::cin, line);) texts.push_back(line);
  }
  if (texts.empty()) throw UserError("--text", "standard input has no lines");
  return texts;
}

/// A table of texts alone.
data::Table table_of_texts(const ReadingSettings& s, const std::string& column, const data::Encoder& encoder) {
  if (const std::vector<std::string> others = encoder.columns_read(); !others.empty())
    throw UserError("--text", str("is not enough: the model also reads the column '", others[0], "'; give it a table with --data"));
  return data::Table({column}, {given_texts(s)});
}

data::Table table_for(const Trainer& trainer, const ReadingSettings& s, const data::Encoder& encoder) {
  const std::optional<std::string> text = text_column_of(trainer);
  if (!s.texts.empty()) {
    if (!text) throw UserError("--text", str("is for models of texts, but ", s.model, " reads none"));
    return table_of_texts(s, *text, encoder);
  }
  std::error_code error;
  const bool is_folder = text && std::filesystem::is_directory(s.data, error);
  if (!is_folder && !data::is_table(s.data)) throw UserError(s.data, "is no table, but the model was trained on one; give a CSV file");
  if (!s.labels.empty()) throw UserError("--labels", "is for .npy or IDX samples; the targets of a table are a column of it");
  return read_table(s.data, text.has_value(), csv_options(s.csv, csv_options_of(trainer, s.model)));
}

/// What a model predicts whose data name no target: classes, if the file says so, else numbers as they are.
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

Reading read_table_for(Trainer& trainer, const ReadingSettings& s, const data::Encoder& encoder) {
  const data::Table read = table_for(trainer, s, encoder);
  const std::string where = name_of(s);
  std::vector<std::size_t> kept = at(where, [&] { return encoder.kept_rows(read); });
  warn_of_rows(read, kept, encoder);
  if (kept.empty()) throw UserError(where, "has no row that the model's conditions keep, so that there is nothing to predict");
  const data::Table table = kept.size() == read.rows() ? read : read.select(kept);
  std::vector<Column> x;
  if (const std::optional<std::string> text = text_column_of(trainer)) {
    const std::size_t column = at(where, [&] { return table.column(*text); });
    x.emplace_back(at(where, [&] { return trainer.vocabulary().encode_all(table.fields(column)); }));
  }
  if (encoder.width()) x.emplace_back(at(where, [&] { return encoder.features(table, warn_on_stderr); }));
  Reading result = encoder.has_target() ? Reading{.x = {}, .truth = {}, .target = encoder.target_name(), .classes = {}, .rows = {}}
                                        : of_outputs(trainer, s.model, outputs_of(trainer, s.model));
  result.x = Columns(std::move(x));
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
    else result.truth = at(where, [&] { return encoder.target(table); });
  }
  if (encoder.is_classification()) result.classes = encoder.classes();
  else if (encoder.has_target()) result.unit = encoder.target_unit(), result.offset = encoder.unscaled(0);
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

/// Images for a model that was trained on some: its x, one after the other.
Tensor images_for(Trainer& trainer, const ReadingSettings& s) {
  const Shape sample = sample_of(trainer, s.model);
  const Type input = trainer.predict_step().traced_graph().inputs()[0].type;
  Shape image = trainer.has_metadata("image") ? at(str(s.model, ", entry 'image'"), [&] { return parse_shape(trainer.metadata("image")); }) : sample;
  if (image.rank() == 2) image = image.insert(2, 1);
  const bool fits = image.rank() == 3 && (image[2] == Dim(1) || image[2] == Dim(3)) && image.elements() == sample.elements();
  if (!fits || input.dtype != DType::u8)
    throw UserError(s.model, str("does not take images of bytes: its samples are ", Type{input.dtype, sample}, "; give it arrays with --data"));
  std::vector<Tensor> all;
  for (const std::string& path : s.images) {
    const Tensor read = data::image(path, static_cast<int>(image[2].factor()));
    if (read.dim(0) != image[0] || read.dim(1) != image[1])
      throw UserError(path, str("has ", extent(read, 0), " × ", extent(read, 1), " pixels, but the model takes ", image[0], " × ", image[1],
                                "; make it of this size"));
    const Tensor dark = s.invert ? cast(255 - cast(read, DType::i32), DType::u8) : read;
    const Shape one = sample.insert(0, 1);
    all.push_back(reshape(dark, {one.begin(), one.end()}));
  }
  return concat(all, 0);
}

Reading read_arrays_for(Trainer& trainer, const ReadingSettings& s) {
  if (!s.texts.empty()) throw UserError("--text", str("is for models of texts, but ", s.model, " reads none"));
  if (!s.images.empty()) {
    Reading result = of_outputs(trainer, s.model, outputs_of(trainer, s.model));
    result.x = images_for(trainer, s);
    return result;
  }
  if (data::is_table(s.data)) throw UserError(s.data, "seems to be a table, but the model was trained on arrays; give samples as .npy or IDX");
  const Shape sample = sample_of(trainer, s.model);
  const std::int64_t outputs = outputs_of(trainer, s.model), numbers = sample.elements().factor();
  const Tensor read = samples_of(s.data);
  if (extent(read, 1) != numbers)
    throw UserError(s.data, str("has ", counted(extent(read, 1), "number"), " per sample, but the model takes ", numbers));
  const Shape shape = sample.insert(0, extent(read, 0));
  Reading result = of_outputs(trainer, s.model, outputs);
  result.x = reshape(read, {shape.begin(), shape.end()});
  if (!s.labels.empty() && result.is_self) throw UserError("--labels", str("is for models that predict, but ", s.model, " reproduces its samples"));
  if (!s.labels.empty()) result.truth = truth_of(s.labels, extent(read, 0), !result.classes.empty(), outputs);
  return result;
}

/// Texts for a model that a program saved with its vocabulary.
Reading read_texts_for(Trainer& trainer, const ReadingSettings& s) {
  if (s.texts.empty()) throw UserError(s.model, "takes texts; give them with --text");
  Reading result = of_outputs(trainer, s.model, outputs_of(trainer, s.model));
  result.x = at(name_of(s), [&] { return trainer.vocabulary().encode_all(given_texts(s)); });
  return result;
}

/// Their mean, and which so many percent of them do not exceed.
void judge_errors(std::vector<float> errors, std::ostream& out) {
  std::sort(errors.begin(), errors.end());
  out << "mean_squared_error " << std::accumulate(errors.begin(), errors.end(), 0.0) / static_cast<double>(errors.size()) << "\n";
  for (const auto& [name, percent] : {std::pair{"median", 50}, {"percentile_90", 90}, {"percentile_99", 99}, {"greatest", 100}})
    out << name << " " << errors[(errors.size() - 1) * static_cast<std::size_t>(percent) / 100] << "\n";
}

}  // namespace

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
  command.add_option("--data", s.data, "Table with the columns that the model was trained on, folder of texts, or samples as .npy or IDX")
      ->check(file_name());
  command.add_option("--labels", s.labels, "Targets of .npy or IDX samples, to evaluate the predictions")->check(file_name());
  add_csv_options(command, s.csv, "; as of the data that the model was trained on, if not given");
}

}  // namespace sinter::cli
