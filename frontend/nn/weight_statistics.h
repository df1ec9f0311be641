// How the numbers of parameters are distributed.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "frontend/core/parameter.h"

namespace sinter {

/// Of the numbers of one parameter. All but the counts and zero_share are of those that are finite, and 0 if none is.
struct WeightStatistics {
  std::string name;  ///< the parameter's
  std::int64_t count = 0;
  double mean = 0, deviation = 0;  ///< standard deviation, divided by the count
  double least = 0, greatest = 0;
  double mean_absolute = 0;  ///< mean |w|
  double zero_share = 0;     ///< of all numbers, in [0, 1]
  std::int64_t nan_count = 0, infinite_count = 0;
};

/// One for each parameter, in their order, computed in double: of a model's parameters(), say, in FitOptions::on_epoch. Element types other than f32
/// are converted.
std::vector<WeightStatistics> weight_statistics(std::span<const Parameter> parameters);
/// Of one parameter.
WeightStatistics weight_statistics(const Parameter& parameter);

}  // namespace sinter
