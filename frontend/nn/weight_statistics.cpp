#include "frontend/nn/weight_statistics.h"

#include <algorithm>
#include <cmath>

#include "frontend/core/ops.h"

namespace sinter {

WeightStatistics weight_statistics(const Parameter& parameter) {
  const Tensor value = parameter.read();
  const std::vector<float> numbers = cast(value, DType::f32).to_vector<float>();
  WeightStatistics result{.name = parameter.name(), .count = std::ssize(numbers)};
  std::int64_t finite = 0, zeros = 0;
  double sum = 0, sizes = 0;
  for (const float w : numbers) {
    zeros += w == 0;
    result.nan_count += std::isnan(w);
    result.infinite_count += std::isinf(w);
    if (!std::isfinite(w)) continue;
    const auto number = static_cast<double>(w);
    result.least = finite ? std::min(result.least, number) : number;
    result.greatest = finite ? std::max(result.greatest, number) : number;
    sum += number;
    sizes += std::abs(number);
    ++finite;
  }
  if (result.count) result.zero_share = static_cast<double>(zeros) / static_cast<double>(result.count);
  if (!finite) return result;
  const auto count = static_cast<double>(finite);
  result.mean = sum / count;
  result.mean_absolute = sizes / count;
  double squares = 0;
  for (const float w : numbers)
    if (std::isfinite(w)) squares += (static_cast<double>(w) - result.mean) * (static_cast<double>(w) - result.mean);
  result.deviation = std::sqrt(squares / count);
  return result;
}

std::vector<WeightStatistics> weight_statistics(std::span<const Parameter> parameters) {
  std::vector<WeightStatistics> result;
  for (const Parameter& parameter : parameters) result.push_back(weight_statistics(parameter));
  return result;
}

}  // namespace sinter
