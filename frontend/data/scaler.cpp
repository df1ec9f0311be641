#include "frontend/data/scaler.h"

#include <array>
#include <cmath>

#include "frontend/data/description.h"
#include "frontend/data/sample_rows.h"

namespace sinter::data {

namespace {

constexpr const char *standard = "StandardScaler", *min_max = "MinMaxScaler", *normalizer = "Normalizer";
constexpr std::array<const char*, 3> names_of_norms{"l1", "l2", "max"};

double norm_of(std::span<const float> sample, Norm norm) {
  double result = 0;
  for (const float part : sample) {
    const double x = std::abs(static_cast<double>(part));
    if (norm == Norm::max) result = std::max(result, x);
    else result += norm == Norm::l1 ? x : x * x;
  }
  return norm == Norm::l2 ? std::sqrt(result) : result;
}

}  // namespace

StandardScaler StandardScaler::fit(const Tensor& x, const StandardScalerOptions& options) {
  const std::vector<float> samples = samples_of(standard, x);
  StandardScaler scaler;
  for (const Spread& spread : spreads_of(samples, static_cast<std::size_t>(x.shape()[1].factor()))) {
    scaler.mean_.push_back(options.with_mean ? spread.mean() : 0);
    scaler.scale_.push_back(options.with_deviation ? divisor(std::sqrt(spread.variance())) : 1);
  }
  return scaler;
}

void StandardScaler::transform(std::span<const float> sample, std::span<float> result) const {
  require_sizes(standard, sample, result, width(), width());
  for (std::size_t c = 0; c < mean_.size(); ++c) result[c] = static_cast<float>((static_cast<double>(sample[c]) - mean_[c]) / scale_[c]);
}

void StandardScaler::inverse_transform(std::span<const float> sample, std::span<float> result) const {
  require_sizes(standard, sample, result, width(), width());
  for (std::size_t c = 0; c < mean_.size(); ++c) result[c] = static_cast<float>(static_cast<double>(sample[c]) * scale_[c] + mean_[c]);
}

Tensor StandardScaler::transform(const Tensor& x) const {
  return transformed(standard, x, width(), width(), [&](auto sample, auto result) { transform(sample, result); });
}

Tensor StandardScaler::inverse_transform(const Tensor& x) const {
  return transformed(standard, x, width(), width(), [&](auto sample, auto result) { inverse_transform(sample, result); });
}

std::string StandardScaler::to_json() const {
  return nlohmann::ordered_json{{"kind", standard}, {"version", 1}, {"mean", mean_}, {"scale", scale_}}.dump();
}

StandardScaler StandardScaler::from_json(const std::string& text) {
  return read_description(text, deepest_description, standard, [](const nlohmann::json& json) {
    require_kind(json, standard);
    StandardScaler scaler;
    scaler.mean_ = numbers_of(json, "mean", json.at("mean").size(), standard);
    scaler.scale_ = numbers_of(json, "scale", scaler.mean_.size(), standard, true);
    return scaler;
  });
}

MinMaxScaler MinMaxScaler::fit(const Tensor& x, const MinMaxScalerOptions& options) {
  const auto [low, high] = options.feature_range;
  if (!std::isfinite(low) || !std::isfinite(high) || !(low < high))
    throw UserError(min_max, str("MinMaxScalerOptions::feature_range must be two finite numbers, the lesser first, got ", low, " and ", high));
  const std::vector<float> samples = samples_of(min_max, x);
  MinMaxScaler scaler;
  scaler.range_ = options.feature_range;
  for (const Spread& spread : spreads_of(samples, static_cast<std::size_t>(x.shape()[1].factor()))) {
    scaler.data_min_.push_back(spread.least());
    scaler.data_max_.push_back(spread.greatest());
  }
  scaler.set_scale();
  return scaler;
}

void MinMaxScaler::set_scale() {
  for (std::size_t c = 0; c < data_min_.size(); ++c) scale_.push_back((range_.second - range_.first) / divisor(data_max_[c] - data_min_[c]));
}

void MinMaxScaler::transform(std::span<const float> sample, std::span<float> result) const {
  require_sizes(min_max, sample, result, width(), width());
  for (std::size_t c = 0; c < scale_.size(); ++c)
    result[c] = static_cast<float>(range_.first + (static_cast<double>(sample[c]) - data_min_[c]) * scale_[c]);
}

void MinMaxScaler::inverse_transform(std::span<const float> sample, std::span<float> result) const {
  require_sizes(min_max, sample, result, width(), width());
  for (std::size_t c = 0; c < scale_.size(); ++c)
    result[c] = static_cast<float>(data_min_[c] + (static_cast<double>(sample[c]) - range_.first) / scale_[c]);
}

Tensor MinMaxScaler::transform(const Tensor& x) const {
  return transformed(min_max, x, width(), width(), [&](auto sample, auto result) { transform(sample, result); });
}

Tensor MinMaxScaler::inverse_transform(const Tensor& x) const {
  return transformed(min_max, x, width(), width(), [&](auto sample, auto result) { inverse_transform(sample, result); });
}

std::string MinMaxScaler::to_json() const {
  return nlohmann::ordered_json{
      {"kind", min_max}, {"version", 1}, {"feature_range", {range_.first, range_.second}}, {"data_min", data_min_}, {"data_max", data_max_}}
      .dump();
}

MinMaxScaler MinMaxScaler::from_json(const std::string& text) {
  return read_description(text, deepest_description, min_max, [](const nlohmann::json& json) {
    require_kind(json, min_max);
    const std::vector<double> range = numbers_of(json, "feature_range", 2, min_max);
    if (!(range[0] < range[1])) throw damaged(min_max, str("feature_range is ", range[0], " and ", range[1]));
    MinMaxScaler scaler;
    scaler.range_ = {range[0], range[1]};
    scaler.data_min_ = numbers_of(json, "data_min", json.at("data_min").size(), min_max);
    scaler.data_max_ = numbers_of(json, "data_max", scaler.data_min_.size(), min_max);
    for (std::size_t c = 0; c < scaler.data_min_.size(); ++c)
      if (!(scaler.data_min_[c] <= scaler.data_max_[c])) throw damaged(min_max, str("feature ", c, " has more than data_max as data_min"));
    scaler.set_scale();
    return scaler;
  });
}

void Normalizer::transform(std::span<const float> sample, std::span<float> result) const {
  const auto width = static_cast<std::int64_t>(sample.size());
  require_sizes(normalizer, sample, result, width, width);
  const double by = divisor(norm_of(sample, norm_));
  for (std::size_t c = 0; c < sample.size(); ++c) result[c] = static_cast<float>(static_cast<double>(sample[c]) / by);
}

Tensor Normalizer::transform(const Tensor& x) const {
  const std::int64_t width = x.defined() && x.rank() == 2 && x.elements() ? x.shape()[1].factor() : 1;
  return transformed(normalizer, x, width, width, [&](auto sample, auto result) { transform(sample, result); });
}

std::string Normalizer::to_json() const {
  return nlohmann::ordered_json{{"kind", normalizer}, {"version", 1}, {"norm", names_of_norms[static_cast<std::size_t>(norm_)]}}.dump();
}

Normalizer Normalizer::from_json(const std::string& text) {
  return read_description(text, deepest_description, normalizer, [](const nlohmann::json& json) {
    require_kind(json, normalizer);
    const std::string name = json.at("norm");
    const auto found = std::find(names_of_norms.begin(), names_of_norms.end(), name);
    if (found == names_of_norms.end()) throw damaged(normalizer, str("norm is '", name, "'"));
    return Normalizer(static_cast<Norm>(found - names_of_norms.begin()));
  });
}

}  // namespace sinter::data
