#include "frontend/data/record_encoder.h"

#include <unordered_set>

#include "frontend/core/counted.h"
#include "frontend/data/row_encoder.h"
#include "ir/error.h"

namespace sinter::data {

namespace {

constexpr std::size_t most_bytes = 40;  // of a field in a message

std::string text_of(std::string_view field) { return std::string(field.substr(0, most_bytes)); }
std::string text_of(double number) { return str(number); }
std::string text_of(const Field& field) {
  return std::visit([](const auto& value) { return text_of(value); }, field);
}

}  // namespace

RecordEncoder::RecordEncoder(const Encoder& encoder, std::vector<std::string> columns) : columns_(std::move(columns)) {
  std::unordered_set<std::string_view> seen;
  for (const std::string& name : columns_)
    if (!seen.insert(name).second) throw UserError("encoder", str("column '", name, "' is given twice; give each column of the records once"));
  rows_ = std::make_unique<RowEncoder>(encoder, columns_);
}

RecordEncoder::~RecordEncoder() = default;
RecordEncoder::RecordEncoder(RecordEncoder&&) noexcept = default;
RecordEncoder& RecordEncoder::operator=(RecordEncoder&&) noexcept = default;

std::int64_t RecordEncoder::width() const { return rows_->width(); }
const std::vector<ColumnSummary>& RecordEncoder::summary() const { return rows_->summary(); }

template <class Fields>
bool RecordEncoder::encode_fields(const Fields& fields, std::span<float> out) {
  if (fields.size() != columns_.size())
    throw UserError("encoder", str("a record has ", counted(columns_.size(), "column"), ", got ", counted(fields.size(), "field")));
  if (static_cast<std::int64_t>(out.size()) != width())
    throw UserError("encoder", str("a record becomes ", counted(width(), "number"), ", but there is room for ", out.size()));
  const RowFilter::Verdict verdict = rows_->judge(fields);
  if (verdict.wrong)
    throw UserError("encoder", str("column '", columns_[*verdict.wrong], "' is compared with a number, but a record has '",
                                   text_of(fields[*verdict.wrong]), "'"));
  if (!verdict.holds) return false;
  if (const auto fault = rows_->encode(fields, out)) {
    const std::string& name = columns_[fault->field];
    if (fault->number) throw UserError("encoder", str("column '", name, "': a record has ", *fault->number, ", ", fault->why));
    throw UserError("encoder", str("column '", name, "' holds numbers, but a record has '", text_of(fields[fault->field]),
                                   "', which cannot be read as a number that f32 can hold"));
  }
  return true;
}

bool RecordEncoder::encode(std::span<const std::string_view> fields, std::span<float> out) { return encode_fields(fields, out); }
bool RecordEncoder::encode(std::span<const Field> fields, std::span<float> out) { return encode_fields(fields, out); }
bool RecordEncoder::encode(std::span<const double> numbers, std::span<float> out) { return encode_fields(numbers, out); }

}  // namespace sinter::data
