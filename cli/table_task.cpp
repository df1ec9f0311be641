// Tasks of tables, with columns of numbers, categories and texts.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <set>

#include "cli/model.h"
#include "cli/options.h"
#include "cli/task_kinds.h"
#include "cli/words.h"

namespace sinter::cli {

namespace {

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

/// The encoder's options, but for the rows. Whatever several encoders warn of is told once.
data::EncoderOptions encoder_options(const TaskSettings& s) {
  const auto told = std::make_shared<std::set<std::string>>();
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
                               .log = [told](const std::string& message) {
                                 if (told->insert(message).second) warn_on_stderr(message);
                               }};
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

/// The words of the texts of the rows to train on; or the pieces of a model.
data::Vocabulary vocabulary_of(const TaskSettings& s, const std::vector<std::string_view>& texts, const std::vector<std::size_t>& rows) {
  const Keep keep = s.keep_words == "first" ? Keep::first : Keep::last;
  if (!s.subwords.empty()) return data::Vocabulary::from_sentencepiece(s.subwords, {.longest = s.max_length, .keep = keep});
  std::vector<std::string_view> learnt_from;
  for (const std::size_t row : rows) learnt_from.push_back(texts[row]);
  return at(s.data, [&] { return data::Vocabulary::fit(learnt_from, {.most_words = s.max_words, .longest = s.max_length, .keep = keep}); });
}

/// Whether the target self stands for the samples: a column of this name comes first, unless it is ignored.
bool stands_for_samples(const TaskSettings& s, const data::Table& table) {
  if (!is_self(s)) return false;
  const std::vector<std::string> ignored = parts_of(s.ignore);
  if (!table.has_column(s.target) || std::find(ignored.begin(), ignored.end(), s.target) != ignored.end()) return true;
  warn_on_stderr(str("the target is the column 'self' of ", s.data, "; for a model that reproduces the other columns, give --ignore self too"));
  return false;
}

/// The class of each row; none if the target is numbers.
std::vector<std::int64_t> classes_of(const TaskSettings& s, const data::Table& table, data::EncoderOptions options) {
  if (options.target.empty()) return {};
  options.columns = {options.target};
  options.target_alone = true;
  options.pca.reset();
  options.log = [](const std::string&) {};  // the encoder of a task says it
  const auto encoder = at(s.data, [&] { return data::Encoder::fit(table, options); });
  return encoder.is_classification() ? class_numbers(encoder.target(table)) : std::vector<std::int64_t>();
}

/// Means, deviations, categories and words are learnt from the rows to train on only.
Task table_task(const TaskSettings& s, const data::Table& table, data::EncoderOptions options, data::RowSplit rows) {
  options.rows = rows.train;
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
    vocabulary = vocabulary_of(s, texts, rows.train);
    x.emplace_back(at(s.data, [&] { return vocabulary->encode_all(texts); }));
    samples.push_back({DType::i32, {Dim::batch(), Dim::length()}});
  }
  if (encoder.width()) {
    x.emplace_back(at(s.data, [&] { return encoder.features(table, untold); }));
    samples.push_back({DType::f32, {Dim::batch(), encoder.width()}});
  }
  const Column y = encoder.has_target() ? Column(at(s.data, [&] { return encoder.target(table); })) : x.back();
  Task task = at(s.data, [&] { return split({Columns(std::move(x)), y}, rows); });
  task.samples = std::move(samples);
  task.vocabulary = std::move(vocabulary);
  task.classes = encoder.is_classification();
  task.is_self = !encoder.has_target();
  task.outputs = task.classes ? static_cast<std::int64_t>(encoder.classes().size()) : task.is_self ? encoder.width() : 1;
  task.columns = columns_text(table, encoder, s.text);
  if (task.vocabulary)
    task.columns +=
        str("  ", printable(s.text), ": texts, ", counted_entries(*task.vocabulary), ", of each text the ", s.keep_words, " ", s.max_length, "\n");
  if (!options.train_on.empty())
    task.columns += str("  trained on ", rows.train.size(), " of ", before, " rows that are not held out: ", texts_of(options.train_on), "\n");
  task.encoder = encoder;
  return task;
}

}  // namespace

data::Table read_table(const std::string& path, bool has_text, const data::CsvOptions& options) {
  std::error_code error;
  if (has_text && std::filesystem::is_directory(path, error)) return data::read_text_folder(path, {.encoding = options.encoding});
  const std::string kind = std::filesystem::path(path).extension().string();
  return kind == ".jsonl" || kind == ".ndjson" ? data::read_json_lines(path) : data::read_csv(path, options);
}

TaskData table_data(const TaskSettings& s) {
  if (s.target.empty()) throw UserError("train", "needs --data FILE.csv and --target COLUMN, or --target self; see sinter train --help");
  if (!s.subwords.empty() && s.text.empty()) throw UserError("--subwords", "is for texts; name their column with --text");
  if (s.classes) throw UserError("--classes", "is for class numbers; the classes of a table are the texts of its target");
  data::EncoderOptions options = encoder_options(s);
  const data::CellRules rules{options.missing, options.decimal, options.thousands, options.strip};
  rules.check("train");
  data::Table read = read_table(s.data, !s.text.empty(), csv_options(s.csv));
  std::string kept_text;
  const bool self = stands_for_samples(s, read);
  if (self) options.target.clear();
  if (!s.text.empty()) {
    (void)at("--text", [&] { return read.column(s.text); });
    if (self) throw UserError("--text", "is for a target that texts tell, but with --target self the numbers of each row are the targets");
    if (s.text == s.target) throw UserError("--text", str("is the target '", s.target, "'; name another column"));
    options.ignore.push_back(s.text);
    options.target_alone = true;
    if (read.has_column(s.target) && has_few_whole_numbers(read, s.target)) options.categorical.push_back(s.target);
  }
  const std::vector<std::size_t> kept = at(s.data, [&] { return data::rows_where(read, options.keep, rules); });
  if (kept.empty()) throw UserError("--keep", str("no row of ", s.data, " meets all of: ", texts_of(options.keep)));
  if (!options.keep.empty()) kept_text = str("  ", kept.size(), " of ", read.rows(), " rows used: ", texts_of(options.keep), "\n");
  const auto table = std::make_shared<const data::Table>(kept.size() == read.rows() ? std::move(read) : read.select(kept));
  const auto make = [=](const data::RowSplit& rows) {
    Task task = table_task(s, *table, options, rows);
    task.columns += kept_text;
    return task;
  };
  return {.rows = static_cast<std::int64_t>(table->rows()), .task = make, .classes = [=] { return classes_of(s, *table, options); }};
}

}  // namespace sinter::cli
