// What tells of a training: event files, charts, drawings of graphs, and the page.
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include <expat.h>

#include "frontend/report/chart.h"
#include "frontend/report/graph_drawing.h"
#include "frontend/report/html.h"
#include "frontend/report/layers.h"
#include "frontend/report/learning_curves.h"
#include "frontend/report/markup.h"
#include "frontend/train/tensorboard.h"
#include "passes/pipeline.h"

#include "tests/frontend/helpers.h"
#include "tests/ir/mlp_graph.h"

namespace sinter::test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

// ---- XML ----

/// What is wrong with an XML document; "" if nothing is.
std::string xml_error(const std::string& text) {
  const std::unique_ptr<XML_ParserStruct, decltype(&XML_ParserFree)> parser(XML_ParserCreate("UTF-8"), XML_ParserFree);
  if (XML_Parse(parser.get(), text.data(), static_cast<int>(text.size()), 1) == XML_STATUS_OK) return "";
  return str("line ", XML_GetCurrentLineNumber(parser.get()), ": ", XML_ErrorString(XML_GetErrorCode(parser.get())));
}

TEST(Xml, OffencesAreSeen) {
  EXPECT_EQ(xml_error("<!DOCTYPE html>\n<a b=\"1\"><c/>&amp;</a>\n"), "");
  for (const char* wrong :
       {"<a>", "<a></b>", "<a b=\"1\" b=\"2\"/>", "<a>&nbsp;</a>", "<a b=\"<\"/>", "<a/><b/>", "<a b=1/>", "<a/>x", "", "<a>&</a>"})
    EXPECT_NE(xml_error(wrong), "") << wrong;
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

/// The value of an attribute behind a place in the text.
std::string attribute(const std::string& text, const std::string& behind, const std::string& name) {
  const std::size_t begin = text.find(name + "=\"", text.find(behind)) + name.size() + 2;
  return text.substr(begin, text.find('"', begin) - begin);
}

class ReportFiles : public testing::Test {
 protected:
  ReportFiles() { fs::create_directories(folder_); }
  ~ReportFiles() override {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
  std::string read(const fs::path& path) const {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  const fs::path folder_ =
      fs::temp_directory_path() / str("sinter_report_", getpid(), "_", testing::UnitTest::GetInstance()->current_test_info()->name());
};

// ---- text ----

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
  const std::string svg = report::line_chart(chart);
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
  EXPECT_EQ(count(report::line_chart(many), "<circle"), 1u);  // 100 is alone
  EXPECT_THAT(report::line_chart({.title = "", .x_label = "", .y_label = "", .series = {{"s", {1}, {nan}}}}), HasSubstr("no finite values"));
}

TEST(Chart, PointsLieWhereTheAxesSay) {
  // The ticks at 0 and 10 are the ends of both axes.
  const std::string svg = report::line_chart({.title = "t", .x_label = "", .y_label = "", .series = {{"s", {0, 5, 10}, {0, 5, 10}}}});
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
      report::line_chart({.title = "", .x_label = "", .y_label = "", .series = {{"s", {0, 1, 2, 3}, {1, 100, 10000, 0}}}, .log_y = true});
  const std::string decades = attribute(log, "class=\"line", "d");
  ASSERT_EQ(std::sscanf(decades.c_str(), "M%lf %lfL%lf %lfL%lf %lf", x, y, x + 1, y + 1, x + 2, y + 2), 6);
  EXPECT_NEAR(y[1], (y[0] + y[2]) / 2, 0.11);
  EXPECT_EQ(count(decades, "L"), 2u);
  EXPECT_THAT(log, AllOf(HasSubstr(">100<"), HasSubstr(">10000<")));
}

TEST(Chart, NamesAreEscapedAndSeriesHaveALegend) {
  const std::string svg =
      report::line_chart({.title = "a<b & \"c\"", .x_label = "<x>", .y_label = "&y", .series = {{"p<q", {1, 2}, {1, 2}}, {"\"r\"", {1}, {1}}}});
  EXPECT_EQ(xml_error(svg), "") << svg;
  EXPECT_THAT(svg, AllOf(HasSubstr(">a&lt;b &amp; &quot;c&quot;</text>"), HasSubstr(">&lt;x&gt;</text>"), HasSubstr(">&amp;y</text>"),
                         HasSubstr(">p&lt;q</text>"), HasSubstr(">&quot;r&quot;</text>"), HasSubstr("prefers-color-scheme: dark")));
  EXPECT_EQ(attribute(svg, "<svg", "width"), "480.0");
}

TEST(Chart, SaysWhatIsWrong) {
  EXPECT_EQ(error_of([] { report::line_chart({.title = "", .x_label = "", .y_label = "", .series = {{"s", {1, 2}, {1}}}}); }),
            "[chart] series 's' has 2 x but 1 y; give one x for each y");
  EXPECT_THAT(error_of([] { report::line_chart({.title = "", .x_label = "", .y_label = "", .series = {}, .width = 10}); }),
              HasSubstr("at least 160 x 120 pixels and at most 100000, got 10 x 300"));
  EXPECT_THAT(error_of([] { report::line_charts({}, 0); }), HasSubstr("columns must be at least 1"));
}

std::vector<EpochResult> some_history() {
  std::vector<EpochResult> history;
  for (int e = 1; e <= 5; ++e) {
    EpochResult r{e, 1.0 / e, 0.1 * e, 1.1 / e + (e == 5 ? 1 : 0), 0.09 * e, std::pow(10.0, -e), 0.5, {{"f<1", 0.2 * e}}, {{"f<1", 0.15 * e}}};
    history.push_back(r);
  }
  return history;
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

// ---- graphs ----

TEST(Layers, EdgesGoDownAndCrossNoBox) {
  RandomStream random(5, 5);
  for (int trial = 0; trial < 30; ++trial) {
    std::vector<report::Block> blocks(40);
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      blocks[b].width = 50 + 200 * random.uniform();
      blocks[b].height = 20 + 100 * random.uniform();
      std::set<std::size_t> from;
      for (std::uint32_t k = random.below(4); b > 0 && k > 0; --k) from.insert(random.below(static_cast<std::uint32_t>(b)));
      blocks[b].from.assign(from.begin(), from.end());
    }
    const report::Layering out = report::lay_out(blocks);
    EXPECT_TRUE(out.stubs.empty());
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      EXPECT_GE(out.x[b], -1e-6);
      EXPECT_LE(out.x[b] + blocks[b].width, out.width + 1e-6);
      EXPECT_LE(out.y[b] + blocks[b].height, out.height + 1e-6);
      for (const std::size_t from : blocks[b].from) EXPECT_GT(out.y[b], out.y[from] + blocks[from].height);
      for (std::size_t c = 0; c < b; ++c) {
        const bool apart = out.x[b] + blocks[b].width < out.x[c] || out.x[c] + blocks[c].width < out.x[b] || out.y[b] + blocks[b].height < out.y[c] ||
                           out.y[c] + blocks[c].height < out.y[b];
        EXPECT_TRUE(apart) << b << " and " << c;
      }
      std::size_t arrivals = 0;
      for (std::size_t s = 0; s < blocks.size(); ++s)
        for (const report::Link& link : out.links[s]) {
          const bool above = link.y0 < out.y[b] + blocks[b].height - 1e-6 && link.turn > out.y[b] + 1e-6;
          const bool straight_through = above && link.x0 > out.x[b] - 1 && link.x0 < out.x[b] + blocks[b].width + 1;
          EXPECT_FALSE(straight_through) << s << " through " << b;
          const bool curve_through = link.turn < out.y[b] + blocks[b].height - 1e-6 && link.y1 > out.y[b] + 1e-6;
          EXPECT_FALSE(curve_through) << s << " through " << b;
          arrivals += link.arrives && link.y1 == out.y[b] && link.x1 > out.x[b] && link.x1 < out.x[b] + blocks[b].width;
        }
      EXPECT_EQ(arrivals, blocks[b].from.size());
    }
  }
}

TEST(Layers, LongAndCircularEdgesBecomeStubs) {
  std::vector<report::Block> chain(1000, {60, 20, {}});
  for (std::size_t b = 1; b < chain.size(); ++b) {
    chain[b].from = {b - 1};
    if (b > chain.size() / 2) chain[b].from.push_back(chain.size() - 1 - b);  // as the backward pass reads the forward pass
  }
  const report::Layering out = report::lay_out(chain);
  EXPECT_FALSE(out.stubs.empty());
  EXPECT_LT(out.stubs.size(), 500u);
  std::size_t links = 0, arrivals = 0;
  for (const auto& of_block : out.links)
    for (const report::Link& link : of_block) {
      ++links;
      arrivals += link.arrives;
    }
  EXPECT_LT(links, 25000u);
  EXPECT_EQ(arrivals + out.stubs.size(), 999u + 499u);
  const std::vector<report::Block> circle{{60, 20, {1}}, {60, 20, {0}}};
  EXPECT_EQ(report::lay_out(circle).stubs.size(), 2u);
  EXPECT_EQ(report::lay_out({}).height, 0);
}

TEST(Drawing, OfTracedAndGroupedGraphs) {
  ir::Graph graph = mlp_step();
  const std::string traced = report::draw(graph);
  EXPECT_EQ(xml_error(traced), "");
  const auto names = ir::printed_names(graph);
  for (const ir::NodeId id : graph.topological_order()) {
    const ir::Op& op = graph.node(id).op;
    const bool mark = ir::is_leaf(op) || std::holds_alternative<ir::Constant>(op) || std::holds_alternative<ir::Extent>(op);
    const std::string head = str(">", names[id], " ", ir::name(op), "</text>"), tip = str("<title>", names[id], ": ", graph.node(id).type, " = ");
    if (mark) continue;
    EXPECT_THAT(traced, AllOf(HasSubstr(tip), HasSubstr("</title>" + head.substr(1)))) << head;
  }
  EXPECT_THAT(traced, Not(HasSubstr("kernel ")));

  passes::optimize(graph);
  const std::string grouped = report::draw(graph);
  EXPECT_EQ(xml_error(grouped), "");
  std::int32_t last = 0;
  const auto new_names = ir::printed_names(graph);
  for (const ir::NodeId id : graph.topological_order()) {
    const ir::Node& node = graph.node(id);
    last = std::max(last, node.kernel);
    if (node.kernel < 0) continue;
    EXPECT_THAT(grouped, HasSubstr(str("<title>", new_names[id], ": ", node.type, " = ", ir::name(node.op), "(")));
  }
  EXPECT_GT(last, 3);
  EXPECT_EQ(count(grouped, "class=\"box\""), static_cast<std::size_t>(last) + 1);
  for (std::int32_t kernel = 0; kernel <= last; ++kernel) EXPECT_EQ(count(grouped, str(">kernel ", kernel, "</text>")), 1u) << kernel;
  for (const ir::InputSpec& input : graph.inputs()) EXPECT_THAT(grouped, HasSubstr(">" + input.name + "</text>"));
  for (std::size_t i = 0; i < graph.states().size(); ++i) {
    const std::string& name = graph.states()[i].name;
    EXPECT_THAT(grouped, HasSubstr(">" + name + "</text>"));
    if (graph.updates()[i] == ir::no_node) continue;
    EXPECT_EQ(count(grouped, ">→ " + name + "</text>"), 1u) << name;
  }
  EXPECT_THAT(grouped, AllOf(HasSubstr(">output 0</text>"), HasSubstr("dense_1, mlp.cpp:11</title>")));
}

TEST(Drawing, OfDeepAndEmptyAndOddlyNamedGraphs) {
  ir::Graph deep("deep");
  ir::Value x = deep.add_input({"x<\"&", {DType::f32, {Dim::batch()}}});
  const ir::Value first = x;
  for (int i = 0; i < 5000; ++i) x = deep.add(ir::Tanh{}, {x});
  deep.add_output(x + first);
  const std::string svg = report::draw(deep);
  EXPECT_EQ(xml_error(svg), "");
  EXPECT_EQ(count(svg, "class=\"box\""), 5001u);
  EXPECT_EQ(count(svg, ">x&lt;&quot;&amp;</text>"), 2u);

  ir::Graph empty("nothing");
  empty.add_output(empty.add_input({"x", {DType::f32, {Dim::batch()}}}));
  EXPECT_THAT(report::draw(empty), HasSubstr("the graph has no operations"));
  EXPECT_EQ(xml_error(report::draw(empty)), "");
}

// ---- the page ----

TEST(TimeTable, HasARowANodeAndBarsToScale) {
  TimeReport times;
  times.rows = {{"%0 = dense f32[N,3]   # dense_1, a<b.cpp:1", 0, 30e-6}, {"%1 = relu f32[N,3]", 0, 10e-6}, {"%2 = sum f32[]", 1, 5e-6}};
  times.kernel_seconds = {20e-6, 2e-6};
  const std::string table = report::time_table(times);
  EXPECT_EQ(xml_error(table), "") << table;
  EXPECT_EQ(count(table, "<tbody>"), 2u);
  EXPECT_THAT(
      table,
      AllOf(HasSubstr("<td class=\"node\">%0 = dense f32[N,3]</td><td class=\"where\">dense_1, a&lt;b.cpp:1</td><td class=\"number\">30.0</td>"),
            HasSubstr("kernel 0</th><td class=\"number\">40.0</td><td class=\"number\">20.0</td>"),
            HasSubstr("kernel 1</th><td class=\"number\">5.0</td><td class=\"number\">2.0</td>"), HasSubstr("bar eager\" style=\"width:100.0%\""),
            HasSubstr("bar compiled\" style=\"width:50.0%\""), HasSubstr("bar eager part\" style=\"width:75.0%\""),
            HasSubstr("bar compiled\" style=\"width:5.0%\"")));
  times.kernel_seconds.clear();
  EXPECT_THAT(report::time_table(times),
              AllOf(Not(HasSubstr("compiled")), HasSubstr("kernel 1</th><td class=\"number\">5.0</td><td class=\"bars\">")));
}

Dataset blobs(std::int64_t samples, std::uint64_t stream) { return {random({samples, 6}, stream), random_labels(samples, 3, stream)}; }

struct Fitted {
  nn::Sequential model{(seed(3), nn::Dense(6, 8, Activation::tanh)), nn::Dense(8, 3)};
  Trainer trainer;
  explicit Fitted(Mode mode) : trainer(model, loss::categorical_crossentropy_from_logits, optim::Adam(), {.mode = mode}) {}
};

TEST_F(ReportFiles, ThePageHoldsFiguresParametersAndKernels) {
  const std::string path = (folder_ / "page.html").string();
  for (const Mode mode : modes()) {
    Fitted fitted(mode);
    const Dataset data = blobs(90, 1);
    const auto history = fitted.trainer.fit(data, {.epochs = 3, .batch_size = 30, .validation = blobs(30, 2), .verbose = false});
    const std::vector<float> before = fitted.model.parameters()[0].read().to_vector<float>();
    report::write_html(path, fitted.trainer, history, {.title = "a <b> & \"c\"", .sample = &data, .batch_size = 16, .repeats = 2});
    EXPECT_EQ(before, fitted.model.parameters()[0].read().to_vector<float>());
    const std::string page = read(path);
    EXPECT_EQ(xml_error(page), "");
    EXPECT_THAT(page, AllOf(HasSubstr("<h1>a &lt;b&gt; &amp; &quot;c&quot;</h1>"), HasSubstr("<title>a &lt;b&gt; &amp; &quot;c&quot;</title>"),
                            Not(HasSubstr("<script")), Not(HasSubstr("src=")), Not(HasSubstr("href=")), HasSubstr("id=\"figures\""),
                            HasSubstr("id=\"curves\""), HasSubstr("id=\"model\""), HasSubstr("id=\"graph\"")));
    for (const EpochResult& epoch : history)
      for (const auto& [name, value] : epoch.values()) {
        EXPECT_THAT(page, HasSubstr("<th class=\"number\">" + name + "</th>"));
        EXPECT_THAT(page, HasSubstr(">" + report::significant(value, 6) + "</td>")) << name;
      }
    for (const Parameter& p : fitted.trainer.parameters()) EXPECT_THAT(page, HasSubstr(">" + p.name() + "</td><td class=\"node\">" + str(p.type())));
    EXPECT_THAT(page, HasSubstr("dense_1 (dense)"));
    if (mode == Mode::eager) {
      EXPECT_THAT(page, AllOf(HasSubstr("the training step ran eagerly"), Not(HasSubstr("id=\"times\"")), Not(HasSubstr("class=\"graph\""))));
      continue;
    }
    const ir::Graph& graph = fitted.trainer.train_step().graph();
    std::int32_t last = 0;
    for (const ir::NodeId id : graph.topological_order()) last = std::max(last, graph.node(id).kernel);
    for (std::int32_t kernel = 0; kernel <= last; ++kernel) {
      EXPECT_EQ(count(page, str(">kernel ", kernel, "</text>")), 1u);
      EXPECT_EQ(count(page, str(">kernel ", kernel, "</th>")), 1u);
    }
    EXPECT_THAT(page,
                AllOf(HasSubstr(report::escaped(ir::to_text(graph))), HasSubstr("id=\"times\""), HasSubstr("Shortest of 2 steps on 16 samples")));
    report::write_html(path, fitted.trainer, history);
    EXPECT_THAT(read(path), AllOf(HasSubstr("the report was given no samples"), HasSubstr("class=\"graph\""), HasSubstr("<h1>Training report</h1>")));
  }
}

TEST_F(ReportFiles, TheBestEpochIsThatOfTheLeastLoss) {
  Fitted fitted(modes().front());
  fitted.trainer.fit(blobs(20, 1), {.verbose = false});
  const std::string path = (folder_ / "page.html").string();
  auto history = some_history();  // the validation loss is least at epoch 4
  report::write_html(path, fitted.trainer, history);
  EXPECT_THAT(read(path), AllOf(HasSubstr("5 epochs, 2.5 s of training; the last is epoch 5, the best epoch 4, by validation loss"),
                                HasSubstr("<div class=\"value\">1.22</div><div class=\"best\">epoch 4: 0.275</div>"),
                                HasSubstr("<div class=\"name\">F&lt;1</div>"), HasSubstr("<tr class=\"best\"><td class=\"number\">4</td>")));
  for (EpochResult& r : history) r.validation_loss.reset();
  history[1].loss = -1;
  history[2].loss = std::nan("");
  report::write_html(path, fitted.trainer, history);
  EXPECT_THAT(read(path), AllOf(HasSubstr("the best epoch 2, by loss"), HasSubstr(">NaN</td>")));
  EXPECT_EQ(error_of([&] { report::write_html(path, fitted.trainer, {}); }), "[learning_curves] the history has no epochs; pass what fit returned");
  EXPECT_THAT(error_of([&] { report::write_html((folder_ / "no" / "p.html").string(), fitted.trainer, history); }),
              HasSubstr("cannot write the file"));
}

TEST_F(ReportFiles, OfATrainerFromAFile) {
  const std::string file = (folder_ / "model.sinter").string(), path = (folder_ / "page.html").string();
  const Dataset data = blobs(40, 1);
  {
    Fitted fitted(modes().back());
    fitted.trainer.fit(data, {.verbose = false});
    fitted.trainer.save(file);
  }
  Trainer loaded = Trainer::load(file, {.mode = modes().back()});
  const auto history = loaded.fit(data, {.verbose = false});
  report::write_html(path, loaded, history, {.sample = &data, .repeats = 2});
  EXPECT_EQ(xml_error(read(path)), "");
  EXPECT_THAT(read(path), AllOf(HasSubstr("The trainer comes from a file, which holds no layers."), HasSubstr("dense_1.weight")));
}

// ---- callbacks ----

TEST_F(ReportFiles, TheCallbackWritesThePageOfAllEpochs) {
  const std::string path = (folder_ / "page.html").string();
  Fitted fitted(modes().back());
  const auto report = std::make_shared<callback::Report>(path, report::Options{.title = "twice"});
  fitted.trainer.fit(blobs(40, 1), {.epochs = 2, .verbose = false, .callbacks = {report}});
  EXPECT_THAT(read(path), HasSubstr("2 epochs, "));
  fitted.trainer.fit(blobs(40, 1), {.epochs = 1, .verbose = false, .callbacks = {report}});
  EXPECT_THAT(read(path), AllOf(HasSubstr("3 epochs, "), HasSubstr("<h1>twice</h1>")));
  EXPECT_THAT(error_of([] { callback::Report(""); }), HasSubstr("[Report] the path is empty"));
}

/// The payloads of a TFRecord file, if its framing is right.
std::vector<std::string> records(const std::string& bytes) {
  std::vector<std::string> result;
  for (std::size_t at = 0; at < bytes.size();) {
    const auto number = [&](std::size_t from) {
      std::uint32_t value = 0;
      std::memcpy(&value, bytes.data() + from, sizeof value);
      return value;
    };
    const auto masked = [&](std::size_t from, std::size_t size) {
      const std::uint32_t crc = runtime::crc32c(std::as_bytes(std::span(bytes).subspan(from, size)));
      return (crc >> 15 | crc << 17) + 0xa282ead8u;
    };
    std::uint64_t size = 0;
    std::memcpy(&size, bytes.data() + at, sizeof size);
    if (at + size + 16 > bytes.size() || number(at + 8) != masked(at, 8) || number(at + 12 + size) != masked(at + 12, size)) {
      ADD_FAILURE() << "no record at byte " << at;
      return result;
    }
    result.push_back(bytes.substr(at + 12, size));
    at += size + 16;
  }
  return result;
}

TEST_F(ReportFiles, TensorBoardGetsKerasLayout) {
  Fitted fitted(modes().back());
  const auto board = std::make_shared<callback::TensorBoard>((folder_ / "logs").string(), callback::TensorBoardOptions{.histograms_every = 2});
  fitted.trainer.fit(blobs(40, 1), {.epochs = 3, .validation = blobs(20, 2), .verbose = false, .callbacks = {board}});
  std::map<std::string, std::vector<std::string>> events;
  for (const auto& entry : fs::recursive_directory_iterator(folder_ / "logs"))
    if (entry.is_regular_file()) {
      EXPECT_THAT(entry.path().filename().string(), testing::StartsWith("events.out.tfevents."));
      auto& found = events[entry.path().parent_path().filename().string()];
      EXPECT_TRUE(found.empty()) << "two files in " << entry.path().parent_path();
      found = records(read(entry.path()));
    }
  ASSERT_EQ(events.size(), 2u);
  const auto with = [&](const std::string& part, const std::string& text) {  // a tag stands behind its length
    const std::string tag = static_cast<char>(text.size()) + text;
    return std::count_if(events[part].begin(), events[part].end(),
                         [&](const std::string& event) { return event.find("\x0a" + tag) != std::string::npos; });
  };
  EXPECT_THAT(events["train"].at(0), HasSubstr("brain.Event:2"));
  EXPECT_THAT(events["validation"].at(0), HasSubstr("brain.Event:2"));
  for (const char* tag : {"epoch_loss", "epoch_accuracy"}) {
    EXPECT_EQ(with("train", tag), 3) << tag;
    EXPECT_EQ(with("validation", tag), 3) << tag;
  }
  EXPECT_EQ(with("train", "epoch_learning_rate"), 3);
  EXPECT_EQ(with("train", "epoch_seconds"), 3);
  std::size_t histograms = 0;
  for (const Parameter& p : fitted.trainer.parameters()) {
    const bool of_the_model = p.name().starts_with("dense_");
    histograms += of_the_model;
    EXPECT_EQ(with("train", p.name()), of_the_model ? 1 : 0) << p.name();
  }
  EXPECT_EQ(histograms, 4u);
  EXPECT_EQ(events["train"].size(), 1 + 3 * 4 + histograms);
  EXPECT_EQ(events["validation"].size(), 1u + 3 * 2);
  EXPECT_THAT(error_of([] { callback::TensorBoard("x", {.histograms_every = -1}); }), HasSubstr("must be 0 (none) or a number of epochs, got -1"));
  EXPECT_THAT(error_of([] { callback::TensorBoard(""); }), HasSubstr("the folder's name is empty"));
}

}  // namespace
}  // namespace sinter::test
