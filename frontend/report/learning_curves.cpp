#include "frontend/report/learning_curves.h"

#include <algorithm>
#include <cmath>

#include "frontend/report/learning_charts.h"
#include "frontend/report/markup.h"

namespace sinter::report {

namespace {

const std::string validation_prefix = "val_";

/// The names of all epochs' values, each once, in the order in which they first come.
std::vector<std::string> names_in(std::span<const EpochResult> history) {
  std::vector<std::string> names;
  for (const EpochResult& epoch : history)
    for (const auto& [name, value] : epoch.values())
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  return names;
}

Series series_of(std::span<const EpochResult> history, const std::string& label, const std::string& wanted) {
  Series series{label, {}, {}};
  for (const EpochResult& epoch : history) {
    const auto values = epoch.values();
    const auto found = std::find_if(values.begin(), values.end(), [&](const auto& entry) { return entry.first == wanted; });
    series.x.push_back(static_cast<double>(epoch.epoch));
    series.y.push_back(found == values.end() ? std::nan("") : found->second);
  }
  return series;
}

/// Whether a linear axis would put most of the values into its lowest tenth.
bool spans_decades(std::span<const Series> all) {
  std::vector<double> values;
  for (const Series& series : all)
    for (const double y : series.y)
      if (std::isfinite(y)) values.push_back(y);
  if (values.empty()) return false;
  std::sort(values.begin(), values.end());
  return values.front() > 0 && values.back() > 100 * values.front() && values.back() > 10 * values[values.size() / 2];
}

}  // namespace

std::vector<Chart> learning_charts(std::span<const EpochResult> history) {
  if (history.empty()) throw UserError("learning_curves", "the history has no epochs; pass what fit returned");
  const std::vector<std::string> names = names_in(history);
  const auto has = [&](const std::string& name) { return std::find(names.begin(), names.end(), name) != names.end(); };
  std::vector<Chart> charts;
  for (const std::string& name : names) {
    const bool validates = name.starts_with(validation_prefix) && has(name.substr(validation_prefix.size()));
    if (validates || name == "seconds") continue;
    Chart chart{.title = title_of(name), .x_label = "epoch", .y_label = "", .series = {series_of(history, "training", name)}, .whole_x = true};
    if (has(validation_prefix + name)) chart.series.push_back(series_of(history, "validation", validation_prefix + name));
    chart.log_y = spans_decades(chart.series);
    charts.push_back(std::move(chart));
  }
  return charts;
}

std::string learning_curves(std::span<const EpochResult> history) { return line_charts(learning_charts(history), 2); }

}  // namespace sinter::report
