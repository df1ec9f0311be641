#include "frontend/data/pca.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "frontend/data/description.h"
#include "frontend/data/sample_rows.h"
#include "frontend/linalg/row_space.h"

namespace sinter::data {

namespace {

constexpr const char* pca_where = "PCA";

/// Of the samples less their mean, in blocks.
linalg::RowSpace::Decomposition decompose(std::span<const float> samples, const std::vector<double>& mean) {
  const std::size_t width = mean.size(), block = 4 * width * std::max<std::size_t>(width, 64);
  linalg::RowSpace space(static_cast<std::int64_t>(width));
  std::vector<double> rows;
  for (std::size_t begin = 0; begin < samples.size(); begin += block) {
    const std::span<const float> part = samples.subspan(begin, std::min(block, samples.size() - begin));
    rows.resize(part.size());
    for (std::size_t i = 0; i < part.size(); ++i) rows[i] = static_cast<double>(part[i]) - mean[i % width];
    space.add(rows);
  }
  return space.decompose();
}

/// In each component the number of the greatest absolute value becomes positive.
void flip_signs(std::vector<double>& components, std::size_t width) {
  for (auto row = components.begin(); row != components.end(); row += static_cast<std::ptrdiff_t>(width)) {
    const auto end = row + static_cast<std::ptrdiff_t>(width);
    const auto greatest = std::max_element(row, end, [](double a, double b) { return std::abs(a) < std::abs(b); });
    if (*greatest < 0) std::transform(row, end, row, std::negate<>());
  }
}

void check(const PCAOptions& options, const Tensor& x) {
  const std::int64_t samples = x.shape()[0].factor(), most = std::min(samples, x.shape()[1].factor());
  if (samples < 2) throw UserError(pca_where, str("needs at least 2 samples, got ", x.type()));
  if (options.components < 0 || options.components > most)
    throw UserError(pca_where, str("PCAOptions::components must be from 1 to ", most, ", the lesser of samples and features, or 0 for that; got ",
                                   options.components));
  if (options.variance != 0 && !(options.variance > 0 && options.variance < 1))
    throw UserError(pca_where, str("PCAOptions::variance is a share in (0, 1), or 0 for all, got ", options.variance));
  if (options.variance != 0 && options.components != 0)
    throw UserError(pca_where, "give either PCAOptions::components or PCAOptions::variance, got both");
}

}  // namespace

PCA PCA::fit(const Tensor& x, const PCAOptions& options) {
  const std::vector<float> samples = samples_of(pca_where, x);
  check(options, x);
  const auto width = static_cast<std::size_t>(x.shape()[1].factor()), count = samples.size() / width;
  PCA pca;
  pca.whiten_ = options.whiten;
  double total = 0;
  for (const Spread& spread : spreads_of(samples, width)) {
    pca.mean_.push_back(spread.mean());
    total += spread.variance() * static_cast<double>(count) / static_cast<double>(count - 1);
  }
  if (total == 0) throw UserError(pca_where, "all samples are the same, so that they vary in no direction");
  auto [values, components] = decompose(samples, pca.mean_);
  std::size_t kept = options.components ? static_cast<std::size_t>(options.components) : values.size();
  double explained = 0;
  for (std::size_t i = 0; i < kept; ++i) {
    const double variance = values[i] * values[i] / static_cast<double>(count - 1), ratio = variance / total;
    pca.explained_variance_.push_back(variance);
    pca.explained_variance_ratio_.push_back(ratio);
    explained += ratio;
    if (options.variance != 0 && explained > options.variance) kept = i + 1;
  }
  components.resize(kept * width);
  flip_signs(components, width);
  pca.components_ = std::move(components);
  return pca;
}

double PCA::scale(std::size_t component) const {
  return whiten_ ? std::max(std::sqrt(explained_variance_[component]), std::numeric_limits<double>::epsilon()) : 1;
}

void PCA::transform(std::span<const float> sample, std::span<float> result) const {
  require_sizes(pca_where, sample, result, width(), count());
  const double* component = components_.data();
  for (std::size_t i = 0; i < result.size(); ++i, component += sample.size()) {
    double sum = 0;
    for (std::size_t c = 0; c < sample.size(); ++c) sum += (static_cast<double>(sample[c]) - mean_[c]) * component[c];
    result[i] = static_cast<float>(sum / scale(i));
  }
}

void PCA::inverse_transform(std::span<const float> sample, std::span<float> result) const {
  require_sizes(pca_where, sample, result, count(), width());
  for (std::size_t c = 0; c < result.size(); ++c) {
    double sum = mean_[c];
    for (std::size_t i = 0; i < sample.size(); ++i) sum += static_cast<double>(sample[i]) * scale(i) * components_[i * result.size() + c];
    result[c] = static_cast<float>(sum);
  }
}

Tensor PCA::transform(const Tensor& x) const {
  return transformed(pca_where, x, width(), count(), [&](auto sample, auto result) { transform(sample, result); });
}

Tensor PCA::inverse_transform(const Tensor& x) const {
  return transformed(pca_where, x, count(), width(), [&](auto sample, auto result) { inverse_transform(sample, result); });
}

std::string PCA::to_json() const {
  return nlohmann::ordered_json{{"kind", pca_where},
                                {"version", 1},
                                {"whiten", whiten_},
                                {"mean", mean_},
                                {"explained_variance", explained_variance_},
                                {"explained_variance_ratio", explained_variance_ratio_},
                                {"components", components_}}
      .dump();
}

PCA PCA::from_json(const std::string& text) {
  return read_description(text, deepest_description, pca_where, [](const nlohmann::json& json) {
    require_kind(json, pca_where);
    PCA pca;
    pca.whiten_ = json.at("whiten");
    pca.mean_ = numbers_of(json, "mean", json.at("mean").size(), pca_where);
    const std::size_t count = json.at("explained_variance").size();
    if (count < 1 || count > pca.mean_.size()) throw damaged(pca_where, str(count, " components of ", pca.mean_.size(), " features"));
    for (const auto& [numbers, name] :
         {std::pair{&pca.explained_variance_, "explained_variance"}, {&pca.explained_variance_ratio_, "explained_variance_ratio"}}) {
      *numbers = numbers_of(json, name, count, pca_where);
      for (const double x : *numbers)
        if (x < 0) throw damaged(pca_where, str(name, " has ", x));
    }
    pca.components_ = numbers_of(json, "components", count * pca.mean_.size(), pca_where);
    return pca;
  });
}

}  // namespace sinter::data
