// Tensors of samples, row by row.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "frontend/core/tensor.h"
#include "frontend/data/spread.h"

namespace sinter::data {

/// The numbers of x, [samples, features], row-major. Throws UserError `[where] …` unless x is f32 of finite numbers with at least one sample and one
/// feature, and, if `width` is not 0, has as many features.
std::vector<float> samples_of(const std::string& where, const Tensor& x, std::int64_t width = 0);

/// Throws UserError unless a sample and the memory for its result have these sizes.
void require_sizes(const std::string& where, std::span<const float> sample, std::span<float> result, std::int64_t in, std::int64_t out);

/// Of each of the features.
std::vector<Spread> spreads_of(std::span<const float> samples, std::size_t width);

/// The tensor of these results. Throws UserError for one that is beyond f32.
Tensor results_of(const std::string& where, std::span<const float> results, std::int64_t samples, std::int64_t width);

/// `transform(sample, result)` of each sample, as a tensor [samples, out]. Throws UserError as samples_of does, and for a result beyond f32.
template <class Transform>
Tensor transformed(const std::string& where, const Tensor& x, std::int64_t in, std::int64_t out, const Transform& transform) {
  const std::vector<float> samples = samples_of(where, x, in);
  const auto wide = static_cast<std::size_t>(in), narrow = static_cast<std::size_t>(out), rows = samples.size() / wide;
  std::vector<float> results(rows * narrow);
  for (std::size_t r = 0; r < rows; ++r) transform(std::span(samples).subspan(r * wide, wide), std::span(results).subspan(r * narrow, narrow));
  return results_of(where, results, static_cast<std::int64_t>(rows), out);
}

}  // namespace sinter::data
