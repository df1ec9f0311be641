// Random programs: what they are made of, that all paths agree on them, and that the comparison sees what is wrong.
#include <cstdlib>
#include <map>

#include "fuzz/program/choices.h"
#include "fuzz/program/compare.h"
#include "fuzz/program/patterns.h"
#include "ir/print.h"
#include "tests/frontend/helpers.h"

namespace sinter::fuzz::program_test {
namespace {

Program program_of_seed(std::uint64_t seed) { return make_program(bytes_of_seed(seed)); }

TEST(RandomPrograms, HaveEveryOpAndEveryKindOfShape) {
  std::map<std::string_view, int> count;
  ir::for_each_op([&]<class O>(O) { count[O::name] = 0; });
  std::map<std::string, int> forms;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    const Program program = program_of_seed(seed);
    const ir::Graph& graph = program.graph;
    for (const ir::NodeId id : graph.topological_order()) {
      const ir::Node& node = graph.node(id);
      ++count[ir::name(node.op)];
      const Shape& shape = node.type.shape;
      for (std::size_t axis = 0; axis < shape.rank(); ++axis) {
        if (shape[axis].is_rows()) ++forms["table"];
        if (!shape[axis].is_batch()) continue;
        ++forms[axis == 0 ? "leads with N" : axis + 1 == shape.rank() ? "ends with N" : "N in between"];
        if (shape[axis].factor() > 1) ++forms["k*N"];
      }
      ++forms[str(node.type.dtype)];
      if (shape.rank() == 0) ++forms["scalar"];
    }
    for (const ir::InputSpec& input : graph.inputs()) ++forms[str("input of kind ", static_cast<int>(input.kind))];
    for (const ir::NodeId update : graph.updates()) ++forms[update == ir::no_node ? "state kept" : "state updated"];
    ++forms[program.gradients.empty() ? "without gradients" : "with gradients"];
    for (const Binding& binding : program.bindings) ++forms[binding.sizes.n == 1 ? "N = 1" : binding.sizes.n % 8 ? "ragged N" : "whole N"];
  }
  for (const auto& [name, times] : count) EXPECT_GE(times, 10) << name << " is hardly ever generated";
  for (const char* form : {"table",
                           "leads with N",
                           "ends with N",
                           "N in between",
                           "k*N",
                           "f32",
                           "i32",
                           "u32",
                           "u8",
                           "bool",
                           "scalar",
                           "input of kind 0",
                           "input of kind 1",
                           "input of kind 2",
                           "input of kind 3",
                           "state kept",
                           "state updated",
                           "without gradients",
                           "with gradients",
                           "N = 1",
                           "ragged N",
                           "whole N"})
    EXPECT_GE(forms[form], 20) << form;
}

TEST(RandomPrograms, ReachAllThatPassesAndKernelsRecognise) {
  NEEDS_CODEGEN();
  std::map<std::string_view, int> count;
  for (std::uint64_t seed = 0; seed < 1000; ++seed)
    for (const std::string_view name : patterns_of(program_of_seed(seed))) ++count[name];
  // What a seed means depends on the compiler, which evaluates arguments in its own order.
  for (const std::string_view name : pattern_names()) EXPECT_GE(count[name], 5) << name << " is hardly ever reached";
}

TEST(RandomPrograms, AreTheSameFromTheSameBytes) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) EXPECT_EQ(to_text(program_of_seed(seed)), to_text(program_of_seed(seed)));
  const std::vector<std::uint8_t> none;
  EXPECT_FALSE(to_text(make_program(none)).empty()) << "no bytes are a program too";
}

/// SINTER_FUZZ_PROGRAMS graphs in all, else 240, in parts that run side by side.
class Agreement : public ::testing::TestWithParam<std::uint64_t> {};
constexpr std::uint64_t parts = 8;

TEST_P(Agreement, OfAllPaths) {
  const test::Environment no_cache("SINTER_CACHE", "off");
  const char* asked = std::getenv("SINTER_FUZZ_PROGRAMS");
  const std::uint64_t count = asked ? std::stoull(asked) : 240;
  Comparison total;
  for (std::uint64_t seed = GetParam(); seed < count; seed += parts) try {
      total += compare(program_of_seed(seed));
    } catch (const std::exception& error) {
      ADD_FAILURE() << "seed " << seed << ": " << error.what() << "\nagain: sinter_fuzz_replay programs --seeds " << seed << " 1";
    }
  EXPECT_GT(total.nodes, 10 * count / parts);
  EXPECT_GT(total.slopes, total.kinks) << "most losses are smooth where they are";
}
INSTANTIATE_TEST_SUITE_P(RandomPrograms, Agreement, ::testing::Range(std::uint64_t{0}, parts));

/// sum((sigmoid(x w))²), its gradient and a step.
Program small_program() {
  Program program;
  ir::Graph& graph = program.graph;
  const ir::Value x = graph.add_input({"x", {DType::f32, {Dim::batch(), 3}}}), w = graph.add_state({"w", {DType::f32, {3, 2}}, true});
  const ir::Value y = graph.add(ir::Sigmoid{}, {matmul(x, w)}), loss = sum(square(y), 0, 2), twice = y * (1.0 - y) * (2.0 * y);
  const ir::Value gradient = matmul(x, twice, true, false);
  graph.add_output(loss);
  graph.set_update(0, (w - gradient * 0.125).id);
  program.loss = loss.id;
  program.gradients = {{w.id, gradient.id}};
  for (const std::int64_t n : {1, 3}) {
    Binding binding{n, {{DType::f32, {n, 3}}}, {{DType::f32, {3, 2}}}};
    for (std::size_t i = 0; i < binding.inputs[0].data.size(); ++i) binding.inputs[0].data[i] = 0.25 * static_cast<double>(i % 5) - 0.5;
    for (std::size_t i = 0; i < binding.states[0].data.size(); ++i) binding.states[0].data[i] = 0.5 - 0.25 * static_cast<double>(i % 3);
    program.bindings.push_back(std::move(binding));
  }
  return program;
}

