// Each rule of the IR violated once, by the text of the error.
#include "ir/verify.h"

#include <limits>

#include "tests/ir/expect_error.h"
#include "tests/ir/mlp_graph.h"

namespace sinter::ir::verify_test {
namespace {

const Dim n = Dim::batch();
using Kind = InputSpec::Kind;

struct VerifyTest : ::testing::Test {
  Graph graph{"g"};
  Value x = graph.add_input({"x", {DType::f32, {n, 3}}});
  Value y = graph.add_input({"y", {DType::f32, {n, 4}}});
};

TEST_F(VerifyTest, AcceptsAWholeStep) { verify(test::mlp_step()); }

TEST_F(VerifyTest, OperandsAreLive) {
  const Value dead = exp(x), a = exp(x), b = log(a);
  graph.add_output(b);
  graph.erase_dead();
  graph.replace_input(b.id, 0, dead.id);
  EXPECT_USER_ERROR(verify(graph), str("[g] node %", b.id, " (log): operand 0 is %", dead.id, ", which is dead"));
}

TEST_F(VerifyTest, NoCycles) {
  const Value a = exp(x), b = log(a);
  graph.add_output(b);
  graph.replace_input(a.id, 0, b.id);
  EXPECT_ERROR(verify(graph), InternalError, "[g] internal error: the graph has a cycle");
}

TEST_F(VerifyTest, TypesFollowTheShapeRule) {
  graph.set_current_origin({"layer", "m.cpp", 3});
  const Value a = exp(x), b = a + x;
  graph.add_output(a);
  graph.add_output(b);
  graph.replace_input(a.id, 0, y.id);
  EXPECT_USER_ERROR(verify(graph), str("[layer, m.cpp:3] node %", a.id, " (exp): has type f32[N,3] but its shape rule gives f32[N,4]"));
  graph.replace_input(a.id, 0, x.id);
  graph.replace_input(b.id, 1, y.id);
  EXPECT_USER_ERROR(verify(graph), str("[layer, m.cpp:3] node %", b.id, " (add): shapes [N,3] and [N,4] do not broadcast"));
}

TEST_F(VerifyTest, ConstantsAreExact) {
  for (const double value : {0.1, 1e300}) {
    Graph g("g");
    g.add(Constant{value, DType::f32}, {});
    EXPECT_USER_ERROR(verify(g), "[g] node %0 (constant): constant ");
  }
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  Graph g("g");
  g.add(Constant{nan, DType::f32}, {});
  verify(g);
  g.add(Constant{nan, DType::u8}, {});
  EXPECT_USER_ERROR(verify(g), "[g] node %1 (constant): constant nan is not exact in u8");
  graph.add(Constant{1.5, DType::i32}, {});
  EXPECT_USER_ERROR(verify(graph), "[g] node %2 (constant): constant 1.5 is not exact in i32");
}

TEST_F(VerifyTest, NoAttributeIsNaNButElements) {
  Clip clip;
  clip.low = std::numeric_limits<float>::quiet_NaN();
  verify(graph);
  (void)graph.add(Pad{.axis = 1, .before = 1, .after = 0, .value = std::numeric_limits<float>::quiet_NaN()}, {x});
  verify(graph);
  const Value a = graph.add(clip, {x});
  EXPECT_USER_ERROR(verify(graph), str("[g] node %", a.id, " (clip): attribute 'low' is NaN"));
}

TEST_F(VerifyTest, SaysWhichNodeBreaksARule) {
  graph.add_state({"x", {DType::f32, {}}});
  try {
    verify(graph);
    FAIL() << "the name is used twice";
  } catch (const NodeError& error) {
    EXPECT_EQ(error.node(), graph.state_node(0));
  }
}

TEST_F(VerifyTest, TakesAsManyUsersAsAFileMayHold) {
  constexpr std::size_t most = std::size_t{1} << 18;
  while (graph.size() < most) exp(x);  // quadratic work would take minutes
  graph.add_output(y);
  verify(graph);
  EXPECT_EQ(graph.erase_dead().size(), most - 2);
  verify(graph);
}

TEST_F(VerifyTest, TablesAreOnlyGathered) {
  const Value table = graph.add_input({"table", {DType::f32, {Dim::rows(), 3}}, Kind::table});
  const Value index = graph.add_input({"index", {DType::i32, {n}}});
  graph.add_output(graph.add(GatherRows{}, {table, index}));
  verify(graph);
  const Value a = exp(table);
  EXPECT_USER_ERROR(verify(graph), str("[g] node %", a.id, " (exp): reads a table (f32[R,3]); only gather_rows may, as its first operand"));
  graph.erase_dead();
  graph.add_output(table);
  EXPECT_USER_ERROR(verify(graph), str("[g] node %", table.id, " (input): a table cannot be an output"));
}

TEST_F(VerifyTest, InputsLeadAsDeclared) {
  const auto with = [](const Shape& shape, Kind kind) {
    Graph g("g");
    g.add_input({"in", {DType::f32, shape}, kind});
    return g;
  };
  verify(with({n, 3}, Kind::batch));
  verify(with({}, Kind::hidden));
  for (const auto& [shape, kind] : {std::pair(Shape{3}, Kind::batch),
                                    {Shape{3, n}, Kind::batch},
                                    {Shape{Dim::batch(2)}, Kind::batch},
                                    {Shape{n}, Kind::fixed},
                                    {Shape{n}, Kind::hidden},
                                    {Shape{4, 2}, Kind::table},
                                    {Shape{Dim::rows(), n}, Kind::table}})
    EXPECT_USER_ERROR(verify(with(shape, kind)),
                      str("[g] input 'in' is ", Type{DType::f32, shape}, "; batch inputs lead with N, tables with R, all others have neither"));
}

TEST_F(VerifyTest, NamesAreGivenOnce) {
  Graph a("g"), b("g");
  a.add_input({"x", {DType::f32, {n}}});
  a.add_state({"x", {DType::f32, {}}});
  EXPECT_USER_ERROR(verify(a), "[g] the name 'x' is used twice");
  b.add_state({"", {DType::f32, {}}});
  EXPECT_USER_ERROR(verify(b), "[g] an input or state has no name");
}

TEST_F(VerifyTest, OutputsExist) {
  graph.set_outputs({99});
  EXPECT_USER_ERROR(verify(graph), "[g] output %99 does not exist");
  const Value dead = exp(x);
  graph.set_outputs({});
  graph.erase_dead();
  graph.set_outputs({dead.id});
  EXPECT_USER_ERROR(verify(graph), str("[g] output %", dead.id, " does not exist"));
}

TEST_F(VerifyTest, UpdatesExist) {
  const Value state = graph.add_state({"s", {DType::f32, {2}}}), dead = exp(state);
  graph.erase_dead();
  graph.set_update(0, dead.id);
  EXPECT_USER_ERROR(verify(graph), "[g] the update of state 's' does not exist");
}

TEST_F(VerifyTest, OnlyScalarsAreInlined) {
  const Value a = exp(x);
  graph.add_output(a);
  graph.set_kernel(a.id, inlined);
  EXPECT_USER_ERROR(verify(graph), str("[g] node %", a.id, " (exp): is inlined but neither a recomputable scalar nor a row view"));
}

}  // namespace
}  // namespace sinter::ir::verify_test
