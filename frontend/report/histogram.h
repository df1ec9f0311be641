// How often numbers occur.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "frontend/report/chart.h"

namespace sinter::report {

struct Histogram {
  std::vector<Series> series;
  std::size_t outside = 0;  ///< numbers that are not shown: not finite, or beyond the axis
};

struct Sample {
  std::string name;
  std::vector<double> numbers;
};

/// The samples as bars over the same bins of equal width. The bins go from the least to the greatest number; or, where few numbers would
/// take most of the axis, over all but the lowest and highest half percent.
Histogram histogram(std::span<const Sample> samples);
/// Over bins of these ends.
Histogram histogram(std::span<const Sample> samples, double low, double high, std::size_t bins);

}  // namespace sinter::report
