#include "frontend/report/axis.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "frontend/report/chart.h"
#include "frontend/report/markup.h"

namespace sinter::report {

namespace {

/// m · 10^exponent with m in {1, 2, 5}.
struct Step {
  double m;
  int exponent;
  /// The k-th multiple, rounded once, so that it prints as what it is.
  double times(double k) const { return exponent < 0 ? k * m / std::pow(10.0, -exponent) : k * m * std::pow(10.0, exponent); }
};

Step step_for(double range, int most, bool whole) {
  const double raw = range / most;
  int exponent = static_cast<int>(std::floor(std::log10(raw)));
  if (whole && exponent < 0) return {1, 0};
  for (const double m : {1.0, 2.0, 5.0})
    if (Step{m, exponent}.times(1) >= raw * (1 - 1e-9)) return {m, exponent};
  return {1, exponent + 1};
}

double low_multiple(double low, const Step& step) { return std::ceil(low / step.times(1) - 1e-6); }
double high_multiple(double high, const Step& step) { return std::floor(high / step.times(1) + 1e-6); }

}  // namespace

std::vector<double> ticks(double low, double high, int most, bool whole) {
  const Step step = step_for(high - low, most, whole);
  std::vector<double> result;
  for (double k = low_multiple(low, step), last = high_multiple(high, step); k <= last; ++k) result.push_back(step.times(k));
  return result;
}

std::vector<double> log_ticks(double low, double high) {
  const int first = static_cast<int>(std::floor(std::log10(low) + 1e-9)), last = static_cast<int>(std::ceil(std::log10(high) - 1e-9));
  const int stride = std::max(1, (last - first + 7) / 8);
  std::vector<double> result;
  for (int e = first; e <= last; e += stride)
    for (const double m : {1.0, 2.0, 5.0}) {
      const double tick = Step{m, e}.times(1);
      if (m > 1 && last - first > 2) break;
      if (tick >= low * (1 - 1e-9) && tick <= high * (1 + 1e-9)) result.push_back(tick);
    }
  return result;
}

std::vector<std::string> tick_labels(std::span<const double> ticks) {
  double closest = ticks.empty() ? 0 : std::abs(ticks[0]);
  for (std::size_t i = 1; i < ticks.size(); ++i) closest = std::min(closest > 0 ? closest : INFINITY, ticks[i] - ticks[i - 1]);
  // The fewest digits that give each tick exactly.
  const auto says = [&](double tick, int digits) {
    const std::string label = significant(tick, digits);
    double value = 0;
    std::from_chars(label.data(), label.data() + label.size(), value);
    return std::abs(value - tick) <= 1e-3 * closest;
  };
  int digits = 1;
  while (digits < 15 && !std::all_of(ticks.begin(), ticks.end(), [&](double tick) { return says(tick, digits); })) ++digits;
  std::vector<std::string> labels;
  for (const double tick : ticks) {
    std::string label = significant(tick, digits);
    // 1e5 and 2.5e6 are written out.
    if (label.find('e') != std::string::npos && std::abs(tick) >= 1 && std::abs(tick) < 1e7) label = fixed(tick, 0);
    labels.push_back(std::move(label));
  }
  return labels;
}

bool Axis::shows(double value) const { return std::abs(value) <= 1e300 && (!logarithmic || value >= 1e-280); }

double Axis::place(double value) const { return logarithmic ? std::log(value / low) / std::log(high / low) : (value - low) / (high - low); }

Axis axis_for(std::span<const double> numbers, int most_ticks, bool round_ends, bool logarithmic, bool whole) {
  Axis axis{0, 1, logarithmic, {}};
  bool any = false;
  for (const double x : numbers) {
    if (!axis.shows(x)) continue;
    axis.low = any ? std::min(axis.low, x) : x;
    axis.high = any ? std::max(axis.high, x) : x;
    any = true;
  }
  if (!any) return {logarithmic ? 1.0 : 0.0, logarithmic ? 10.0 : 1.0, logarithmic, {}};
  const double size = std::max(std::abs(axis.low), std::abs(axis.high));
  if (size < 1e-290) axis.low = -(axis.high = 1);  // all are 0
  else if (axis.high - axis.low <= 1e-9 * size) {  // all are the same
    axis.low -= whole ? 0.5 : 0.1 * size;
    axis.high += whole ? 0.5 : 0.1 * size;
  }
  if (logarithmic) {
    if (round_ends) {
      const double low = std::pow(10.0, std::floor(std::log10(axis.low) + 1e-9)), high = std::pow(10.0, std::ceil(std::log10(axis.high) - 1e-9));
      for (const double tick : log_ticks(low, high)) {
        if (tick <= axis.low) axis.ticks.assign(1, tick);
        else if (axis.ticks.empty() || axis.ticks.back() < axis.high) axis.ticks.push_back(tick);
      }
      axis.low = std::min(axis.low, axis.ticks.front());
      axis.high = std::max(axis.high, axis.ticks.back());
    } else {
      axis.ticks = log_ticks(axis.low, axis.high);
    }
    return axis;
  }
  const Step step = step_for(axis.high - axis.low, most_ticks, whole);
  if (round_ends) {
    axis.low = std::min(axis.low, step.times(std::floor(axis.low / step.times(1) + 1e-6)));
    axis.high = std::max(axis.high, step.times(std::ceil(axis.high / step.times(1) - 1e-6)));
  }
  for (double k = low_multiple(axis.low, step), last = high_multiple(axis.high, step); k <= last; ++k) axis.ticks.push_back(step.times(k));
  return axis;
}

}  // namespace sinter::report
