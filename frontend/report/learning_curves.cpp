#include "frontend/report/learning_curves.h"

#include <algorithm>
#include <cmath>

#include "frontend/report/learning_charts.h"
#include "frontend/report/markup.h"
#include "frontend/train/epoch_result.h"

namespace sinter::report {

namespace {

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
  std::vector<ValueOfSets> values = values_by_set(history);
  values.push_back({"learning_rate", {{"training", "learning_rate"}}});
  std::vector<Chart> charts;
  for (const auto& [name, sets] : values) {
    Chart chart{.title = title_of(name), .x_label = "epoch", .y_label = "", .series = {}, .whole_x = true};
    for (const auto& [set, its_name] : sets) chart.series.push_back(series_of(history, set, its_name));
    chart.log_y = spans_decades(chart.series);
    charts.push_back(std::move(chart));
  }
  return charts;
}

std::string learning_curves(std::span<const EpochResult> history) { return draw(learning_charts(history), 2); }

}  // namespace sinter::report
