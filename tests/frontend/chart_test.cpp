// Charts of a training, and the text in them.
#include <algorithm>
#include <cmath>

#include "frontend/report/chart.h"
#include "frontend/report/learning_curves.h"
#include "frontend/report/markup.h"
#include "tests/frontend/report_helpers.h"

namespace sinter::test::chart_test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

/// The value of an attribute behind a place in the text.
std::string attribute(const std::string& text, const std::string& behind, const std::string& name) {
  const std::size_t begin = text.find(name + "=\"", text.find(behind)) + name.size() + 2;
  return text.substr(begin, text.find('"', begin) - begin);
}

TEST(Xml, OffencesAreSeen) {
  EXPECT_EQ(xml_error("<!DOCTYPE html>\n<a b=\"1\"><c/>&amp;</a>\n"), "");
  for (const char* wrong :
       {"<a>", "<a></b>", "<a b=\"1\" b=\"2\"/>", "<a>&nbsp;</a>", "<a b=\"<\"/>", "<a/><b/>", "<a b=1/>", "<a/>x", "", "<a>&</a>"})
    EXPECT_NE(xml_error(wrong), "") << wrong;
}

TEST(Markup, Escapes) {
  EXPECT_EQ(report::escaped("a<b> & \"c\" 'd'"), "a&lt;b&gt; &amp; &quot;c&quot; &#39;d&#39;");
  EXPECT_EQ(report::escaped("größe µ → 𝛼\t\n"), "größe µ → 𝛼\t\n");
  // A control character, a byte alone, a surrogate, an overlong '/', U+FFFF, an end in the middle.
  EXPECT_EQ(report::escaped("\x01|\xff|\xed\xa0\x80|\xc0\xaf|\xef\xbf\xbf|\xe2\x82"), "�|�|���|��|���|��");
  EXPECT_EQ(report::shortened("größe.weight", 8), "….weight");
  EXPECT_EQ(report::shortened("größe", 5), "größe");
  EXPECT_EQ(report::glyphs("größe"), 5u);
}

TEST(Markup, Numbers) {
  EXPECT_EQ(report::significant(0.0123456, 4), "0.01235");
  EXPECT_EQ(report::significant(1.5e-7, 4), "1.5e-7");
  EXPECT_EQ(report::significant(-2.50e20, 4), "-2.5e20");
  EXPECT_EQ(report::significant(1200, 4), "1200");
  EXPECT_EQ(report::significant(0, 4), "0");
  EXPECT_EQ(report::significant(std::nan(""), 4), "NaN");
  EXPECT_EQ(report::significant(-INFINITY, 4), "−∞");
  EXPECT_EQ(report::fixed(-0.04, 1), "0.0");
  EXPECT_EQ(report::title_of("val_top_2_accuracy"), "Val top 2 accuracy");
}

// ---- charts ----

TEST(Chart, TicksAreRound) {
  EXPECT_THAT(report::ticks(0, 1, 5), ElementsAre(0, 0.2, 0.4, 0.6, 0.8, 1.0));
  EXPECT_THAT(report::ticks(-0.3, 0.9, 4), ElementsAre(0, 0.5));
  EXPECT_THAT(report::ticks(1, 3, 6, true), ElementsAre(1, 2, 3));
  EXPECT_THAT(report::ticks(1, 100, 6, true), ElementsAre(20, 40, 60, 80, 100));
  EXPECT_THAT(report::ticks(1e-9, 3e-9, 3), ElementsAre(1e-9, 2e-9, 3e-9));
  EXPECT_THAT(report::ticks(0, 5e6, 3), ElementsAre(0, 2e6, 4e6));
  EXPECT_THAT(report::log_ticks(0.01, 100), ElementsAre(0.01, 0.1, 1, 10, 100));
  EXPECT_THAT(report::log_ticks(3, 60), ElementsAre(5, 10, 20, 50));
  EXPECT_EQ(report::log_ticks(1e-30, 1e30).size(), 8u);
  EXPECT_THAT(report::tick_labels(std::vector{0.0, 0.2, 0.4}), ElementsAre("0", "0.2", "0.4"));
  EXPECT_THAT(report::tick_labels(std::vector{100.25, 100.5, 100.75}), ElementsAre("100.25", "100.5", "100.75"));
  EXPECT_THAT(report::tick_labels(std::vector{1e-5, 1e-4, 1e5}), ElementsAre("1e-5", "0.0001", "100000"));
}

