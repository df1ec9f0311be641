// Scalings of features: what they learn from some samples they do to all later ones. As those of scikit-learn with the same names.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "frontend/core/tensor.h"

namespace sinter::data {

struct StandardScalerOptions {
  bool with_mean = true;       ///< subtract the mean
  bool with_deviation = true;  ///< divide by the standard deviation
};

/// Each feature becomes (x - mean) / scale, where scale is its standard deviation over all samples (divided by their number), or 1 for a feature that
/// is the same in all. Computed in double precision. Samples are f32[samples, features] of finite numbers: transform and fit throw UserError for
/// others, for no samples, for another number of features than was learnt from, and for results beyond f32.
class StandardScaler {
 public:
  static StandardScaler fit(const Tensor& x, const StandardScalerOptions& options = {});

  Tensor transform(const Tensor& x) const;
  Tensor inverse_transform(const Tensor& x) const;
  /// One sample, without allocation; `result` may be the sample itself. A sample that has NaN gives NaN.
  void transform(std::span<const float> sample, std::span<float> result) const;
  void inverse_transform(std::span<const float> sample, std::span<float> result) const;

  std::int64_t width() const { return static_cast<std::int64_t>(mean_.size()); }
  /// What is subtracted from each feature: 0 without with_mean.
  const std::vector<double>& mean() const { return mean_; }
  /// What it is divided by: 1 without with_deviation.
  const std::vector<double>& scale() const { return scale_; }

  std::string to_json() const;
  /// Throws UserError for a text that to_json did not write.
  static StandardScaler from_json(const std::string& text);

 private:
  std::vector<double> mean_, scale_;
};

struct MinMaxScalerOptions {
  std::pair<double, double> feature_range = {0, 1};  ///< what the least and the greatest number of each feature become
};

/// Each feature becomes low + (x - least) · scale, with scale = (high - low) / (greatest - least), or high - low for a feature that is the same in
/// all samples. Errors as StandardScaler's; fit also throws UserError for a range whose ends are not finite and ascending.
class MinMaxScaler {
 public:
  static MinMaxScaler fit(const Tensor& x, const MinMaxScalerOptions& options = {});

  Tensor transform(const Tensor& x) const;
  Tensor inverse_transform(const Tensor& x) const;
  /// As StandardScaler's.
  void transform(std::span<const float> sample, std::span<float> result) const;
  void inverse_transform(std::span<const float> sample, std::span<float> result) const;

  std::int64_t width() const { return static_cast<std::int64_t>(data_min_.size()); }
  const std::vector<double>& data_min() const { return data_min_; }
  const std::vector<double>& data_max() const { return data_max_; }
  const std::vector<double>& scale() const { return scale_; }
  std::pair<double, double> feature_range() const { return range_; }

  std::string to_json() const;
  /// Throws UserError for a text that to_json did not write.
  static MinMaxScaler from_json(const std::string& text);

 private:
  void set_scale();

  std::pair<double, double> range_;
  std::vector<double> data_min_, data_max_, scale_;
};

/// What a sample is divided by: the sum of the absolute values, the root of the sum of squares, or the greatest absolute value.
enum class Norm { l1, l2, max };

/// Each sample is divided by its norm; one of zeros stays as it is. There is nothing to learn, and no way back.
class Normalizer {
 public:
  explicit Normalizer(Norm norm = Norm::l2) : norm_(norm) {}

  /// Throws UserError for samples that are not f32[samples, features] of finite numbers, and for none.
  Tensor transform(const Tensor& x) const;
  /// As StandardScaler's. Throws UserError for a result of another size.
  void transform(std::span<const float> sample, std::span<float> result) const;

  Norm norm() const { return norm_; }
  std::string to_json() const;
  /// Throws UserError for a text that to_json did not write.
  static Normalizer from_json(const std::string& text);

 private:
  Norm norm_;
};

}  // namespace sinter::data
