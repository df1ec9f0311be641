// Charts as SVG text: no scripts, no fonts, light and dark by prefers-color-scheme.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace sinter::report {

/// How a series is drawn.
enum class Mark : std::uint8_t {
  line,    ///< points joined in their order; few points, and those between gaps, are dots with tooltips
  points,  ///< dots alone; few have tooltips
  steps,   ///< y[i] from x[i] to x[i + 1]
  bars,    ///< the same, filled down to 0, which the axis of y then has
  guide    ///< a thin dashed line for the eye
};

/// Points in the order in which the line joins them. Where x or y is not finite (or y not positive, on a logarithmic axis) the line has a gap.
struct Series {
  std::string name;
  std::vector<double> x, y;
  Mark mark = Mark::line;
};

struct Chart {
  std::string title, x_label, y_label;
  std::vector<Series> series;
  bool log_y = false;
  bool whole_x = false;              ///< ticks at whole numbers only: epochs
  double width = 480, height = 300;  ///< pixels
};

/// One chart as an SVG document. Where there are several series, a legend names those that have names.
/// Throws UserError for a series with more or less x than y and for a chart too small to hold anything.
std::string draw(const Chart& chart);
/// Several, side by side in rows of `columns`, as one SVG document.
std::string draw(std::span<const Chart> charts, std::size_t columns);

/// Round numbers in [low, high]: multiples of 1, 2 or 5 · 10^k, at most `most` + 1 of them. `low` < `high`.
std::vector<double> ticks(double low, double high, int most, bool whole = false);
/// Powers of ten in [low, high], or also 2 and 5 times these where there would be few. 0 < `low` < `high`.
std::vector<double> log_ticks(double low, double high);
/// Labels of ticks: as many digits as tell them apart.
std::vector<std::string> tick_labels(std::span<const double> ticks);

}  // namespace sinter::report
