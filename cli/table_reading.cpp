// Tables and texts as the model of a file reads them.
#include <filesystem>
#include <iostream>

#include "cli/model.h"
#include "cli/reading_kinds.h"
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

}  // namespace

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

Reading read_texts_for(Trainer& trainer, const ReadingSettings& s) {
  if (s.texts.empty()) throw UserError(s.model, "takes texts; give them with --text");
  Reading result = of_outputs(trainer, s.model, outputs_of(trainer, s.model));
  result.x = at(name_of(s), [&] { return trainer.vocabulary().encode_all(given_texts(s)); });
  return result;
}

}  // namespace sinter::cli
