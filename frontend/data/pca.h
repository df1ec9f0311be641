// Principal components (Pearson 1901, Hotelling 1933).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "frontend/core/tensor.h"

namespace sinter::data {

struct PCAOptions {
  std::int64_t components = 0;  ///< number of components; 0: as many as there can be, the lesser of samples and features
  double variance = 0;          ///< share of the variance in (0, 1), in place of `components`: the fewest components that explain more
  bool whiten = false;          ///< divide each component by its standard deviation
};

/// The orthogonal directions in which samples vary most: each sample becomes its coordinates along them, from its mean. As scikit-learn's PCA with
/// svd_solver="full"; signs are those of svd_flip since version 1.5: in each component the number of the greatest absolute value is positive.
/// Computed in double precision, from a singular value decomposition of the samples.
class PCA {
 public:
  /// Throws UserError for samples that are not f32[samples, features] of finite numbers, for fewer than 2, for samples that are all the same, and for
  /// more components than there can be.
  static PCA fit(const Tensor& x, const PCAOptions& options = {});

  /// f32[samples, features] to f32[samples, components]. Throws UserError for another number of features and for what is not finite.
  Tensor transform(const Tensor& x) const;
  /// The samples with these coordinates: what the components that were left out add is their mean.
  Tensor inverse_transform(const Tensor& x) const;
  /// One sample, without allocation; `result` is other memory.
  void transform(std::span<const float> sample, std::span<float> result) const;
  void inverse_transform(std::span<const float> sample, std::span<float> result) const;

  /// Features of a sample.
  std::int64_t width() const { return static_cast<std::int64_t>(mean_.size()); }
  /// Number of components.
  std::int64_t count() const { return static_cast<std::int64_t>(explained_variance_.size()); }
  const std::vector<double>& mean() const { return mean_; }
  /// [count, width], row-major: the components, of length 1, by descending variance.
  const std::vector<double>& components() const { return components_; }
  /// Of the samples along each component: divided by one less than their number.
  const std::vector<double>& explained_variance() const { return explained_variance_; }
  /// Its share of the variance of all features.
  const std::vector<double>& explained_variance_ratio() const { return explained_variance_ratio_; }
  bool whiten() const { return whiten_; }

  std::string to_json() const;
  /// Throws UserError for a text that to_json did not write.
  static PCA from_json(const std::string& text);

 private:
  double scale(std::size_t component) const;

  std::vector<double> mean_, components_, explained_variance_, explained_variance_ratio_;
  bool whiten_ = false;
};

}  // namespace sinter::data
