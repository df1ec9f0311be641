// The passes on loops over time.
#include "ir/differentiate.h"
#include "ir/scan.h"
#include "passes/pipeline.h"
#include "tests/ir/random_arrays.h"
#include "tests/passes/helpers.h"

namespace sinter::passes::scans_test {
namespace {

using ir::Value;

const Dim n = Dim::batch();

struct Loop {
  ir::Graph graph{"g"};
  Value h, x, w, last, stacked;
};

/// h ← tanh(x + h w), both results.
Loop loop() {
  Loop l;
  l.h = l.graph.add_input({"h", {DType::f32, {n, 3}}});
  l.x = l.graph.add_input({"x", {DType::f32, {n, 5, 3}}});
  l.w = l.graph.add_state({"w", {DType::f32, {3, 3}}, true});
  ir::Graph step("step");
  const auto input = [&](const char* name, const Shape& shape) { return step.add_input({name, {DType::f32, shape}, ir::InputSpec::Kind::hidden}); };
  const Value before = input("h", {n, 3}), element = input("x", {n, 3}), weight = input("w", {3, 3});
  const Value next = step.add(ir::Tanh{}, {element + matmul(before, weight)});
  const ir::ScanValues made = ir::add_scan(l.graph, {step, {l.h}, {l.x}, {l.w}, 5, false}, {{next.id}, {next.id}, {}});
  l.last = made.last[0];
  l.stacked = made.stacked[0];
  return l;
}

std::vector<const ir::Scan*> scans_in(const ir::Graph& graph) {
  std::vector<const ir::Scan*> scans;
  for (const ir::NodeId id : graph.topological_order())
    if (const auto* scan = std::get_if<ir::Scan>(&graph.node(id).op)) scans.push_back(scan);
  return scans;
}

test::Values values_of(std::int64_t samples) {
  test::Random random(3);
  return {{test::random_array(random, {DType::f32, {n, 3}}, samples), test::random_array(random, {DType::f32, {n, 5, 3}}, samples)},
          {test::random_array(random, {DType::f32, {3, 3}}, samples)}};
}

TEST(Scans, TheGradientsCopyBecomesOneWithTheLoop) {
  Loop l = loop();
  const Value loss = sum(square(l.last), 0, 2);
  l.graph.add_output(loss);
  l.graph.set_update(0, (l.w - ir::differentiate(loss, {&l.w, 1})[0] * 0.1).id);
  const auto before = test::results(l.graph, values_of(4), 4);
  EXPECT_EQ(scans_in(l.graph).size(), 3u);  // forward, again with what is kept, backward
  optimize(l.graph, test::reference_options());
  const auto scans = scans_in(l.graph);
  ASSERT_EQ(scans.size(), 2u) << ir::to_text(l.graph);
  EXPECT_FALSE(scans[0]->reverse);
  EXPECT_TRUE(scans[1]->reverse);
  EXPECT_EQ(scans[0]->result_count(), 3u);  // the last carry; the carries before each step and what tanh gave
  test::expect_equal(test::results(l.graph, values_of(4), 4), before);
}

TEST(Scans, ResultsAndOperandsThatNobodyReadsAreRemoved) {
  Loop l = loop();
  l.graph.add_output(l.last);
  optimize(l.graph, test::reference_options());
  const auto scans = scans_in(l.graph);
  ASSERT_EQ(scans.size(), 1u);
  EXPECT_EQ(scans[0]->result_count(), 1u) << "the stacked output is not read";
}

/// A carry that only itself depends on.
TEST(Scans, CarriesThatNobodyReadsAreRemoved) {
  ir::Graph graph("g");
  const Value h = graph.add_input({"h", {DType::f32, {n, 3}}}), x = graph.add_input({"x", {DType::f32, {n, 5, 3}}});
  ir::Graph step("step");
  const auto input = [&](const char* name) { return step.add_input({name, {DType::f32, {n, 3}}, ir::InputSpec::Kind::hidden}); };
  const Value a = input("a"), b = input("b"), c = input("c"), element = input("x");
  const Value next_a = a * element, next_b = b + element, next_c = c + b;
  const ir::ScanValues made = ir::add_scan(graph, {step, {h, h, h}, {x}, {}, 5, false}, {{next_a.id, next_b.id, next_c.id}, {}, {}});
  graph.add_output(made.last[2]);
  optimize(graph, test::reference_options());
  const auto scans = scans_in(graph);
  ASSERT_EQ(scans.size(), 1u);
  EXPECT_EQ(scans[0]->carries, 2) << "a only depends on itself";
}

TEST(Scans, LoopsOfOtherCarriesStayTwo) {
  ir::Graph graph("g");
  const Value h = graph.add_input({"h", {DType::f32, {n, 3}}}), x = graph.add_input({"x", {DType::f32, {n, 5, 3}}});
  for (const double factor : {0.5, 0.25}) {
    ir::Graph step("step");
    const auto input = [&](const char* name) { return step.add_input({name, {DType::f32, {n, 3}}, ir::InputSpec::Kind::hidden}); };
    const Value before = input("h"), element = input("x"), next = before * factor + element;
    graph.add_output(ir::add_scan(graph, {step, {h}, {x}, {}, 5, false}, {{next.id}, {}, {}}).last[0]);
  }
  optimize(graph, test::reference_options());
  EXPECT_EQ(scans_in(graph).size(), 2u);
}

/// Passes run on bodies: 0.5 · 2 is folded, and the nodes have kernel groups.
TEST(Scans, StepsAreOptimizedAndGrouped) {
  ir::Graph graph("g");
  const Value h = graph.add_input({"h", {DType::f32, {n, 3}}}), x = graph.add_input({"x", {DType::f32, {n, 5, 3}}});
  ir::Graph step("step");
  const auto input = [&](const char* name) { return step.add_input({name, {DType::f32, {n, 3}}, ir::InputSpec::Kind::hidden}); };
  const Value before = input("h"), element = input("x"), next = before * (ir::constant(step, 0.5) * 2) + element;
  graph.add_output(ir::add_scan(graph, {step, {h}, {x}, {}, 5, false}, {{next.id}, {}, {}}).last[0]);
  optimize(graph, test::reference_options());
  const auto scans = scans_in(graph);
  ASSERT_EQ(scans.size(), 1u);
  EXPECT_EQ(scans[0]->body.text(), "(f32[N,3], f32[N,3]) { %2 = add(%0, %1)@0 } -> %2");
}

}  // namespace
}  // namespace sinter::passes::scans_test