TEST(Chart, NanLeavesAGapAndSinglePointsAreDots) {
  const double nan = std::nan("");
  const report::Chart chart{.title = "t", .x_label = "x", .y_label = "y", .series = {{"s", {1, 2, 3, 4, 5, 6, 7}, {1, 2, nan, 3, INFINITY, 5, 6}}}};
  const std::string svg = report::draw(chart);
  EXPECT_EQ(xml_error(svg), "") << svg;
  const std::string line = attribute(svg, "class=\"line c0\"", "d");
  EXPECT_EQ(count(line, "M"), 2u) << line;
  EXPECT_EQ(count(line, "L"), 2u) << line;
  EXPECT_EQ(count(svg, "<circle"), 5u);
  EXPECT_THAT(svg, HasSubstr("<title>s, 4: 3</title>"));
  EXPECT_THAT(svg, Not(HasSubstr("NaN")));

  report::Chart many{.title = "", .x_label = "", .y_label = "", .series = {{"s", {}, {}}}};
  for (int i = 0; i < 200; ++i) {
    many.series[0].x.push_back(i);
    many.series[0].y.push_back(i == 99 || i == 101 ? nan : i);
  }
  EXPECT_EQ(count(report::draw(many), "<circle"), 1u);  // 100 is alone
  EXPECT_THAT(report::draw({.title = "", .x_label = "", .y_label = "", .series = {{"s", {1}, {nan}}}}), HasSubstr("no finite values"));
}

TEST(Chart, PointsLieWhereTheAxesSay) {
  // The ticks at 0 and 10 are the ends of both axes.
  const std::string svg = report::draw({.title = "t", .x_label = "", .y_label = "", .series = {{"s", {0, 5, 10}, {0, 5, 10}}}});
  const std::string grid = attribute(svg, "class=\"grid\"", "d"), axis = attribute(svg, "class=\"axis\"", "d"),
                    line = attribute(svg, "class=\"line", "d");
  double left = 0, bottom = 0, right = 0;
  ASSERT_EQ(std::sscanf(axis.c_str(), "M%lf %lfH%lf", &left, &bottom, &right), 3);
  double x[3], y[3];
  ASSERT_EQ(std::sscanf(line.c_str(), "M%lf %lfL%lf %lfL%lf %lf", x, y, x + 1, y + 1, x + 2, y + 2), 6);
  EXPECT_NEAR(x[0], left, 0.11);
  EXPECT_NEAR(x[1], (left + right) / 2, 0.11);
  EXPECT_NEAR(x[2], right, 0.11);
  EXPECT_NEAR(y[0], bottom, 0.11);
  EXPECT_NEAR(y[1], (y[0] + y[2]) / 2, 0.11);
  EXPECT_LT(y[2], y[0]);
  // On a logarithmic axis, each decade is as high as the next, and what is not positive is not there.
  const std::string log =
      report::draw({.title = "", .x_label = "", .y_label = "", .series = {{"s", {0, 1, 2, 3}, {1, 100, 10000, 0}}}, .log_y = true});
  const std::string decades = attribute(log, "class=\"line", "d");
  ASSERT_EQ(std::sscanf(decades.c_str(), "M%lf %lfL%lf %lfL%lf %lf", x, y, x + 1, y + 1, x + 2, y + 2), 6);
  EXPECT_NEAR(y[1], (y[0] + y[2]) / 2, 0.11);
  EXPECT_EQ(count(decades, "L"), 2u);
  EXPECT_THAT(log, AllOf(HasSubstr(">100<"), HasSubstr(">10000<")));
}

