#include "frontend/serve/feature_reader.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <variant>

#include "frontend/core/counted.h"
#include "ir/error.h"

namespace sinter::serve {

std::vector<std::string> default_columns(const ServedModel& model, Format format) {
  std::vector<std::string> columns;
  if (format == Format::json && model.encoder()) return model.encoder()->columns_read();
  for (std::int64_t i = 1; format == Format::json && i <= model.inputs(); ++i) columns.push_back(str("column_", i));
  return columns;
}

FeatureReader::FeatureReader(const ServedModel& model, const RecordFormat& format, std::vector<std::string> columns) : columns_(std::move(columns)) {
  const bool is_raw = format.format == Format::raw;
  if (is_raw && model.encoder())
    throw UserError("stream", "raw records are the numbers that a model takes, but the model reads columns of a table; give json or csv records");
  if (is_raw && !columns_.empty()) throw UserError("stream", "raw records are numbers in their order, which have no names; leave the columns out");
  if (is_raw) return;
  if (model.encoder()) encoder_.emplace(*model.encoder(), columns_);
  else if (static_cast<std::int64_t>(columns_.size()) != model.inputs())
    throw UserError("stream", str("the model takes ", counted(model.inputs(), "number"), ", but records have ", counted(columns_.size(), "column")));
  const data::CellRules& rules = model.encoder() ? model.encoder()->rules() : rules_;
  const bool is_plain = rules.decimal == '.' && rules.missing.empty();  // a number written as JSON writes them is read as that
  reader_ = record_reader(format, columns_, columns_of(Content::texts), is_plain ? columns_of(Content::numbers) : std::vector<std::string>());
}

std::vector<std::string> FeatureReader::columns_of(Content content) const {
  if (!encoder_) return content == Content::numbers ? columns_ : std::vector<std::string>();
  std::vector<std::string> result;
  const std::vector<data::ColumnSummary>& known = encoder_->summary();
  for (const std::string& name : columns_) {
    const auto is_numbers = [&](const data::ColumnSummary& column) { return column.name == name && !column.categorical; };
    const bool has_numbers = std::any_of(known.begin(), known.end(), is_numbers);
    if (has_numbers == (content == Content::numbers)) result.push_back(name);
  }
  return result;
}

std::vector<data::ColumnSummary> FeatureReader::summary() const { return encoder_ ? encoder_->summary() : std::vector<data::ColumnSummary>(); }

bool FeatureReader::read(std::string_view record, std::span<float> row) {
  if (!reader_) return read_raw(record, row), true;
  const std::span<const data::Field> fields = reader_->read(record);
  if (encoder_) return encoder_->encode(fields, row);
  for (std::size_t i = 0; i < fields.size(); ++i) row[i] = std::visit([&](auto field) { return number_of(field, columns_[i]); }, fields[i]);
  return true;
}

void FeatureReader::read_raw(std::string_view record, std::span<float> row) const {
  if (record.size() != row.size_bytes())
    throw UserError("raw", str("a record has ", counted(row.size(), "number"), ", which are ", row.size_bytes(), " bytes, got ", record.size()));
  std::memcpy(row.data(), record.data(), record.size());
  const auto wrong = std::find_if(row.begin(), row.end(), [](float x) { return !std::isfinite(x); });
  if (wrong != row.end()) throw UserError("raw", str("number ", wrong - row.begin() + 1, " of the record is ", *wrong, "; give finite ones"));
}

float FeatureReader::number_of(std::string_view field, const std::string& column) {
  constexpr std::size_t most_shown = 40;
  if (rules_.is_missing(field))
    throw UserError("stream", str("'", column, "' is missing, but the model has no encoder that knows what a missing number means"));
  const std::optional<double> number = rules_.number(field, memory_);
  if (!number) throw UserError("stream", str("'", column, "' must be a number that f32 can hold, got '", field.substr(0, most_shown), "'"));
  return static_cast<float>(*number);
}

float FeatureReader::number_of(double field, const std::string& column) {
  const auto number = static_cast<float>(field);
  if (!std::isfinite(number)) throw UserError("stream", str("'", column, "' is ", field, ", which is beyond f32"));
  return number;
}

}  // namespace sinter::serve
