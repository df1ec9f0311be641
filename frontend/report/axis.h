// The axes of a chart.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace sinter::report {

/// Maps a chart's numbers to positions along one axis, from 0 to 1.
struct Axis {
  double low = 0, high = 1;
  bool logarithmic = false;
  std::vector<double> ticks;

  /// Whether the axis can show the number.
  bool shows(double value) const;
  double place(double value) const;
};

/// The axis for the numbers that it can show. `round_ends`: it begins and ends at ticks; else at the least and greatest number.
Axis axis_for(std::span<const double> numbers, int most_ticks, bool round_ends, bool logarithmic, bool whole);

}  // namespace sinter::report
