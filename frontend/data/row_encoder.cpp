#include "frontend/data/row_encoder.h"

#include <algorithm>
#include <cmath>
#include <variant>

#include "frontend/data/column_numbers.h"
#include "ir/error.h"

namespace sinter::data {

RowEncoder::RowEncoder(const Encoder& encoder, std::span<const std::string> columns)
    : encoder_(encoder), width_(encoder.width()), reader_(encoder.rules_), filter_(encoder_.keep_, encoder_.rules_, ColumnNumbers(columns)) {
  const ColumnNumbers numbers(columns);
  for (std::size_t c = 0; c < encoder_.columns_.size(); ++c) {
    const Encoder::Column& column = encoder_.columns_[c];
    if (static_cast<std::ptrdiff_t>(c) == encoder_.target_) continue;
    sources_.push_back({&column, numbers[column.name], Categories(column.categories, encoder_.rules_)});
    summary_.push_back({column.name, false, column.categorical, column.categories.size()});
  }
  if (encoder_.pca_) features_.resize(static_cast<std::size_t>(encoder_.columns_width()));
}

template <class Field>
std::optional<RowEncoder::Fault> RowEncoder::encode_field(const Source& source, ColumnSummary& summary, const Field& field, float* out) {
  const Encoder::Column& column = *source.column;
  if (column.categorical) {
    if (const auto category = reader_.number_in(source.categories, field)) out[*category] = 1;
    else if (reader_.is_missing(field)) ++summary.missing;
    else if (summary.unseen++ == 0) summary.first_unseen = str(field);
  } else if (reader_.is_missing(field)) {
    ++summary.missing;
    out[0] = static_cast<float>(column.missing_value);
    if (column.missing) out[1] = 1;
  } else {
    const auto number = reader_.number(field);
    if (!number) return Fault{source.field, {}, {}};
    out[0] = column.scaled(*number);
    if (!std::isfinite(out[0])) return Fault{source.field, number, column.too_far()};
  }
  return {};
}

template <class Field>
std::optional<RowEncoder::Fault> RowEncoder::encode(std::span<const Field> fields, std::span<float> out) {
  const std::span<float> features = encoder_.pca_ ? std::span(features_) : out;
  std::fill(features.begin(), features.end(), 0.0f);
  float* place = features.data();
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    const auto encode_one = [&](const auto& field) { return encode_field(sources_[i], summary_[i], field, place); };
    const Field& field = fields[sources_[i].field];
    std::optional<Fault> fault;
    if constexpr (std::is_same_v<Field, data::Field>) fault = std::visit(encode_one, field);
    else fault = encode_one(field);
    if (fault) return fault;
    place += sources_[i].column->width();
  }
  if (encoder_.normalizer_) encoder_.normalizer_->transform(features, features);
  if (encoder_.pca_) {
    encoder_.pca_->transform(features, out);
    if (!std::all_of(out.begin(), out.end(), [](float x) { return std::isfinite(x); }))
      throw UserError("encoder", "the principal components of a row are beyond f32: it is far from all that the encoder learnt from");
  }
  return {};
}

template std::optional<RowEncoder::Fault> RowEncoder::encode(std::span<const std::string_view>, std::span<float>);
template std::optional<RowEncoder::Fault> RowEncoder::encode(std::span<const double>, std::span<float>);
template std::optional<RowEncoder::Fault> RowEncoder::encode(std::span<const data::Field>, std::span<float>);

}  // namespace sinter::data
