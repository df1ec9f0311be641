// Drawings of graphs: where boxes and edges go, and what is written on them.
#include <algorithm>
#include <set>

#include "frontend/report/graph_boxes.h"
#include "frontend/report/graph_drawing.h"
#include "frontend/report/layers.h"
#include "ir/scan.h"
#include "passes/pipeline.h"
#include "tests/frontend/report_helpers.h"
#include "tests/ir/mlp_graph.h"

namespace sinter::test::graph_drawing_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(Layering, EdgesGoDownAndCrossNoBox) {
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

TEST(Layering, LongAndCircularEdgesBecomeStubs) {
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

TEST(Drawing, ALoopOverTimeIsABoxWithItsSteps) {
  ir::Graph step("step");
  const ir::Value h = step.add_input({"h", {DType::f32, {Dim::batch(), 3}}, ir::InputSpec::Kind::hidden});
  const ir::Value x = step.add_input({"x", {DType::f32, {Dim::batch(), 3}}, ir::InputSpec::Kind::hidden});
  step.add_output(step.add(ir::Tanh{}, {h * 2.0 + x}));
  ir::Graph graph("g");
  const ir::Value carry = graph.add_input({"h", {DType::f32, {Dim::batch(), 3}}}), xs = graph.add_input({"x", {DType::f32, {Dim::batch(), 7, 3}}});
  graph.add_output(ir::scan_result(graph.add(ir::Scan{ir::Body(step), 1, 1, 7, true}, {carry, xs}), 0));
  passes::optimize(graph);
  const std::vector<report::GraphBox> boxes = report::graph_boxes(graph);
  const auto loop =
      std::find_if(boxes.begin(), boxes.end(), [](const report::GraphBox& box) { return !box.ops.empty() && box.ops[0].text == "scan"; });
  ASSERT_NE(loop, boxes.end());
  std::vector<std::string> ops;
  for (const report::BoxMark& mark : loop->ops) ops.push_back(mark.text);
  EXPECT_THAT(ops, testing::ElementsAre("scan", "{", "mul", "add", "tanh", "}"));
  EXPECT_EQ(loop->ops[1].tip, "for each of 7 steps, from the last to the first");
  EXPECT_THAT(loop->ops.back().tip, testing::StartsWith("the end of a step"));
  EXPECT_THAT(report::draw(graph), HasSubstr("each step: "));
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

}  // namespace
}  // namespace sinter::test::graph_drawing_test