TEST(Chart, StepsBarsPointsAndGuidesAreDrawnAsSuch) {
  using report::Mark;
  const auto drawn = [](report::Series series) {
    return report::draw({.title = "", .x_label = "", .y_label = "", .series = {std::move(series), {"other", {0, 2}, {0, 2}}}});
  };
  const auto shape = [](std::string path) {  // its commands
    std::erase_if(path, [](char c) { return !(c >= 'A' && c <= 'z'); });
    return path;
  };
  const std::string steps = drawn({"s", {0, 1, 2}, {2, 1, 0}, Mark::steps}), bars = drawn({"b", {0, 1, 2}, {2, 1, 0}, Mark::bars}),
                    guide = drawn({"g", {0, 2}, {1, 1}, Mark::guide});
  const std::string stairs = attribute(steps.substr(steps.find("</text>\n<path class=\"line c0")), "class=\"line c0", "d");
  EXPECT_EQ(shape(stairs), "MHVHV") << stairs;
  double x[4], y[4];
  ASSERT_EQ(std::sscanf(stairs.c_str(), "M%lf %lfH%lfV%lfH%lfV%lf", x, y, x + 1, y + 1, x + 2, y + 2), 6);
  EXPECT_NEAR(x[1] - x[0], x[2] - x[1], 0.11);
  EXPECT_NEAR(y[1] - y[0], y[2] - y[1], 0.11);
  // Bars go from the axis up and down again, and the axis of y has 0 in it.
  const std::string area = bars.substr(bars.rfind("<path class=\"bars c0"));
  EXPECT_EQ(shape(attribute(area, "class=\"bars", "d")), "MVHVHVZ") << area;
  ASSERT_EQ(std::sscanf(attribute(area, "class=\"bars", "d").c_str(), "M%lf %lfV%lfH%lfV%lfH%lfV%lfZ", x, y, y + 1, x + 1, y + 2, x + 2, y + 3), 7);
  EXPECT_EQ(y[0], y[3]);
  EXPECT_LT(y[1], y[2]);
  EXPECT_THAT(report::draw({.title = "", .x_label = "", .y_label = "", .series = {{"b", {0, 1, 2}, {7, 8, 0}, Mark::bars}}}), HasSubstr(">0<"));
  EXPECT_THAT(guide, AllOf(HasSubstr("class=\"guide c0\""), HasSubstr(">g</text>")));
  EXPECT_EQ(count(guide, "<circle"), 2u);  // of the other series alone
  // Few points have tooltips, and many are one path.
  const std::string few = drawn({"p", {0, 1}, {1, 1}, Mark::points});
  EXPECT_THAT(few, HasSubstr("<title>p, 1: 1</title>"));
  EXPECT_EQ(count(few, "class=\"points"), 1u);  // in the legend
  report::Series many{"", std::vector<double>(500, 1.5), std::vector<double>(500, 1.0), Mark::points};
  many.y[7] = std::nan("");
  const std::string cloud = drawn(many);
  EXPECT_EQ(count(attribute(cloud, "class=\"points", "d"), "h0"), 499u);
  EXPECT_THAT(cloud, Not(HasSubstr("></text>")));  // a series without a name is in no legend
  for (const std::string& svg : {steps, bars, guide, few, cloud}) EXPECT_EQ(xml_error(svg), "");
}

TEST(Chart, LabelsStayWithinTheChart) {
  const std::string svg = report::draw({.title = "", .x_label = "", .y_label = "", .series = {{"s", {0, 2'000'000}, {0, 1}}}});
  const std::size_t label = svg.rfind("<text", svg.find(">2000000<"));
  EXPECT_LE(std::stod(attribute(svg.substr(label), "<text", "x")) + 3.5 * 6.2, 480);
}

TEST(Chart, NamesAreEscapedAndSeriesHaveALegend) {
  const std::string svg =
      report::draw({.title = "a<b & \"c\"", .x_label = "<x>", .y_label = "&y", .series = {{"p<q", {1, 2}, {1, 2}}, {"\"r\"", {1}, {1}}}});
  EXPECT_EQ(xml_error(svg), "") << svg;
  EXPECT_THAT(svg, AllOf(HasSubstr(">a&lt;b &amp; &quot;c&quot;</text>"), HasSubstr(">&lt;x&gt;</text>"), HasSubstr(">&amp;y</text>"),
                         HasSubstr(">p&lt;q</text>"), HasSubstr(">&quot;r&quot;</text>"), HasSubstr("prefers-color-scheme: dark")));
  EXPECT_EQ(attribute(svg, "<svg", "width"), "480.0");
}

TEST(Chart, SaysWhatIsWrong) {
  EXPECT_EQ(error_of([] { report::draw({.title = "", .x_label = "", .y_label = "", .series = {{"s", {1, 2}, {1}}}}); }),
            "[chart] series 's' has 2 x but 1 y; give one x for each y");
  EXPECT_THAT(error_of([] { report::draw({.title = "", .x_label = "", .y_label = "", .series = {}, .width = 10}); }),
              HasSubstr("at least 160 x 120 pixels and at most 100000, got 10 x 300"));
  EXPECT_THAT(error_of([] { report::draw({}, 0); }), HasSubstr("columns must be at least 1"));
}

TEST(LearningCurves, AChartForEachValue) {
  const auto history = some_history();
  const std::string svg = report::learning_curves(history);
  EXPECT_EQ(xml_error(svg), "") << svg;
  for (const char* title : {">Loss<", ">Accuracy<", ">F&lt;1<", ">Learning rate<"})
    EXPECT_EQ(count(svg, std::string("class=\"title\"") + title), 1u) << title;
  EXPECT_EQ(count(svg, "class=\"title\""), 4u);
  EXPECT_EQ(count(svg, ">validation</text>"), 3u);
  EXPECT_THAT(svg, AllOf(HasSubstr("<title>training, 2: 0.5</title>"), HasSubstr("<title>validation, 5: 1.22</title>"), HasSubstr(">1e-5</text>")));
  EXPECT_EQ(error_of([] { report::learning_curves({}); }), "[learning_curves] the history has no epochs; pass what fit returned");
  EXPECT_EQ(xml_error(report::learning_curves({history.data(), 1})), "");
}

}  // namespace
}  // namespace sinter::test::chart_test
