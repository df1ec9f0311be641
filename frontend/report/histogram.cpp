#include "frontend/report/histogram.h"

#include <algorithm>
#include <cmath>

namespace sinter::report {

Histogram histogram(std::span<const Sample> samples) {
  std::vector<double> all;
  for (const Sample& sample : samples)
    for (const double x : sample.numbers)
      if (std::isfinite(x)) all.push_back(x);
  if (all.empty()) return histogram(samples, 0, 1, 1);
  std::sort(all.begin(), all.end());
  const std::size_t tail = all.size() / 200;
  double low = all.front(), high = all.back();
  const double most_low = all[tail], most_high = all[all.size() - 1 - tail];
  if (most_high > most_low && high - low > 3 * (most_high - most_low)) {
    low = most_low;
    high = most_high;
  }
  if (!(high > low)) {  // all are the same
    const double half = low == 0 ? 0.5 : std::abs(low) / 10;
    low -= half;
    high += half;
  }
  return histogram(samples, low, high, std::clamp<std::size_t>(static_cast<std::size_t>(std::sqrt(static_cast<double>(all.size()))), 5, 40));
}

Histogram histogram(std::span<const Sample> samples, double low, double high, std::size_t bins) {
  Histogram result;
  const double width = (high - low) / static_cast<double>(bins);
  for (const Sample& sample : samples) {
    Series series{sample.name, {}, std::vector<double>(bins + 1), Mark::bars};
    for (std::size_t i = 0; i <= bins; ++i) series.x.push_back(i == bins ? high : low + static_cast<double>(i) * width);
    for (const double x : sample.numbers) {
      if (x >= low && x <= high) ++series.y[std::min(bins - 1, static_cast<std::size_t>((x - low) / width))];
      else ++result.outside;
    }
    result.series.push_back(std::move(series));
  }
  return result;
}

}  // namespace sinter::report