std::string disagreement_of(const Program& program) {
  const test::Environment no_cache("SINTER_CACHE", "off");
  try {
    (void)compare(program);
  } catch (const Disagreement& found) {
    return found.what();
  }
  return "";
}

TEST(Comparison, AcceptsWhatIsRight) {
  const Comparison result = compare(small_program());
  EXPECT_EQ(result.slopes, 3u);
  EXPECT_EQ(result.kinks, 0u);
}

/// Graphs that were once computed wrongly.
TEST(Comparison, AcceptsWhatWasOnceWrong) {
  const Dim n = Dim::batch();
  const auto expect_right = [](const ir::Graph& graph) {
    Program program;
    program.graph = graph;
    for (const std::int64_t size : {1, 5, 37}) {
      Binding binding{size, {}, {}};
      const auto array = [&](const Type& type) {
        ir::Array result(type.dtype, type.shape.extents(size));
        for (std::size_t i = 0; i < result.data.size(); ++i)
          result.data[i] = is_float(type.dtype) ? 0.25 * static_cast<double>(i % 7) - 0.5 : static_cast<double>(i % 2);
        return result;
      };
      for (const auto& input : graph.inputs()) binding.inputs.push_back(array(input.type));
      for (const auto& state : graph.states()) binding.states.push_back(array(state.type));
      program.bindings.push_back(std::move(binding));
    }
    EXPECT_EQ(disagreement_of(program), "") << to_text(program);
  };
  ir::Graph pad("a vector over the batch between others");
  pad.add_output(pad.add(ir::Pad{0, n, Dim::batch(2), -0.5}, {pad.add_input({"x", {DType::f32, {n}}})}));
  expect_right(pad);
  ir::Graph softmax("rows of a parameter in several chunks");
  softmax.add_output(softmax.add(ir::Softmax{}, {softmax.add_state({"w", {DType::f32, {64, 70}}})}));
  expect_right(softmax);
  ir::Graph scatter("a computed index of the shape of the updates");
  const ir::Value index = scatter.add_input({"index", {DType::i32, {n}}}), x = scatter.add_input({"x", {DType::f32, {n}}});
  scatter.add_output(scatter.add(ir::ScatterAddRows{3}, {index + index, x * 2.0}));
  expect_right(scatter);
}

TEST(Comparison, FindsAWrongGradient) {
  Program program = small_program();
  ir::Graph& graph = program.graph;
  program.gradients[0].gradient = (graph.value(program.gradients[0].gradient) * 1.001).id;
  EXPECT_THAT(disagreement_of(program), ::testing::HasSubstr("at N = 3, T = 1: the gradient"));
}

TEST(Comparison, FindsAGradientThatStopsWhereItShouldNot) {
  Program program = small_program();
  program.gradients[0].gradient = (program.graph.value(program.gradients[0].gradient) * 0.0).id;
  EXPECT_THAT(disagreement_of(program), ::testing::HasSubstr("is 0, differences of the loss say"));
}

/// The sum of f(x), at x = 0, with a gradient of 0.
Program at_zero(const std::function<ir::Value(ir::Graph&, ir::Value)>& f) {
  Program program;
  ir::Graph& graph = program.graph;
  const ir::Value x = graph.add_input({"x", {DType::f32, {Dim::batch()}}}), loss = sum(f(graph, x), 0, 1);
  program.loss = loss.id;
  program.gradients = {{x.id, broadcast(constant(graph, 0), x.shape()).id}};
  for (const ir::NodeId id : {program.loss, program.gradients[0].gradient}) graph.add_output(graph.value(id));
  for (const std::int64_t n : {1, 4}) program.bindings.push_back({n, {{DType::f32, {n}}}, {}});
  return program;
}

TEST(Comparison, JudgesNoSlopeAtAKink) {
  const Comparison result = compare(at_zero([](ir::Graph& graph, ir::Value x) { return graph.add(ir::Relu{}, {x}); }));
  EXPECT_EQ(result.slopes, 0u);
  EXPECT_EQ(result.kinks, 3u);
}

TEST(Comparison, JudgesNoSlopeWhereKinksCancel) {
  const Comparison result = compare(
      at_zero([](ir::Graph& graph, ir::Value x) { return graph.add(ir::Minimum{}, {x, graph.add(ir::Log1p{}, {graph.add(ir::Relu{}, {x})})}); }));
  EXPECT_EQ(result.slopes, 0u);
  EXPECT_EQ(result.kinks, 3u);
}

TEST(Comparison, FindsAFaultyKernelAndPrintsTheGraph) {
  NEEDS_CODEGEN();
  const test::Environment fault("SINTER_FAULT", "%2");
  EXPECT_THAT(disagreement_of(small_program()),
              ::testing::AllOf(::testing::HasSubstr("at N = 1, T = 1: verify:"), ::testing::HasSubstr("[kernels] %2 = square"),
                               ::testing::HasSubstr("should be"), ::testing::HasSubstr("graph program(x: f32[N,3])")));
}

}  // namespace
}  // namespace sinter::fuzz::program_test
