// Which nodes share a kernel.
#include "ir/kernel.h"
#include "tests/ir/expect_error.h"
#include "tests/passes/helpers.h"

namespace sinter::test::group_test {
namespace {

using namespace ir;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
const Dim n = Dim::batch();

struct GroupTest : ::testing::Test {
  Graph graph{"g"};
  Value x = graph.add_input({"x", {DType::f32, {n, 8}}});
  Value w = graph.add_state({"w", {DType::f32, {8, 8}}});
  Value t = graph.add_state({"t", {DType::f32, {}}});
  std::vector<std::string> notes;

  void group() {
    notes = run(passes::group, graph).notes;
    passes::verify_groups(graph);
  }
  std::int32_t kernel(Value v) { return graph.node(v.id).kernel; }
};

TEST_F(GroupTest, EpilogueOfAProduct) {
  const Value z = matmul(x, w), y = graph.add(Sigmoid{}, {z}), scaled = y * t;
  graph.add_output(y);
  graph.add_output(scaled);
  group();
  EXPECT_EQ(kernel(y), kernel(z));
  EXPECT_EQ(kernel(scaled), kernel(z));
  EXPECT_THAT(notes, ElementsAre("1 kernel: matmul+sigmoid+mul"));
}

TEST_F(GroupTest, PrologueOfAReductionIfNothingElseReadsIt) {
  const Value s = square(x), total = sum(s, 1, 2);
  const Value e = exp(w), both = sum(e, 0, 2);
  graph.add_output(total);
  graph.add_output(both);
  graph.add_output(e);
  group();
  EXPECT_EQ(kernel(s), kernel(total));
  EXPECT_NE(kernel(e), kernel(both)) << "it is an output";
}

TEST_F(GroupTest, PrologueOfAMax) {
  const Value s = square(x), m = graph.add(Max{1, 2}, {s});
  graph.add_output(m);
  group();
  EXPECT_EQ(kernel(s), kernel(m));
}

TEST_F(GroupTest, OperandsOfOtherAnchorsStayOutside) {
  const Value s = square(x), p = graph.add(Softmax{}, {s});
  graph.add_output(p * 2.0);
  group();
  EXPECT_NE(kernel(s), kernel(p)) << "a softmax reads its operand more than once";
}

TEST_F(GroupTest, AnEmbeddingIsReducedWhileItIsGathered) {
  const Value table = graph.add_state({"table", {DType::f32, {256, 16}}}), ids = graph.add_input({"ids", {DType::u8, {Dim::batch(), 7}}});
  const Value rows = graph.add(GatherRows{}, {table, ids}), total = sum(rows * 0.5, 1, 2);
  graph.add_output(total);
  group();
  EXPECT_EQ(kernel(rows), kernel(total));
  passes::verify_groups(graph);
}

TEST_F(GroupTest, UpdatesAreSpreadWhileTheyAreScattered) {
  const Value ids = graph.add_input({"ids", {DType::u8, {Dim::batch(), 7}}});
  const Value spread = broadcast(reshape(x, {Dim::batch(), 1, 8}), {Dim::batch(), 7, 8}), scattered = graph.add(ScatterAddRows{256}, {ids, spread});
  graph.add_output(scattered);
  group();
  EXPECT_EQ(kernel(spread), kernel(scattered));
  passes::verify_groups(graph);
}

TEST_F(GroupTest, AnIndexOfTheShapeOfTheUpdatesIsStored) {
  const Value ids = graph.add_input({"ids", {DType::i32, {n}}}), updates = graph.add_input({"updates", {DType::f32, {n}}});
  const Value next = ids + ids, scaled = updates * 2.0, scattered = graph.add(ScatterAddRows{3}, {next, scaled});
  graph.add_output(scattered);
  group();
  EXPECT_NE(kernel(next), kernel(scattered));
  EXPECT_EQ(kernel(scaled), kernel(scattered));
}

TEST_F(GroupTest, PartsOfAValueAreReadWhereTheyAreUsed) {
  const Value z = matmul(x, w), a = graph.add(ir::Slice{1, 0, 4}, {z}), b = graph.add(ir::Slice{1, 4, 4}, {z}), y = graph.add(Sigmoid{}, {a}) * b;
  graph.add_output(y);
  group();
  EXPECT_NE(kernel(z), kernel(y));
  EXPECT_EQ(kernel(a), kernel(y));
  EXPECT_EQ(kernel(b), kernel(y));
}

TEST_F(GroupTest, OtherElementsOfAResultAreReadOnceItIsStored) {
  const Value e = exp(w), turned = graph.add(Transpose{}, {e});
  const Value both = e + turned;
  graph.add_output(both);
  graph.add_output(e);
  group();
  EXPECT_NE(kernel(turned), kernel(e));
  for (const Value v : {e, turned, both}) graph.set_kernel(v.id, 0);
  EXPECT_ERROR(passes::verify_groups(graph), InternalError,
               str("[group] internal error: node %", e.id, " (exp, kernel 0): a node of the group reads another's elements at other places"));
}

TEST_F(GroupTest, AnUpdateByOtherElementsOfTheStateIsNotMadeWhileTheyAreRead) {
  const Value turned = graph.add(Transpose{}, {w}), update = turned * 2.0;
  graph.set_update(0, update.id);
  graph.add_output(sum(x, 1, 2));
  group();
  EXPECT_NE(kernel(turned), kernel(update));
}

TEST_F(GroupTest, BackwardOfASigmoidRunsInTheKernelOfItsGradient) {
  const Value y = graph.add(Sigmoid{}, {matmul(x, w)}), next = graph.add(Sigmoid{}, {matmul(y, w)});
  const Value dy = matmul(next, w, false, true), slope = 1.0 - y, derivative = y * slope, dz = dy * derivative;
  graph.add_output(next);
  graph.add_output(dz);
  group();
  EXPECT_EQ(kernel(dz), kernel(dy));
  EXPECT_EQ(kernel(derivative), kernel(dy));
  EXPECT_EQ(kernel(slope), kernel(dy)) << "the forward kernel stores y alone";
  EXPECT_NE(kernel(y), kernel(dy));
}

TEST_F(GroupTest, WhatIsReadUnderAnotherShapeIsInMemory) {
  const Value v = graph.add_input({"v", {DType::f32, {n, 4, 16}}}), b = graph.add_input({"b", {DType::f32, {n, 16, 16}}});
  const Value u = graph.add_state({"u", {DType::f32, {16, 16}}}), zero = constant(graph, 0);
  const Value z = matmul(reshape(v, {Dim::batch(4), 16}), u), condition = less_equal(reshape(z, {n, 4, 16}), zero);
  const Value out = select(condition, zero, graph.add(BatchMatmul{}, {v, b}));
  graph.add_output(sum(z, 0, 1));
  graph.add_output(out);
  group();
  EXPECT_EQ(kernel(condition), kernel(out));
}

TEST_F(GroupTest, WhatIsNotInMemoryAnywayIsUsedWhereItIsMade) {
  const Value z = matmul(x, w), r = graph.add(Relu{}, {z}), out = matmul(x, w, false, true) + r;
  graph.add_output(out);
  group();
  EXPECT_EQ(kernel(r), kernel(z));
  EXPECT_NE(kernel(out), kernel(z));
}

TEST_F(GroupTest, NormsInTheWayLeaveTheUpdateUnfusedAndSaySo) {
  const Value z = matmul(x, w), g = matmul(x, z, true, false);
  const Value norm = sum(square(g), 0, 2), clipped = g / norm, next = w - clipped;
  graph.set_update(0, next.id);
  group();
  EXPECT_NE(kernel(next), kernel(g));
  EXPECT_EQ(kernel(next), kernel(clipped));
  ASSERT_EQ(notes.size(), 2u);
  EXPECT_THAT(notes[1], ::testing::MatchesRegex("update of w not fused with its gradient: it also waits for %[0-9]+ = sum"));
}

TEST_F(GroupTest, AProductThatReadsAStateDoesNotUpdateItInItsKernel) {
  const Value square_of_w = matmul(w, w), next = w - square_of_w;
  graph.set_update(0, next.id);
  group();
  EXPECT_NE(kernel(next), kernel(square_of_w));
  EXPECT_THAT(notes, ::testing::Contains("update of w not fused with its gradient: the product reads the value that the update overwrites"));
}

TEST_F(GroupTest, ReadersOfTheOldValueComeBeforeTheUpdate) {
  // g updates w at once, but the penalty needs g and the old w: in one kernel with g's update it could not run.
  const Value g = matmul(x, x, true, false), next = w - g, penalty = sum(matmul(g, w), 0, 2);
  graph.set_update(0, next.id);
  graph.add_output(penalty);
  group();
  EXPECT_NE(kernel(next), kernel(g));
}

TEST_F(GroupTest, ScalarsAreInlinedAndCountersOrderNoKernel) {
  const Value next = t + 1.0, rate = 1.0 / sqrt(next);
  const Value y = exp(x) * rate, z = matmul(y, w) * next;
  graph.add_output(z);
  graph.set_update(1, next.id);
  group();
  EXPECT_EQ(kernel(rate), inlined);
  EXPECT_GE(kernel(next), 0);
  EXPECT_NE(kernel(next), kernel(z));
  EXPECT_NE(kernel(next), kernel(y));
}

TEST_F(GroupTest, StoredScalarsShareAKernel) {
  const Value u = graph.add_state({"u", {DType::f32, {}}});
  const Value a = t + 1.0, b = u * 0.5;
  graph.set_update(1, a.id);
  graph.set_update(2, b.id);
  group();
  EXPECT_EQ(kernel(a), kernel(b));
}

TEST_F(GroupTest, SwappedStates) {
  const Value v = graph.add_state({"v", {DType::f32, {8, 8}}});
  const Value a = v + 1.0, b = w + 1.0;
  graph.set_update(0, a.id);
  graph.set_update(2, b.id);
  group();
}

TEST_F(GroupTest, PointwiseNodesOfOneShapeThatShareAnOperand) {
  const Value a = exp(x), b = square(x), other = exp(w);
  for (const Value v : {a, b, other}) graph.add_output(v);
  group();
  EXPECT_EQ(kernel(a), kernel(b));
  EXPECT_NE(kernel(a), kernel(other));
}

TEST_F(GroupTest, GroupsStayWithinTheirLimits) {
  Value y = x;
  for (int i = 0; i < 100; ++i) y = graph.add(Tanh{}, {y});
  graph.add_output(y);
  Value total = x;
  for (int i = 0; i < 40; ++i) total = total + graph.add_input({str("in", i), {DType::f32, {n, 8}}});
  graph.add_output(total);
  group();
  EXPECT_GE(kernel(y), 3);
}

TEST_F(GroupTest, VerifyNamesEachRule) {
  const Value z = matmul(x, w), y = exp(z), s = square(y), total = sum(s, 1, 2), half = t * 0.5, scaled = total * half;
  graph.add_output(scaled);
  group();
  const auto with = [&](Value v, std::int32_t kernel) {
    Graph copy = graph;
    copy.set_kernel(v.id, kernel);
    return copy;
  };
  const auto starts = [](Value v, const char* op, std::int32_t kernel) {
    return str("[group] internal error: node %", v.id, " (", op, ", kernel ", kernel, "): ");
  };
  const std::int32_t first = kernel(z), second = kernel(total);
  ASSERT_NE(first, second);
  EXPECT_ERROR(passes::verify_groups(with(x, 0)), InternalError, starts(x, "input", 0) + "a leaf has no kernel");
  EXPECT_ERROR(passes::verify_groups(with(y, no_kernel)), InternalError, starts(y, "exp", -1) + "has no kernel");
  EXPECT_ERROR(passes::verify_groups(with(y, inlined)), InternalError, starts(y, "exp", -2) + "only recomputable nodes");
  EXPECT_ERROR(passes::verify_groups(with(half, 0)), InternalError,
               starts(half, "mul", 0) + "a recomputable node that is not stored must be inlined");
  EXPECT_ERROR(passes::verify_groups(with(z, 7)), InternalError, starts(y, "exp", first) + str("reads %", z.id, " of the later kernel 7"));
  EXPECT_ERROR(passes::verify_groups(with(total, first)), InternalError,
               starts(z, "matmul", first) + str("cannot be in the prologue of %", total.id));
  EXPECT_ERROR(passes::verify_groups(with(scaled, 3)), InternalError, starts(scaled, "mul", 3) + "kernel 2 is missing");
  Graph shapes = with(scaled, second + 1);
  shapes.set_kernel(total.id, second);
  passes::verify_groups(shapes);
}

TEST_F(GroupTest, VerifyNamesShapesAndPrologues) {
  const Value a = exp(x), b = exp(w), s = sum(a, 1, 2);
  for (const Value v : {a, b, s}) graph.add_output(v);
  for (const Value v : {a, b, s}) graph.set_kernel(v.id, 0);
  EXPECT_ERROR(passes::verify_groups(graph), InternalError,
               str("[group] internal error: node %", a.id, " (exp, kernel 0): a prologue is needed elsewhere"));
  graph.set_kernel(s.id, 1);
  EXPECT_ERROR(passes::verify_groups(graph), InternalError,
               str("[group] internal error: node %", b.id, " (exp, kernel 0): shape [8,8] in a group of [N,8]"));
  graph.set_kernel(b.id, 1);
  EXPECT_ERROR(passes::verify_groups(graph), InternalError,
               str("[group] internal error: node %", b.id, " (exp, kernel 1): shape [8,8] in a group of [N]"));
}

}  // namespace
}  // namespace sinter::test::group_test
