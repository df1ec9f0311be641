#include "frontend/report/regression.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "frontend/core/counted.h"
#include "frontend/data/spread.h"
#include "frontend/report/histogram.h"
#include "frontend/report/markup.h"
#include "frontend/report/parts.h"

namespace sinter::report {

namespace {

constexpr std::size_t most_points = 2000, most_extremes = 50, most_numbers = 50;

double residual(const Judgement& j, std::size_t i) { return j.predicted[i] - j.target[i]; }
bool is_finite(const Judgement& j, std::size_t i) { return std::isfinite(j.predicted[i]) && std::isfinite(j.target[i]); }

/// Errors over some answers, leaving out those that are not finite.
struct Errors {
  double squared = 0, absolute = 0, bias = 0, r2 = 0;
  std::size_t count = 0;

  /// Answers first, first + stride, ….
  Errors(const Judgement& j, std::size_t first, std::size_t stride) {
    data::Spread targets;
    for (std::size_t i = first; i < j.answers(); i += stride) {
      if (!is_finite(j, i)) continue;
      const double error = residual(j, i);
      squared += error * error;
      absolute += std::abs(error);
      bias += error;
      targets.add(j.target[i]);
    }
    count = static_cast<std::size_t>(targets.count());
    const double n = targets.count();
    squared /= n;
    r2 = targets.variance() > 0 ? 1 - squared / targets.variance() : NAN;
    absolute /= n;
    bias /= n;
  }
};

/// Which answers are drawn: if there are many, every k-th, and those with the greatest errors.
std::vector<std::size_t> drawn_answers(const Judgement& j) {
  std::vector<std::size_t> finite, drawn;
  for (std::size_t i = 0; i < j.answers(); ++i)
    if (is_finite(j, i)) finite.push_back(i);
  if (finite.size() <= most_points) return finite;
  for (std::size_t k = 0; k < most_points; ++k) drawn.push_back(finite[k * finite.size() / most_points]);
  const auto behind = finite.begin() + most_extremes;
  std::partial_sort(finite.begin(), behind, finite.end(), [&](std::size_t a, std::size_t b) {
    const double apart_a = std::abs(residual(j, a)), apart_b = std::abs(residual(j, b));
    return apart_a != apart_b ? apart_a > apart_b : a < b;
  });
  drawn.insert(drawn.end(), finite.begin(), behind);
  std::sort(drawn.begin(), drawn.end());
  drawn.erase(std::unique(drawn.begin(), drawn.end()), drawn.end());
  return drawn;
}

std::string numbers_table(const Judgement& j) {
  const std::string& unit = j.names.unit;
  std::string out =
      "<table class=\"numbers\">\n<thead><tr><th>number</th><th class=\"number\">RMSE</th><th class=\"number\">MAE</th><th class=\"number\">mean "
      "error</th><th class=\"number\">R²</th></tr></thead>\n<tbody>\n";
  for (std::size_t k = 0; k < std::min(j.width, most_numbers); ++k) {
    const Errors e(j, k, j.width);
    out += str("<tr><th>", escaped(k < j.names.names.size() ? j.names.names[k] : str(k)), "</th>");
    for (const std::string& value :
         {with_unit(std::sqrt(e.squared), unit), with_unit(e.absolute, unit), with_unit(e.bias, unit), significant(e.r2, 4)})
      out += "<td class=\"number\">" + escaped(value) + "</td>";
    out += "</tr>\n";
  }
  out = card(out + "</tbody>\n</table>\n");
  return j.width > most_numbers ? out + paragraph(str("The first ", most_numbers, " of ", j.width, " numbers.")) : out;
}

std::string left_out(std::size_t count, const char* of_what) {
  return count ? str(counted(count, of_what), " without a finite error left out. ") : "";
}

}  // namespace

double squared_error(const Judgement& judgement, std::size_t sample) {
  double sum = 0;
  for (std::size_t k = 0; k < judgement.width; ++k) {
    const double error = residual(judgement, sample * judgement.width + k);
    sum += error * error;
  }
  return sum / static_cast<double>(judgement.width);
}

std::string regression(const Judgement& j) {
  const std::string &unit = j.names.unit, in_unit = unit.empty() ? "" : " [" + unit + "]";
  const std::string name = j.names.name.empty() ? "target" : j.names.name;
  const Errors errors(j, 0, 1);
  if (errors.count == 0) return paragraph("None of the predictions is finite.");
  const std::vector<std::size_t> drawn = drawn_answers(j);
  Series against{"", {}, {}, Mark::points}, residuals{"", {}, {}, Mark::points};
  for (const std::size_t i : drawn) {
    against.x.push_back(j.target[i]);
    against.y.push_back(j.predicted[i]);
    residuals.x.push_back(j.predicted[i]);
    residuals.y.push_back(residual(j, i));
  }
  std::vector<double> all;
  for (std::size_t i = 0; i < j.answers(); ++i)
    if (is_finite(j, i)) all.push_back(residual(j, i));
  const auto [least, greatest] = std::minmax_element(against.x.begin(), against.x.end());
  const auto [left, right] = std::minmax_element(residuals.x.begin(), residuals.x.end());
  Chart scatter = small_chart("Predicted against true", "true " + name + in_unit, "predicted" + in_unit),
        errors_by_size = small_chart("Errors by prediction", "predicted " + name + in_unit, "predicted - true" + in_unit),
        distribution = small_chart("Errors", "predicted - true" + in_unit, "samples");
  scatter.series = {against, {"", {*least, *greatest}, {*least, *greatest}, Mark::guide}};
  errors_by_size.series = {residuals, {"", {*left, *right}, {0, 0}, Mark::guide}};
  const std::vector<Sample> sample{{"", all}};
  Histogram bars = histogram(sample);
  distribution.series = std::move(bars.series);
  std::string out = tiles({{"Root mean squared error", with_unit(std::sqrt(errors.squared), unit)},
                           {"Mean absolute error", with_unit(errors.absolute, unit)},
                           {"Mean error", with_unit(errors.bias, unit, 3)},
                           {"R²", fixed(errors.r2, 4)}});
  out += side_by_side({scatter, errors_by_size, distribution});
  std::string note = left_out(j.answers() - errors.count, "prediction");
  if (drawn.size() < errors.count)
    note += str("Of ", errors.count, " points ", drawn.size(), " are drawn: ", most_points, " evenly spaced ones and the ", most_extremes,
                " with the greatest errors. ");
  if (bars.outside) note += str(counted(bars.outside, "error"), " beyond the axis of the histogram.");
  if (!note.empty()) out += paragraph(note);
  return j.width > 1 ? out + numbers_table(j) : out;
}

std::string reconstruction(const Judgement& j) {
  Sample errors{"", {}};
  for (std::size_t i = 0; i < j.samples; ++i)
    if (const double error = squared_error(j, i); std::isfinite(error)) errors.numbers.push_back(error);
  if (errors.numbers.empty()) return paragraph("None of the predictions is finite.");
  std::vector<double> sorted = errors.numbers;
  std::sort(sorted.begin(), sorted.end());
  const auto at = [&](std::size_t percent) { return significant(sorted[(sorted.size() - 1) * percent / 100], 4); };
  const double mean = std::accumulate(sorted.begin(), sorted.end(), 0.0) / static_cast<double>(sorted.size());
  Chart chart = small_chart("Mean squared error of a sample", "mean squared error", "samples");
  Histogram bars = histogram(std::span(&errors, 1));
  chart.series = std::move(bars.series);
  std::string out = tiles({{"Mean squared error", significant(mean, 4)},
                           {"Median of samples", at(50)},
                           {"99 % of samples below", at(99)},
                           {"Worst sample", at(100)}}) +
                    side_by_side({chart});
  std::string note = "The model reproduces its features. " + left_out(j.samples - sorted.size(), "sample");
  if (bars.outside) note += str(counted(bars.outside, "sample"), " beyond the axis.");
  return out + paragraph(note);
}

}  // namespace sinter::report
