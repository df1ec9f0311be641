// Graphs as bytes: every op's samples make the round trip. What is refused: file_faults_test.cpp.
#include <gtest/gtest.h>

#include "ir/print.h"
#include "ir/scan.h"
#include "ir/verify.h"
#include "runtime/file/graph.h"
#include "tests/ir/expect_error.h"

namespace sinter::runtime::file_graph_test {
namespace {

/// An input of any type: where N does not lead, an input that it leads is reshaped.
ir::Value add_operand(ir::Graph& graph, const Type& type, const std::string& name) {
  using Kind = ir::InputSpec::Kind;
  const Shape& shape = type.shape;
  if (shape.is_fixed()) return graph.add_input({name, type, Kind::fixed});
  if (shape[0].is_rows()) return graph.add_input({name, type, Kind::table});
  if (shape[0] == Dim::batch()) return graph.add_input({name, type, Kind::batch});
  return reshape(graph.add_input({name, {type.dtype, {Dim::batch(), shape.elements().factor()}}, Kind::batch}), shape);
}

void expect_round_trip(const ir::Graph& graph) {
  ir::verify(graph);
  const std::string bytes = serialize_graph(graph, {"fold_bias", "group"});
  const ParsedGraph parsed = parse_graph(bytes, "test");
  EXPECT_EQ(ir::to_text(parsed.graph), ir::to_text(graph));
  EXPECT_EQ(parsed.passes, (std::vector<std::string>{"fold_bias", "group"}));
  EXPECT_EQ(serialize_graph(parsed.graph, parsed.passes), bytes);
}

TEST(GraphFile, EveryOpMakesTheRoundTrip) {
  ir::for_each_op([]<class O>(O) {
    if constexpr (!ir::IsLeaf<O>) {
      for (const auto& sample : O::samples()) {
        SCOPED_TRACE(O::name);
        ir::Graph graph("sample");
        std::vector<ir::NodeId> operands;
        for (const ir::SampleInput& input : sample.inputs) operands.push_back(add_operand(graph, input.type, str("x", operands.size())).id);
        graph.add_output(graph.add(sample.op, operands, {"layer_1", "sample.cpp", 7}));
        expect_round_trip(graph);
      }
    }
  });
}

/// y = x w; w <- w - rate, with every kind of input and two states that exchange their values.
ir::Graph small_graph() {
  using Kind = ir::InputSpec::Kind;
  ir::Graph graph("step");
  const ir::Value x = graph.add_input({"x", {DType::f32, {Dim::batch(), 3}}, Kind::batch});
  const ir::Value w = graph.add_state({"w", {DType::f32, {3, 2}}, true});
  const ir::Value rate = graph.add_input({"rate", {DType::f32, {}}, Kind::fixed});
  graph.add_input({"table", {DType::f32, {Dim::rows(), 3}}, Kind::table});
  graph.add_input({"captured", {DType::i32, {4}}, Kind::hidden});
  const ir::Value a = graph.add_state({"a", {DType::u32, {}}}), b = graph.add_state({"b", {DType::u32, {}}});
  const ir::OriginScope scope(graph, {"dense_1", "mlp.cpp", 14});
  graph.add_output(matmul(x, w));
  graph.add_output(x);
  graph.set_update(0, (w - rate * 0.1).id);
  graph.set_update(1, b.id);
  graph.set_update(2, a.id);
  return graph;
}

TEST(GraphFile, StatesInputsAndOriginsAreKept) {
  const ir::Graph graph = small_graph();
  expect_round_trip(graph);
  const ir::Graph read = parse_graph(serialize_graph(graph), "test").graph;
  ASSERT_EQ(read.inputs().size(), 4u);
  EXPECT_EQ(read.inputs()[3].kind, ir::InputSpec::Kind::hidden);
  EXPECT_EQ(read.inputs()[2].type, graph.inputs()[2].type);
  ASSERT_EQ(read.states().size(), 3u);
  EXPECT_TRUE(read.states()[0].trainable);
  EXPECT_FALSE(read.states()[1].trainable);
  EXPECT_EQ(read.node(read.outputs()[0]).origin, (Origin{"dense_1", "mlp.cpp", 14}));
  EXPECT_EQ(read.updates()[1], read.state_node(2));
}

TEST(GraphFile, GradientsKnowTheirValue) {
  ir::Graph graph = small_graph();
  const ir::NodeId product = graph.outputs()[0];
  graph.set_gradient_of(graph.updates()[0], product);
  graph.set_gradient_of(graph.input_node(0), product);  // also where the value comes later
  const ir::Graph read = parse_graph(serialize_graph(graph), "test").graph;
  EXPECT_EQ(read.node(read.updates()[0]).gradient_of, read.outputs()[0]);
  EXPECT_EQ(read.node(read.input_node(0)).gradient_of, read.outputs()[0]);
  EXPECT_EQ(read.node(read.outputs()[0]).gradient_of, ir::no_node);
}

TEST(GraphFile, DeadNodesAreLeftOut) {
  ir::Graph graph = small_graph();
  (void)exp(graph.value(0));
  graph.erase_dead();
  EXPECT_EQ(parse_graph(serialize_graph(graph), "test").graph.size() + 1, graph.size());
  EXPECT_EQ(ir::to_text(parse_graph(serialize_graph(graph), "test").graph), ir::to_text(small_graph()));
}

TEST(GraphFile, AStateWithoutUpdateStaysSo) {
  ir::Graph graph;
  graph.add_output(graph.add_state({"w", {DType::f32, {2}}, true}));
  EXPECT_EQ(parse_graph(serialize_graph(graph), "test").graph.updates()[0], ir::no_node);
}

/// h ← h w + x over a sequence, and inside of that a loop of its own.
ir::Graph graph_with_a_scan() {
  using Kind = ir::InputSpec::Kind;
  const Dim n = Dim::batch();
  const auto body = [&](bool nested) {
    ir::Graph step("step");
    const ir::Value h = step.add_input({"h", {DType::f32, {n, 3}}, Kind::hidden}), x = step.add_input({"x", {DType::f32, {n, 3}}, Kind::hidden}),
                    w = step.add_input({"w", {DType::f32, {3, 3}}, Kind::hidden});
    ir::Value next = matmul(h, w) + x;
    if (nested) {
      ir::Graph inner("inner");
      const ir::Value c = inner.add_input({"c", {DType::f32, {n, 3}}, Kind::hidden}), e = inner.add_input({"e", {DType::f32, {n, 1}}, Kind::hidden});
      inner.add_output(c * 0.5 + e);
      next = ir::scan_result(step.add(ir::Scan{ir::Body(inner), 1, 1, 3, true}, {next, reshape(x, {n, 3, 1})}), 0);
    }
    step.add_output(next);
    step.add_output(next * 2);
    return ir::Body(step);
  };
  ir::Graph graph("g");
  const ir::Value h = graph.add_input({"h", {DType::f32, {n, 3}}, Kind::batch}),
                  x = graph.add_input({"x", {DType::f32, {n, Dim::length(), 3}}, Kind::batch}),
                  w = graph.add_state({"w", {DType::f32, {3, 3}}, true});
  for (const bool nested : {false, true}) {
    const ir::Value scan = graph.add(ir::Scan{body(nested), 1, 1, Dim::length(), nested}, {h, x, w});
    graph.add_output(ir::scan_result(scan, 0));
    graph.add_output(ir::scan_result(scan, 1));
  }
  return graph;
}

TEST(GraphFile, ScansMakeTheRoundTrip) { expect_round_trip(graph_with_a_scan()); }

TEST(GraphFile, BodiesThatBreakARuleAreNamed) {
  const auto field = [](int number, const std::string& bytes) {
    std::string result(1, static_cast<char>(number << 3 | 2));
    for (std::size_t size = bytes.size(); true; size >>= 7) {
      result += static_cast<char>((size & 0x7f) | (size > 0x7f ? 0x80 : 0));
      if (size <= 0x7f) break;
    }
    return result + bytes;
  };
  const auto scan_of = [&](const std::string& body) { return field(3, field(1, "scan") + field(3, field(1, "body") + field(8, body))); };
  std::string nested;
  for (int depth = 0; depth < 6; ++depth) nested = scan_of(nested);
  EXPECT_THAT([&] { parse_graph(nested, "test"); }, ::testing::ThrowsMessage<UserError>(::testing::HasSubstr("bodies are nested more than 4 deep")));
  // An operand that comes later, as in a circle.
  const std::string circle = field(3, field(1, "neg") + "\x12\x01\x01") + field(3, field(1, "neg") + std::string("\x12\x01\x00", 3));
  EXPECT_USER_ERROR(parse_graph(scan_of(circle), "test"),
                    "[test] node %0, at byte 0 (scan): in its body: node %0, at byte 0 (neg): operand %1 does not come before it");
}

TEST(GraphFile, EveryTruncationAndEveryChangedBitIsAnErrorOrAGraph) {
  for (const std::string& bytes : {serialize_graph(small_graph(), {"group"}), serialize_graph(graph_with_a_scan())}) {
    const auto try_parse = [](const std::string& changed) {
      try {
        ir::verify(parse_graph(changed, "test").graph);
      } catch (const UserError&) {
      }
    };
    for (std::size_t size = 0; size < bytes.size(); ++size) try_parse(bytes.substr(0, size));
    for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
      std::string changed = bytes;
      changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << bit % 8));
      try_parse(changed);
    }
  }
}

