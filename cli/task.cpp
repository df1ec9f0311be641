#include "cli/task.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <numeric>
#include <set>

#include "cli/options.h"
#include "cli/words.h"

namespace sinter::cli {

namespace {

/// The rows to train on and those held out, whose number is rounded down.
data::RowSplit split_rows(std::size_t rows, const TaskSettings& s) {
  const auto held_out = static_cast<std::size_t>(s.validation_split * static_cast<double>(rows));
  if (held_out == rows) throw UserError("--validation-split", str("leaves no rows of ", rows, " to train on"));
  if (held_out > 0) return data::split_rows(rows, {.test = static_cast<double>(held_out) / static_cast<double>(rows), .seed = s.seed});
  data::RowSplit all;
  all.train.resize(rows);
  std::iota(all.train.begin(), all.train.end(), std::size_t{0});
  return all;
}

/// Images of one byte per pixel are scaled to [0, 1].
float scale_of(const Tensor& x) { return x.dtype() == DType::u8 ? 1.0f / 255 : 1.0f; }

/// Class numbers of any type.
std::vector<std::int64_t> class_numbers(const Tensor& y) {
  const auto read = [&]<class T>(T) {
    const std::vector<T> values = y.to_vector<T>();
    return std::vector<std::int64_t>(values.begin(), values.end());
  };
  return y.dtype() == DType::u8 ? read(std::uint8_t{}) : y.dtype() == DType::u32 ? read(std::uint32_t{}) : read(std::int32_t{});
}

/// The number of classes of a model for these labels. Throws UserError for labels that are no class numbers and, as a likely mistake, for too many.
std::int64_t count_classes(const TaskSettings& s, const std::string& where, const std::vector<std::int64_t>& labels) {
  constexpr std::int64_t most_unasked = 1000;
  const auto [least, greatest] = std::minmax_element(labels.begin(), labels.end());
  const auto place = [&](auto label) { return str("label ", *label, " of sample ", label - labels.begin()); };
  if (*least < 0) throw UserError(where, str(place(least), " is negative; classes are numbered from 0"));
  if (*least == *greatest) throw UserError(where, str("all labels are ", *least, ": with a single class there is nothing to learn"));
  if (*greatest >= std::numeric_limits<std::int32_t>::max()) throw UserError(where, str(place(greatest), " is too large for a class number"));
  if (s.classes) {
    if (*greatest >= s.classes) throw UserError(where, str(place(greatest), " is outside of [0, ", s.classes, "), the classes of --classes"));
    return s.classes;
  }
  if (*greatest >= most_unasked)
    throw UserError(where, str(place(greatest), " needs a model of ", *greatest + 1, " classes; if that is meant, give --classes ", *greatest + 1));
  return *greatest + 1;
}

/// Sets the sizes of the model's input and output. `y` are all targets, including those held out.
void set_sizes(Task& task, const TaskSettings& s, const std::string& where, const std::vector<Tensor>& y) {
  task.samples = {task.train.x[0].type()};
  task.samples[0].shape = task.samples[0].shape.with(0, Dim::batch());
  if (task.samples[0].dtype == DType::u8) task.samples[0].dtype = DType::f32;  // scaled
  task.classes = is_index(y[0].dtype());
  if (!task.classes) {
    if (s.classes) throw UserError("--classes", str("is for class numbers, but the targets in ", where, " are ", y[0].type()));
    task.outputs = y[0].elements() / y[0].shape()[0].factor();
    return;
  }
  std::vector<std::int64_t> labels;
  for (const Tensor& part : y)
    for (const std::int64_t label : class_numbers(part)) labels.push_back(label);
  task.outputs = count_classes(s, where, labels);
}

/// Some samples to train on, the others held out.
Task split(const Dataset& all, const data::RowSplit& rows) {
  Task task;
  task.train = all.select(rows.train);
  if (!rows.test.empty()) task.validation = all.select(rows.test);
  return task;
}

/// `x > 1, town == 'Ulm, new'` as two conditions: commas in quotes part none.
std::vector<data::Condition> conditions_of(const std::string& option, const std::string& list) {
  std::vector<data::Condition> conditions;
  char quote = 0;
  std::string one;
  const auto add = [&] { conditions.push_back(at(option, [&] { return data::Condition(one); })); };
  for (const char c : list) {
    if (c == quote) quote = 0;
    else if (!quote && (c == '\'' || c == '"')) quote = c;
    if (c == ',' && !quote) add(), one.clear();
    else one += c;
  }
  if (!list.empty()) add();
  return conditions;
}

/// "min_max,price=none": one scaling for all columns, and others for some.
void set_scaling(data::EncoderOptions& options, const std::string& list) {
  for (const std::string& part : parts_of(list)) {
    const std::size_t equals = part.rfind('=');
    const data::Scaling scaling = at("--scaling", [&] { return data::scaling_named(equals == std::string::npos ? part : part.substr(equals + 1)); });
    if (equals == std::string::npos) options.scaling = scaling;
    else options.column_scaling.emplace_back(part.substr(0, equals), scaling);
  }
}

std::optional<data::PCAOptions> pca_options(double pca) {
  if (pca == 0) return {};
  if (pca < 1) return data::PCAOptions{.variance = pca};
  if (pca != std::floor(pca) || pca > static_cast<double>(most_counted))
    throw UserError("--pca", str("must be a whole number of components, or a share of the variance below 1, got ", pca));
  return data::PCAOptions{.components = static_cast<std::int64_t>(pca)};
}

/// The encoder's options, but for the rows.
data::EncoderOptions encoder_options(const TaskSettings& s) {
  data::EncoderOptions options{.target = s.target,
                               .columns = parts_of(s.columns),
                               .categorical = parts_of(s.categorical),
                               .ignore = parts_of(s.ignore),
                               .missing = parts_of(s.missing),
                               .decimal = s.decimal,
                               .thousands = s.thousands,
                               .strip = parts_of(s.strip, " ,"),
                               .keep = conditions_of("--keep", s.keep),
                               .train_on = conditions_of("--train-on", s.train_on),
                               .pca = pca_options(s.pca),
                               .log = warn_on_stderr};
  std::erase(options.strip, "");
  set_scaling(options, s.scaling);
  if (!s.normalize.empty()) options.normalize = s.normalize == "l1" ? data::Norm::l1 : s.normalize == "l2" ? data::Norm::l2 : data::Norm::max;
  return options;
}

/// "Class not empty, amount > 0".
std::string texts_of(const std::vector<data::Condition>& conditions) {
  std::string text;
  for (const data::Condition& condition : conditions) text += (text.empty() ? "" : ", ") + printable(condition.text());
  return text;
}

/// How each column is used, one line per column.
std::string columns_text(const data::Table& table, const data::Encoder& encoder, const std::string& text_column) {
  std::string text;
  std::vector<std::string> used;
  for (const data::ColumnSummary& column : encoder.summary(table)) {
    const bool one = column.categories == 1;
    const char* kind = column.is_target ? " classes" : one ? " category" : " categories";
    text += str("  ", printable(column.name), ": ", column.categorical ? str(column.categories, kind) : "numbers",
                column.is_target ? ", the target" : "");
    if (column.missing) text += str(", ", column.missing, " missing");
    if (column.unseen) text += str(", ", counted(column.unseen, "field"), " with categories that only held-out rows have");
    text += "\n";
    used.push_back(column.name);
  }
  for (const std::string& name : table.names)
    if (name != text_column && std::find(used.begin(), used.end(), name) == used.end()) text += str("  ", printable(name), ": left out\n");
  return text;
}

/// Whether a column has a few whole numbers: with texts, these are classes.
bool has_few_whole_numbers(const data::Table& table, const std::string& column) {
  constexpr std::size_t most_classes = 20, most_digits = 3;
  std::set<std::string_view> found;
  for (const std::string_view field : table.fields(table.column(column))) {
    const bool is_whole = !field.empty() && field.size() <= most_digits && field.find_first_not_of("0123456789") == field.npos;
    if (!is_whole || (found.insert(field).second && found.size() > most_classes)) return false;
  }
  return true;
}

/// The words of the texts of the rows to train on.
data::Vocabulary vocabulary_of(const TaskSettings& s, const std::vector<std::string_view>& texts, const std::vector<std::size_t>& rows) {
  std::vector<std::string_view> learnt_from;
  for (const std::size_t row : rows) learnt_from.push_back(texts[row]);
  return data::Vocabulary::fit(learnt_from,
                               {.most_words = s.max_words, .longest = s.max_length, .keep = s.keep_words == "first" ? Keep::first : Keep::last});
}

Task from_table(const TaskSettings& s) {
  if (s.target.empty()) throw UserError("train", "needs --data FILE.csv and --target COLUMN; see sinter train --help");
  if (s.classes) throw UserError("--classes", "is for class numbers; the classes of a table are the texts of its target");
  data::EncoderOptions options = encoder_options(s);
  const data::CellRules rules{options.missing, options.decimal, options.thousands, options.strip};
  rules.check("train");
  const data::Table read = read_table(s.data, !s.text.empty(), csv_options(s.csv));
  if (!s.text.empty()) {
    (void)at("--text", [&] { return read.column(s.text); });
    if (s.text == s.target) throw UserError("--text", str("is the target '", s.target, "'; name another column"));
    options.ignore.push_back(s.text);
    options.target_alone = true;
    if (read.has_column(s.target) && has_few_whole_numbers(read, s.target)) options.categorical.push_back(s.target);
  }
  const std::vector<std::size_t> kept = at(s.data, [&] { return data::rows_where(read, options.keep, rules); });
  if (kept.empty()) throw UserError("--keep", str("no row of ", s.data, " meets all of: ", texts_of(options.keep)));
  const data::Table table = kept.size() == read.rows() ? read : read.select(kept);
  data::RowSplit rows = split_rows(table.rows(), s);
  options.rows = rows.train;
  // Means, deviations and categories are learnt from the training rows only.
  const auto encoder = at(s.data, [&] { return data::Encoder::fit(table, options); });
  const std::vector<std::size_t> wanted = at(s.data, [&] { return encoder.training_rows(table); });
  const std::size_t before =
      std::erase_if(rows.train, [&](std::size_t row) { return !std::binary_search(wanted.begin(), wanted.end(), row); }) + rows.train.size();
  const auto untold = [](const std::string&) {};  // columns_text counts categories that only held-out rows have
  std::vector<Column> x;
  std::vector<Type> samples;
  std::optional<data::Vocabulary> vocabulary;
  if (!s.text.empty()) {
    const std::vector<std::string_view> texts = table.fields(table.column(s.text));
    vocabulary = at(s.data, [&] { return vocabulary_of(s, texts, rows.train); });
    x.emplace_back(at(s.data, [&] { return vocabulary->encode_all(texts); }));
    samples.push_back({DType::i32, {Dim::batch(), Dim::length()}});
  }
  if (encoder.width()) {
    x.emplace_back(at(s.data, [&] { return encoder.features(table, untold); }));
    samples.push_back({DType::f32, {Dim::batch(), encoder.width()}});
  }
  Task task = at(s.data, [&] { return split({Columns(std::move(x)), encoder.target(table)}, rows); });
  task.samples = std::move(samples);
  task.vocabulary = std::move(vocabulary);
  task.classes = encoder.is_classification();
  task.outputs = task.classes ? static_cast<std::int64_t>(encoder.classes().size()) : 1;
  task.columns = columns_text(table, encoder, s.text);
  if (task.vocabulary)
    task.columns += str("  ", printable(s.text), ": texts, ", task.vocabulary->words().size(), " words, of each text the ", s.keep_words, " ",
                        s.max_length, "\n");
  if (!options.keep.empty()) task.columns += str("  ", kept.size(), " of ", read.rows(), " rows used: ", texts_of(options.keep), "\n");
  if (!options.train_on.empty())
    task.columns += str("  trained on ", rows.train.size(), " of ", before, " rows that are not held out: ", texts_of(options.train_on), "\n");
  task.encoder = encoder;
  return task;
}

/// An array with at least one sample.
Tensor array_of(const std::string& path) {
  const Tensor read = data::array(path);
  if (read.rank() < 1) throw UserError(path, str("an array must have samples as its first dimension, got ", read.type()));
  if (read.elements() == 0) throw UserError(path, str("is empty, got ", read.type()));
  return read;
}

/// Samples [n, ...] as [n, numbers per sample].
Tensor flat(const Tensor& read) {
  const Tensor samples = read.dtype() == DType::boolean ? cast(read, DType::f32) : read;
  return samples.rank() == 2 ? samples : reshape(samples, {extent(samples, 0), samples.elements() / extent(samples, 0)});
}

/// Samples as layers take them: images [n, height, width] of bytes have one channel, other arrays stay as they are.
Tensor shaped(const Tensor& read) {
  if (read.dtype() == DType::boolean) return cast(read, DType::f32);
  if (read.dtype() != DType::u8 || read.rank() != 3) return read;
  return reshape(read, {extent(read, 0), extent(read, 1), extent(read, 2), 1});
}

/// Of samples [n, height, width] or [n, height, width, 1 or 3] of at least 8 x 8 pixels, the shape of one.
std::vector<std::int64_t> image_of(const Shape& samples) {
  if (samples.rank() != 3 && (samples.rank() != 4 || (samples[3] != Dim(1) && samples[3] != Dim(3)))) return {};
  std::vector<std::int64_t> image;
  for (std::size_t axis = 1; axis < samples.rank(); ++axis) image.push_back(samples[axis].factor());
  if (image[0] < 8 || image[1] < 8) return {};
  return image;
}

Task from_arrays(const TaskSettings& s) {
  if (s.labels.empty()) throw UserError("train", str("needs --labels FILE with the targets of ", s.data, "; see sinter train --help"));
  const Tensor read = array_of(s.data), x = s.keeps_shape ? shaped(read) : flat(read), y = targets_of(s.labels);
  if (extent(x, 0) != extent(y, 0))
    throw UserError(s.labels,
                    str("has ", counted(extent(y, 0), "target"), ", but ", s.data, " has ", counted(extent(x, 0), "sample"), "; give one for each"));
  const Dataset all{x, y, scale_of(x)};
  at(s.data, [&] { Dataset(x, x).check_finite("train"); });
  at(s.labels, [&] { all.check_finite("train"); });
  Task task = split(all, split_rows(static_cast<std::size_t>(all.size()), s));
  set_sizes(task, s, s.labels, {y});
  task.image = image_of(read.shape());
  return task;
}

bool has_subfolders(const std::string& folder) {
  std::error_code error;
  for (const std::filesystem::directory_entry& entry : std::filesystem::directory_iterator(folder, error))
    if (entry.is_directory() && entry.path().filename().string().front() != '.') return true;
  return false;
}

Task from_images(const TaskSettings& s) {
  data::ImageFolder read = data::image_folder(s.data, static_cast<int>(s.channels));
  const Tensor images = read.data.x[0];
  if (read.classes.size() < 2) throw UserError(s.data, "has a single subfolder: with one class there is nothing to learn");
  if (!s.keeps_shape) read.data.x = flat(images);
  Task task = split(read.data, split_rows(static_cast<std::size_t>(read.data.size()), s));
  set_sizes(task, s, s.data, {read.data.y[0]});
  task.outputs = static_cast<std::int64_t>(read.classes.size());
  task.class_names = std::move(read.classes);
  for (std::size_t axis = 1; axis < 4; ++axis) task.image.push_back(extent(images, axis));
  return task;
}

Task from_folder(const TaskSettings& s) {
  if (has_subfolders(s.data)) return from_images(s);
  Task task;
  std::tie(task.train, task.validation) = data::mnist(s.data);
  const bool are_digits = extent(task.train.x[0], 1) == 28 * 28;
  if (are_digits) task.image = {28, 28};
  if (are_digits && s.keeps_shape)
    for (Dataset* set : {&task.train, &*task.validation}) set->x = reshape(set->x[0], {set->size(), 28, 28, 1});
  set_sizes(task, s, s.data, {task.train.y, task.validation->y});
  return task;
}

}  // namespace

std::vector<std::string> parts_of(const std::string& list, std::string_view separators) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin < list.size();) {
    const std::size_t end = std::min(list.find_first_of(separators, begin), list.size());
    parts.push_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

data::Table read_table(const std::string& path, bool has_text, const data::CsvOptions& options) {
  std::error_code error;
  if (has_text && std::filesystem::is_directory(path, error)) return data::read_text_folder(path, {.encoding = options.encoding});
  const std::string kind = std::filesystem::path(path).extension().string();
  return kind == ".jsonl" || kind == ".ndjson" ? data::read_json_lines(path) : data::read_csv(path, options);
}

Tensor samples_of(const std::string& path) { return flat(array_of(path)); }

Tensor targets_of(const std::string& path) {
  const Tensor read = array_of(path), y = read.dtype() == DType::boolean ? cast(read, DType::i32) : read;
  if (!is_index(y.dtype())) return y.rank() == 2 ? y : reshape(y, {extent(y, 0), y.elements() / extent(y, 0)});
  if (y.rank() != 1) throw UserError(path, str("class numbers must be [samples], got ", y.type()));
  return y;
}

Task load_task(const TaskSettings& s) {
  if (s.data.empty()) throw UserError("train", "needs --data; see sinter train --help");
  std::error_code error;  // of what cannot be opened, which its reader says
  const bool is_folder = std::filesystem::is_directory(s.data, error), folder = is_folder && s.text.empty(),
             table = is_folder ? !folder : data::is_table(s.data);
  if (!table && !(s.target.empty() && s.categorical.empty() && s.ignore.empty()))
    throw UserError("train", str("--target, --categorical and --ignore name columns of a table, but ", s.data, " is no table; give --labels FILE"));
  for (const auto& [option, value] : {std::pair{"--missing", &s.missing},
                                      {"--thousands", &s.thousands},
                                      {"--strip", &s.strip},
                                      {"--columns", &s.columns},
                                      {"--text", &s.text},
                                      {"--keep", &s.keep},
                                      {"--train-on", &s.train_on},
                                      {"--normalize", &s.normalize}})
    if (!table && !value->empty()) throw UserError(option, str("is for the fields of a table, but ", s.data, " is no table"));
  if (!table && (s.pca != 0 || s.scaling != "standard"))
    throw UserError("train", str("--scaling and --pca are for tables, but ", s.data, " is none"));
  if ((folder || table) && !s.labels.empty())
    throw UserError("--labels", "is for a .npy or IDX file of samples; the target of a table is --target COLUMN");
  return folder ? from_folder(s) : table ? from_table(s) : from_arrays(s);
}

}  // namespace sinter::cli
