// The whole pipeline on the MLP training step, and what its options do.
#include <filesystem>

#include "ir/cost.h"
#include "ir/kernel.h"
#include "tests/ir/expect_error.h"
#include "tests/passes/helpers.h"
#include "tests/support/bytes.h"

namespace sinter::test::pipeline_test {
namespace {

using namespace ir;
using ::testing::Contains;
using ::testing::HasSubstr;

/// Live nodes of the op, in order.
template <class O>
std::vector<NodeId> nodes(const Graph& graph) {
  std::vector<NodeId> found;
  for (const NodeId id : graph.topological_order())
    if (std::holds_alternative<O>(graph.node(id).op)) found.push_back(id);
  return found;
}

std::vector<std::string> notes_of(const std::vector<passes::PassReport>& reports, std::string_view pass) {
  for (const auto& report : reports)
    if (report.name == pass) return report.notes;
  return {};
}

TEST(Pipeline, MlpStepKeepsItsNumbers) {
  Graph graph = mlp_step();
  const Values values = random_values(graph, 3, 21, -0.2, 0.2);
  const auto before = results(graph, values, 3);
  passes::optimize(graph, reference_options());
  expect_equal(results(graph, values, 3), before);
}

TEST(Pipeline, MlpStepIsWhatTheDesignPromises) {
  Graph graph = mlp_step();
  const auto reports = passes::optimize(graph, reference_options(500));
  EXPECT_THAT(notes_of(reports, "dead_gradients"), Contains("removed 1 gradient of input x: 54,880,000 flops per step at N = 500"));
  EXPECT_THAT(notes_of(reports, "fold_bias"), ::testing::ElementsAre("folded 3 biases"));
  EXPECT_THAT(notes_of(reports, "group"), ::testing::ElementsAre(HasSubstr("dense+sigmoid ×3")));

  const auto kernel = [&](NodeId id) { return graph.node(id).kernel; };
  // Forward: each layer is one kernel.
  ASSERT_EQ(nodes<Dense>(graph).size(), 3u);
  for (const NodeId dense : nodes<Dense>(graph)) {
    ASSERT_EQ(graph.node(dense).users.size(), 1u);
    EXPECT_TRUE(std::holds_alternative<Sigmoid>(graph.node(graph.node(dense).users[0]).op));
    EXPECT_EQ(kernel(graph.node(dense).users[0]), kernel(dense));
  }
  // Backward: dz·W^T, twice, together with all of the sigmoid's derivative.
  std::size_t backward = 0;
  for (const NodeId product : nodes<Matmul>(graph)) {
    if (!std::get<Matmul>(graph.node(product).op).transpose_b) continue;
    ++backward;
    ASSERT_EQ(graph.node(product).users.size(), 1u);
    const NodeId dz = graph.node(product).users[0], derivative = graph.node(dz).inputs[1], slope = graph.node(derivative).inputs[1];
    for (const NodeId id : {dz, derivative, slope}) EXPECT_EQ(kernel(id), kernel(product));
  }
  EXPECT_EQ(backward, 2u);
  // Updates: w' and v' in the kernel of the product, or of the column sum, that makes their gradient.
  for (std::size_t state = 0; state + 1 < graph.states().size(); state += 2) {
    const NodeId w = graph.updates()[state], v = graph.updates()[state + 1];
    EXPECT_EQ(kernel(w), kernel(v));
    std::size_t anchors = 0;
    for (const NodeId id : graph.topological_order()) {
      if (kernel(id) != kernel(w) || !is_anchor(graph.node(id).op)) continue;
      ++anchors;
      const bool weight = graph.states()[state].type.shape.rank() == 2;
      EXPECT_EQ(name(graph.node(id).op), weight ? "matmul" : "sum");
    }
    EXPECT_EQ(anchors, 1u) << graph.states()[state].name;
  }
  passes::verify_groups(graph);
}

TEST(Pipeline, AnotherSettingIsNoOtherResult) {
  Graph a = mlp_step({6, 5, 4, 3}), b = mlp_step({6, 5, 4, 3});
  auto options = reference_options(64);
  passes::optimize(a, options);
  options.verify = false;
  passes::optimize(b, options);
  EXPECT_EQ(to_text(a), to_text(b));
}

TEST(Pipeline, OptimizingTwiceChangesNothing) {
  Graph graph = mlp_step({6, 5, 4, 3});
  passes::optimize(graph, reference_options());
  const std::string once = to_text(graph);
  passes::optimize(graph, reference_options());
  EXPECT_EQ(to_text(graph), once);
}

TEST(Pipeline, WithoutAnEvaluatorConstantsStay) {
  Graph graph("g");
  graph.add_output(constant(graph, 2) * 3.0);
  const auto reports = passes::optimize(graph);
  EXPECT_THAT(text(graph), HasSubstr("mul("));
  EXPECT_EQ(reports.size(), passes::pass_names().size());
}

TEST(Pipeline, StopsAfterTheNamedPass) {
  Graph graph = mlp_step({6, 5, 4, 3});
  auto options = reference_options();
  options.stop_after = "simplify";
  bool is_behind = false;
  for (const passes::PassReport& report : passes::optimize(graph, options)) {
    EXPECT_EQ(report.is_off, is_behind && report.name != "split_concat") << report.name;
    is_behind |= report.name == "simplify";
  }
  passes::verify_groups(graph);
  EXPECT_TRUE(nodes<Dense>(graph).empty());
  options.stop_after = "simplfy";
  EXPECT_USER_ERROR(passes::optimize(graph, options), "[stop_after] there is no pass 'simplfy'; name one of dead_gradients, constant_fold, ");
}

TEST(Pipeline, WithoutAPassTheNumbersAreTheSame) {
  for (const std::string& pass : passes::optional_pass_names()) {
    SCOPED_TRACE(pass);
    Graph graph = mlp_step({6, 5, 4, 3});
    const Values values = random_values(graph, 3, 21, -0.2, 0.2);
    const auto before = results(graph, values, 3);
    auto options = reference_options();
    options.without = {pass};
    for (const passes::PassReport& report : passes::optimize(graph, options)) EXPECT_EQ(report.is_off, report.name == pass);
    passes::verify_groups(graph);
    expect_equal(results(graph, values, 3), before);
  }
}

TEST(Pipeline, WithoutAPassWhatItSavesIsLeft) {
  const auto optimized = [](const std::string& pass) {
    Graph graph = mlp_step({6, 5, 4, 3});
    auto options = reference_options();
    if (!pass.empty()) options.without = {pass};
    passes::optimize(graph, options);
    return graph;
  };
  const Graph all = optimized("");
  EXPECT_EQ(nodes<Dense>(all).size(), 3u);
  EXPECT_TRUE(nodes<Dense>(optimized("fold_bias")).empty());
  EXPECT_EQ(nodes<Matmul>(optimized("dead_gradients")).size(), nodes<Matmul>(all).size() + 1);  // of the input
  const auto kernels = [](const Graph& graph) {
    std::int32_t count = 0;
    for (const NodeId id : graph.topological_order()) count = std::max(count, graph.node(id).kernel + 1);
    return count;
  };
  EXPECT_GT(kernels(optimized("group")), 2 * kernels(all));
}

TEST(Pipeline, NamesWhatCannotBeSwitchedOff) {
  Graph graph = mlp_step({6, 5, 4, 3});
  passes::PipelineOptions options;
  options.without = {"fold_bias", "fold_biases"};
  EXPECT_USER_ERROR(passes::optimize(graph, options), "[without] there is no pass 'fold_biases'; name one of dead_gradients, constant_fold, ");
  options.without = {"split_concat"};
  EXPECT_USER_ERROR(passes::optimize(graph, options), "[without] the code generator needs the pass 'split_concat'; it cannot be switched off");
}

TEST(Pipeline, ReportsEachPassToTheObserver) {
  Graph graph = mlp_step({6, 5, 4, 3});
  auto options = reference_options();
  std::vector<std::string> seen;
  options.observer = [&](const passes::PassReport& report, const Graph& now) {
    seen.push_back(report.name);
    EXPECT_EQ(&now, &graph);
    EXPECT_LE(report.nodes_after, report.nodes_before);
    EXPECT_GE(report.seconds, 0);
  };
  passes::optimize(graph, options);
  EXPECT_EQ(seen, passes::pass_names());
}

TEST(Pipeline, DumpsTextAndDot) {
  const std::filesystem::path folder = std::filesystem::path(::testing::TempDir()) / str("sinter_dump_", ::getpid());
  Graph graph = mlp_step({6, 5, 4, 3});
  auto options = reference_options();
  options.dump_folder = (folder / "deep").string();
  passes::optimize(graph, options);
  const auto names = passes::pass_names();
  for (std::size_t i = 0; i < names.size(); ++i)
    for (const char* ending : {".txt", ".dot"})
      EXPECT_TRUE(std::filesystem::exists(folder / "deep" / str(i < 9 ? "0" : "", i + 1, "-", names[i], ending)));
  EXPECT_EQ(test::read_bytes(folder / "deep" / str(passes::pass_names().size(), "-group.txt")), to_text(graph));
  test::write_bytes(folder / "file", "in the way");
  options.dump_folder = (folder / "file").string();
  EXPECT_USER_ERROR(passes::optimize(graph, options), "[dump] cannot ");
  std::filesystem::remove_all(folder);
}

TEST(Pipeline, RefusesABrokenGraph) {
  Graph graph("g");
  graph.set_outputs({99});
  EXPECT_USER_ERROR(passes::optimize(graph, reference_options()), "[g] output %99 does not exist");
}

TEST(Pipeline, LeavesAsResults) {
  Graph graph("g");
  const Value x = graph.add_input({"x", {DType::f32, {Dim::batch(), 2}}});
  const Value a = graph.add_state({"a", {DType::f32, {3}}}), b = graph.add_state({"b", {DType::f32, {3}}});
  graph.add_output(x);
  graph.add_output(constant(graph, 7));
  graph.set_update(0, b.id);
  graph.set_update(1, a.id);
  passes::optimize(graph, reference_options());
  passes::verify_groups(graph);
  EXPECT_GE(graph.node(graph.outputs()[1]).kernel, 0);
}

}  // namespace
}  // namespace sinter::test::pipeline_test