TEST(GraphFile, TheWriterKeepsTheLimits) {
  const auto named = [](std::size_t size) {
    ir::Graph graph("wide");
    graph.add_input({std::string(size, 'x'), {DType::f32, {Dim::batch()}}});
    return graph;
  };
  const ir::Graph small = named(1);
  EXPECT_USER_ERROR(serialize_graph(small, std::vector<std::string>(max_passes + 1, "p")),
                    str("[wide] a graph in a file has at most ", max_passes, " passes, got ", max_passes + 1));
  EXPECT_THAT([&] { serialize_graph(named(max_record_bytes)); },
              ::testing::ThrowsMessage<UserError>(::testing::HasSubstr(str("bytes in a file, more than ", max_record_bytes, "; use shorter names"))));
  ir::Graph step("step"), wide("wide");
  const ir::Value element = step.add_input({"x", {DType::f32, {Dim::batch(), 3}}, ir::InputSpec::Kind::hidden});
  ir::Value sum = element;
  for (int i = 0; i < 200'000; ++i) sum = sum + element;
  step.add_output(sum);
  wide.add_output(ir::scan_result(
      wide.add(ir::Scan{ir::Body(step), 0, 1, 5, false}, {wide.add_input({"x", {DType::f32, {Dim::batch(), 5, 3}}, ir::InputSpec::Kind::batch})}),
      0));
  EXPECT_THAT(
      [&] { serialize_graph(wide); },
      ::testing::ThrowsMessage<UserError>(::testing::HasSubstr(str(" bytes in a file, more than ", max_body_bytes, "; make its step smaller"))));
  EXPECT_USER_ERROR(serialize_graph(small, {std::string(max_message_bytes, 'p')}),
                    str("[wide] a graph takes at most ", max_message_bytes, " bytes in a file, got "));
  ir::Graph many("many");
  for (std::uint64_t i = 0; i <= max_nodes; ++i) many.add(ir::Constant{1}, {});
  EXPECT_USER_ERROR(serialize_graph(many), str("[many] a graph in a file has at most ", max_nodes, " nodes, got ", max_nodes + 1));
  EXPECT_USER_ERROR(parse_graph(std::string(max_message_bytes + 1, 'x'), "file"), str("[file] a graph takes at most ", max_message_bytes, " bytes"));
}

}  // namespace
}  // namespace sinter::runtime::file_graph_test
