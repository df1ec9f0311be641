// Graphs as bytes: every op's samples make the round trip, and whatever does not hold is refused by name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/print.h"
#include "ir/verify.h"
#include "runtime/file/graph.h"

namespace sinter::runtime {
namespace {

using testing::HasSubstr;

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

// ---- a Protobuf writer of a few lines, to write what serialize_graph never would ----
std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
  return bytes + static_cast<char>(value);
}
std::string field(int number, const std::string& payload) {
  return varint(static_cast<std::uint64_t>(number) << 3 | 2) + varint(payload.size()) + payload;
}
std::string numbers(std::initializer_list<std::uint64_t> values) {
  std::string bytes;
  for (const auto value : values) bytes += varint(value);
  return bytes;
}
std::string node(const std::string& op, std::initializer_list<std::uint64_t> operands, const std::string& rest = {}) {
  return field(3, field(1, op) + field(2, numbers(operands)) + rest);
}
std::string input(const std::string& name, const std::string& dtype, const std::string& shape, const std::string& kind) {
  return node("input", {}, field(7, field(1, name) + field(2, dtype) + field(3, shape) + field(4, kind)));
}
std::string state(const std::string& name, const std::string& shape) {
  return node("state", {}, field(8, field(1, name) + field(2, "f32") + field(3, shape)));
}

void expect_error(const std::string& bytes, const std::string& text) {
  try {
    parse_graph(bytes, "net.sinter");
    FAIL() << "expected: " << text;
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), HasSubstr("[net.sinter] "));
    EXPECT_THAT(error.what(), HasSubstr(text));
  }
}

TEST(GraphFile, RefusesWhatDoesNotHold) {
  const std::string x = input("x", "f32", "[N,3]", "batch"), name = field(1, "g");
  EXPECT_EQ(parse_graph(name + x + node("neg", {0}) + field(4, numbers({1})), "ok").graph.size(), 2u);
  expect_error(name + node("warp", {}), "node %0 (warp): [op] unknown op 'warp'; it needs a newer version of Sinter");
  expect_error(name + x + node("neg", {1}), "node %1 (neg): operand %1 does not come before it");
  expect_error(name + x + node("add", {0}), "node %1 (add): add: takes 2 operands, got 1");
  expect_error(name + x + node("neg", {0}, field(3, field(1, "alpha") + "\x10\x01")), "expected 0 attributes, got 1");
  expect_error(name + x + node("clip", {0}), "attribute 'low' is missing");
  const std::string low = field(3, field(1, "low") + field(5, "f32"));
  expect_error(name + x + node("clip", {0}, low + field(3, field(1, "high") + field(5, "f32"))), "attribute 'low' has the wrong type");
  expect_error(name + x + node("clip", {0}, low + low), "attribute 'low' is given twice");
  expect_error(name + x + node("neg", {0}, field(3, field(1, "low"))), "attribute 'low' has no value that this version knows");
  expect_error(name + x + node("neg", {0}, field(15, "new")), "it has a field that this version does not know; update Sinter");
  expect_error(name + input("x", "f64", "[N,3]", "batch"), "an element type is f32, i32, u32, u8 or bool, got 'f64'");
  expect_error(name + input("x", "f32", "[N,3", "batch"), "a shape is written [N,70], got '[N,3'");
  expect_error(name + input("x", "f32", "[N,-3]", "batch"), "a dimension is k, N, kN or R");
  expect_error(name + input("x", "f32", "[N,N]", "batch"), "at most one batch dimension a shape");
  expect_error(name + input("x", "f32", "[N,3]", "wild"), "an input is batch, fixed, table or hidden, got 'wild'");
  expect_error(name + input("x", "f32", "[3,N]", "batch"), "batch inputs lead with N");
  expect_error(name + input("x", "f32", "[N,9000000000,9000000000,9000000000]", "batch"), "too many elements");
  expect_error(name + input("x", "f32", "[N,9000000000,9000]", "batch"), "has more than 1099511627776 elements");
  expect_error(name + x + x, "the name 'x' is used twice");
  expect_error(name + state("w", "[N]") + field(5, numbers({0})), "a state cannot have a batch dimension");
  expect_error(name + node("state", {}), "the op and its declaration do not match");
  expect_error(name + x + node("input", {0}, field(7, field(1, "y") + field(2, "f32") + field(3, "[N]") + field(4, "batch"))),
               "a leaf has no operands");
  expect_error(name + x + node("neg", {0}, "\x48\x09"), "node %1 is the gradient of %8, which does not exist");
  expect_error(name + x + field(4, numbers({7})), "output %7 does not exist");
  expect_error(name + state("w", "[3]"), "there are 0 updates for 1 states");
  expect_error(name + state("w", "[3]") + field(5, numbers({9})), "the update %8 of state 'w' does not exist");
  expect_error(name + state("w", "[3]") + state("v", "[4]") + field(5, numbers({2, 0})), "cannot assign f32[4] to 'w', which is f32[3]");
  expect_error(name + state("w", "[3]") + field(5, numbers({0, 0})), "field 5 holds more than 1 numbers");
}

TEST(GraphFile, RefusesBrokenEncodings) {
  const std::string name = field(1, "g");
  expect_error("\x08\x01", "the field at byte 0 has no valid tag");
  expect_error(name + "\x1a\xff\xff\xff\xff\x0f", "field 3 at byte 3 says that it has 4294967295 bytes, but 0 are left");
  expect_error(name + field(9, "?"), "field 9 of a graph is unknown");
  expect_error(field(3, "") + name, "node %0 (): [op] unknown op ''");
  expect_error(field(2, "p") + name, "field 1 at byte 3 comes after field 2");
  expect_error(name + field(3, "\x0a\x7f"), "node %0 is no valid message");
  expect_error(name + field(4, "\x80"), "field 4 holds no 32-bit number before its byte 1");
  expect_error(name + field(4, varint(std::uint64_t{1} << 40)), "field 4 holds no 32-bit number before its byte 6");
  expect_error(name + node("neg", {}, field(4, std::string(max_record_bytes, 'x'))), "bytes, more than 65536");
  expect_error(std::string(max_message_bytes + 1, 'x'), "a graph takes at most 16777216 bytes in a file, got 16777217");
}

TEST(GraphFile, EveryTruncationAndEveryChangedBitIsAnErrorOrAGraph) {
  const std::string bytes = serialize_graph(small_graph(), {"group"});
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

TEST(GraphFile, TheWriterKeepsTheLimits) {
  ir::Graph graph;
  graph.add_input({std::string(max_record_bytes, 'x'), {DType::f32, {Dim::batch()}}});
  EXPECT_THROW(serialize_graph(graph), UserError);
}

}  // namespace
}  // namespace sinter::runtime
