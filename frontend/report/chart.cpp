#include "frontend/report/chart.h"

#include <algorithm>
#include <cmath>

#include "frontend/report/axis.h"
#include "frontend/report/markup.h"
#include "ir/error.h"

namespace sinter::report {

namespace {

constexpr std::size_t colors = 6;
constexpr double tick_letter = 6.2;              // approximate width of one in the text of ticks and legends
constexpr std::size_t most_dots = 60;            // a line of so many points or fewer shows each
constexpr double gap = 16, chart_margin = 14.0;  // between charts; around the content of a chart

constexpr const char* chart_style = R"(
svg.chart { font: 11px system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
.chart .paper { fill: #ffffff; stroke: #e2e6ec; }
.chart text { fill: #5b6472; }
.chart .title { fill: #1c2330; font-size: 13px; font-weight: 600; }
.chart .grid { stroke: #e9ecf1; fill: none; }
.chart .axis { stroke: #b9c0cb; fill: none; }
.chart .line { fill: none; stroke: currentColor; stroke-width: 1.8; stroke-linejoin: round; stroke-linecap: round; }
.chart .bars { fill: currentColor; fill-opacity: 0.22; stroke: currentColor; stroke-width: 1.2; }
.chart .points { fill: none; stroke: currentColor; stroke-opacity: 0.45; stroke-width: 4; stroke-linecap: round; }
.chart .guide { fill: none; stroke: #7b8594; stroke-width: 1.2; stroke-dasharray: 4 4; }
.chart .c0 { color: #2463d6; } .chart .c1 { color: #e2690b; } .chart .c2 { color: #0d8f63; }
.chart .c3 { color: #8b3fd9; } .chart .c4 { color: #d02c46; } .chart .c5 { color: #0c86a6; }
.chart .dot { stroke: currentColor; stroke-width: 1.6; fill: #ffffff; }
@media (prefers-color-scheme: dark) {
.chart .paper { fill: #171c24; stroke: #2a313c; }
.chart text { fill: #9ba6b5; }
.chart .title { fill: #e7ebf1; }
.chart .grid { stroke: #262d38; }
.chart .axis { stroke: #4a5464; }
.chart .c0 { color: #6ea4ff; } .chart .c1 { color: #ffa04d; } .chart .c2 { color: #46cf9c; }
.chart .c3 { color: #c294ff; } .chart .c4 { color: #ff8392; } .chart .c5 { color: #55c6e4; }
.chart .dot { fill: #171c24; }
}
)";

double text_width(std::string_view text) { return tick_letter * static_cast<double>(glyphs(text)); }

std::string text(double x, double y, const char* anchor, std::string_view content, const std::string& more = "") {
  return str("<text x=\"", px(x), "\" y=\"", px(y), "\" text-anchor=\"", anchor, "\"", more, ">", escaped(content), "</text>\n");
}

/// The area of a chart's plot.
struct Frame {
  double left, top, right, bottom;
  Axis x, y;
  double at_x(double value) const { return left + x.place(value) * (right - left); }
  double at_y(double value) const { return bottom - y.place(value) * (bottom - top); }
};

std::string path(Mark mark, const std::string& color, const std::string& data) {
  const char* kind = mark == Mark::points ? "points" : mark == Mark::bars ? "bars" : mark == Mark::guide ? "guide" : "line";
  return data.empty() ? "" : str("<path class=\"", kind, " ", color, "\" d=\"", data, "\"/>\n");
}

std::string color_of(std::size_t series) { return str("c", series % colors); }

/// The names of the series that have some, starting at (left, top); moves `top` below them.
std::string legend(const Chart& chart, double left, double& top) {
  std::string out;
  double x = left;
  for (std::size_t i = 0; i < chart.series.size(); ++i) {
    const Series& series = chart.series[i];
    if (series.name.empty()) continue;
    const std::string name = shortened(series.name, 40);
    const double width = 24 + text_width(name) + 14;
    if (x > left && x + width > chart.width - chart_margin) {
      x = left;
      top += 16;
    }
    const Mark mark = series.mark;
    const std::string shape = mark == Mark::points ? str("M", px(x + 8), " ", px(top + 5), "h0")
                              : mark == Mark::bars ? str("M", px(x + 2), " ", px(top), "h12v10h-12z")
                                                   : str("M", px(x), " ", px(top + 5), "h16");
    out += path(mark, color_of(i), shape) + text(x + 22, top + 9, "start", name);
    x += width;
  }
  top += 18;
  return out;
}

std::string axes(const Chart& chart, const Frame& f, std::span<const std::string> y_labels) {
  std::string out = "<path class=\"grid\" d=\"";
  for (const double tick : f.y.ticks) out += str("M", px(f.left), " ", px(f.at_y(tick)), "H", px(f.right));
  out += str("\"/>\n<path class=\"axis\" d=\"M", px(f.left), " ", px(f.bottom), "H", px(f.right));
  for (const double tick : f.x.ticks) out += str("M", px(f.at_x(tick)), " ", px(f.bottom), "v4");
  out += "\"/>\n";
  for (std::size_t i = 0; i < f.y.ticks.size(); ++i) out += text(f.left - 8, f.at_y(f.y.ticks[i]) + 4, "end", y_labels[i]);
  const std::vector<std::string> x_labels = tick_labels(f.x.ticks);
  for (std::size_t i = 0; i < x_labels.size(); ++i)
    out += text(std::min(f.at_x(f.x.ticks[i]), chart.width - 4 - text_width(x_labels[i]) / 2), f.bottom + 17, "middle", x_labels[i]);
  if (!chart.x_label.empty()) out += text((f.left + f.right) / 2, f.bottom + 33, "middle", chart.x_label);
  const double middle = (f.top + f.bottom) / 2, side = chart_margin + 8;
  if (!chart.y_label.empty()) out += text(side, middle, "middle", chart.y_label, str(" transform=\"rotate(-90 ", px(side), " ", px(middle), ")\""));
  return out;
}

std::string dot(const Series& series, std::size_t i, const Frame& f, const std::string& color, double radius) {
  return str("<circle class=\"dot ", color, "\" cx=\"", px(f.at_x(series.x[i])), "\" cy=\"", px(f.at_y(series.y[i])), "\" r=\"", px(radius),
             "\"><title>", series.name.empty() ? "" : escaped(series.name) + ", ", significant(series.x[i], 6), ": ", significant(series.y[i], 6),
             "</title></circle>\n");
}

std::string drawn(const Series& series, const Frame& f, const std::string& color) {
  std::string data, dots;
  const auto shown = [&](std::size_t i) { return i < series.y.size() && f.x.shows(series.x[i]) && f.y.shows(series.y[i]); };
  const auto at = [&](std::size_t i) { return px(f.at_x(series.x[i])) + " " + px(f.at_y(series.y[i])); };
  const bool few = series.y.size() <= most_dots;
  for (std::size_t i = 0; i < series.y.size(); ++i) {
    if (!shown(i)) continue;
    const bool follows = i > 0 && shown(i - 1), alone = !follows && !shown(i + 1);
    switch (series.mark) {
      case Mark::line:
        if (!alone) data += (follows ? "L" : "M") + at(i);
        if (alone || few) dots += dot(series, i, f, color, 2.5);
        break;
      case Mark::guide:
        data += (follows ? "L" : "M") + at(i);
        break;
      case Mark::points:
        if (few) dots += dot(series, i, f, color, 3.5);
        else data += "M" + at(i) + "h0";
        break;
      case Mark::steps:
        data += follows ? "H" + px(f.at_x(series.x[i])) + "V" + px(f.at_y(series.y[i])) : "M" + at(i);
        break;
      case Mark::bars: {
        const std::string x = px(f.at_x(series.x[i])), base = px(f.at_y(0)), y = px(f.at_y(series.y[i]));
        data += follows ? "H" + x : "M" + x + " " + base;
        data += shown(i + 1) ? "V" + y : "V" + base + "Z";
        break;
      }
    }
  }
  return path(series.mark, color, data) + dots;
}

std::string drawn(const Chart& chart) {
  std::vector<double> xs, ys;
  for (const Series& series : chart.series) {
    if (series.x.size() != series.y.size())
      throw UserError("chart", str("series '", series.name, "' has ", series.x.size(), " x but ", series.y.size(), " y; give one x for each y"));
    xs.insert(xs.end(), series.x.begin(), series.x.end());
    ys.insert(ys.end(), series.y.begin(), series.y.end());
    if (series.mark == Mark::bars) ys.push_back(0);
  }
  if (!(chart.width >= 160 && chart.height >= 120 && chart.width <= 1e5 && chart.height <= 1e5))
    throw UserError("chart", str("a chart is at least 160 x 120 pixels and at most 100000, got ", chart.width, " x ", chart.height));
  std::string out =
      str("<rect class=\"paper\" x=\"0.5\" y=\"0.5\" width=\"", px(chart.width - 1), "\" height=\"", px(chart.height - 1), "\" rx=\"8\"/>\n");
  double top = chart_margin;
  if (!chart.title.empty()) {
    out += text(chart_margin, top + 11, "start", chart.title, " class=\"title\"");
    top += 22;
  }
  const bool named = std::any_of(chart.series.begin(), chart.series.end(), [](const Series& s) { return !s.name.empty(); });
  if (chart.series.size() > 1 && named) out += legend(chart, chart_margin, top);
  const double bottom = chart.height - chart_margin - 10 - (chart.x_label.empty() ? 0 : 16);
  const Axis y = axis_for(ys, std::max(2, static_cast<int>((bottom - top) / 38)), true, chart.log_y, false);
  const std::vector<std::string> y_labels = tick_labels(y.ticks);
  double widest = 0;
  for (const std::string& label : y_labels) widest = std::max(widest, text_width(label));
  const double left = chart_margin + widest + 8 + (chart.y_label.empty() ? 0 : 18), right = chart.width - chart_margin - 4;
  const Axis x = axis_for(xs, std::max(2, static_cast<int>((right - left) / 56)), false, false, chart.whole_x);
  const Frame frame{left, top + 8, right, bottom, x, y};
  if (y.ticks.empty()) return out + text(chart.width / 2, chart.height / 2, "middle", "no finite values");
  out += axes(chart, frame, y_labels);
  for (std::size_t i = 0; i < chart.series.size(); ++i) out += drawn(chart.series[i], frame, color_of(i));
  return out;
}

std::string document(double width, double height, const std::string& label, const std::string& content) {
  return str("<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"chart\" role=\"img\" aria-label=\"", escaped(label), "\" width=\"", px(width),
             "\" height=\"", px(height), "\" viewBox=\"0 0 ", px(width), " ", px(height), "\">\n<style>", chart_style, "</style>\n", content,
             "</svg>\n");
}

}  // namespace

std::string draw(const Chart& chart) { return draw({&chart, 1}, 1); }

std::string draw(std::span<const Chart> charts, std::size_t columns) {
  if (columns < 1) throw UserError("chart", "columns must be at least 1, got 0");
  double x = 0, y = 0, width = 0, height = 0;
  std::string content, label;
  for (std::size_t i = 0; i < charts.size(); ++i) {
    if (i && i % columns == 0) {
      x = 0;
      y = height + gap;
    }
    content += str("<g transform=\"translate(", px(x), " ", px(y), ")\">\n", drawn(charts[i]), "</g>\n");
    width = std::max(width, x + charts[i].width);
    height = std::max(height, y + charts[i].height);
    x += charts[i].width + gap;
    label += (label.empty() ? "" : ", ") + charts[i].title;
  }
  return document(width, height, label, content);
}

}  // namespace sinter::report
