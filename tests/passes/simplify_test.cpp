// Identities, each as text before and after; run() also compares the numbers.
#include "tests/passes/helpers.h"

namespace sinter::test::simplify_test {
namespace {

using namespace ir;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
const Dim n = Dim::batch();

struct SimplifyTest : ::testing::Test {
  Graph graph{"g"};
  Value x = graph.add_input({"x", {DType::f32, {n, 3}}});
  Value s = graph.add_state({"s", {DType::f32, {}}});

  /// The body's lines after the pass for this output.
  std::string simplified(Value y) {
    graph.add_output(y);
    run(passes::simplify, graph);
    const std::string all = text(graph);
    return all.substr(all.find('\n') + 1);
  }
};

TEST_F(SimplifyTest, TimesOneAndDividedByOne) { EXPECT_EQ(simplified(1.0 * (x * 1.0) / 1.0), "  return %x\n"); }
TEST_F(SimplifyTest, TimesOneThatWidensStays) {
  EXPECT_THAT(simplified(broadcast(constant(graph, 1), {n, 3}) * s), HasSubstr("broadcast(%s, shape=[N,3])"));
}
TEST_F(SimplifyTest, MinusZeroAndPlusMinusZero) { EXPECT_EQ(simplified((x - 0.0) + -0.0), "  return %x\n"); }
TEST_F(SimplifyTest, PlusZeroMakesZeroOfMinusZero) { EXPECT_THAT(simplified(x + 0.0), HasSubstr("add(%x, ")); }
TEST_F(SimplifyTest, TimesZeroKeepsNaN) { EXPECT_THAT(simplified(x * 0.0), HasSubstr("mul(%x, ")); }
TEST_F(SimplifyTest, IntegersPlusZero) {
  const Value i = graph.add_input({"i", {DType::i32, {n}}});
  EXPECT_EQ(simplified(i + 0.0), "  return %i\n");
}
TEST_F(SimplifyTest, Negation) {
  EXPECT_EQ(simplified(-(-x)), "  return %x\n");
  Graph g("g");
  const Value a = g.add_input({"a", {DType::f32, {n}}}), b = g.add_input({"b", {DType::f32, {n}}});
  for (const Value y : {a + -b, -a + b, a - -b}) g.add_output(y);
  run(passes::simplify, g);
  EXPECT_EQ(text(g),
            "graph g(a: f32[N], b: f32[N])\n"
            "  %0: f32[N] = sub(%a, %b)\n"
            "  %1: f32[N] = sub(%b, %a)\n"
            "  %2: f32[N] = add(%a, %b)\n"
            "  return %0, %1, %2\n");
}
TEST_F(SimplifyTest, StopGradientAndCast) {
  Cast cast;
  cast.dtype = DType::f32;
  EXPECT_EQ(simplified(graph.add(cast, {graph.add(StopGradient{}, {x})})), "  return %x\n");
}
TEST_F(SimplifyTest, BroadcastIntoPointwise) { EXPECT_EQ(simplified(broadcast(s, {n, 3}) * x), "  %0: f32[N,3] = mul(%s, %x)\n  return %0\n"); }
TEST_F(SimplifyTest, PointwiseBelowBroadcast) {
  EXPECT_EQ(simplified(-broadcast(s, {n, 3})), "  %0: f32[] = neg(%s)\n  %1: f32[N,3] = broadcast(%0, shape=[N,3])\n  return %1\n");
}
TEST_F(SimplifyTest, ChainsOfAGradientSeed) {
  // What the gradient of a mean of negated row sums leaves behind.
  const Value seed = broadcast(reshape(s, {1}), {n});
  EXPECT_EQ(simplified(broadcast(reshape(-seed, {n, 1}), {n, 3}) * x), "  %0: f32[] = neg(%s)\n  %1: f32[N,3] = mul(%0, %x)\n  return %1\n");
}
TEST_F(SimplifyTest, ReshapeOfReshape) {
  EXPECT_EQ(simplified(reshape(reshape(x, {Dim::batch(3)}), {n, 1, 3})), "  %0: f32[N,1,3] = reshape(%x, shape=[N,1,3])\n  return %0\n");
  Graph g("g");
  const Value a = g.add_input({"a", {DType::f32, {n, 1}}});
  g.add_output(reshape(reshape(a, {n}), {n, 1}));
  run(passes::simplify, g);
  EXPECT_THAT(text(g), HasSubstr("return %a\n"));
}
TEST_F(SimplifyTest, ReshapeThatRepeatsDifferentlyStays) {
  const Value column = reshape(sum(x, 1, 2), {n, 1});
  EXPECT_THAT(simplified(broadcast(column, {n, 3})), HasSubstr("reshape("));
}
TEST_F(SimplifyTest, TransposeOfTranspose) { EXPECT_EQ(simplified(transpose(transpose(x))), "  return %x\n"); }
TEST_F(SimplifyTest, PermutationOfPermutation) {
  const auto permuted = [](Value v, const Shape& axes) { return v.graph->add(Permute{axes}, {v}); };
  Graph g("g");
  const Value a = g.add_input({"a", {DType::f32, {n, 2, 3}}});
  g.add_output(permuted(permuted(a, {2, 0, 1}), {1, 2, 0}));
  g.add_output(permuted(permuted(a, {1, 2, 0}), {1, 0, 2}));
  g.add_output(permuted(a, {0, 2, 1}));
  run(passes::simplify, g);
  EXPECT_EQ(text(g),
            "graph g(a: f32[N,2,3])\n"
            "  %0: f32[3,2,N] = permute(%a, axes=[2,1,0])\n"
            "  %1: f32[N,3,2] = transpose(%a)\n"
            "  return %a, %0, %1\n");
}
TEST_F(SimplifyTest, SumOfARepeatedScalar) {
  EXPECT_EQ(simplified(sum(broadcast(s, {n, 3}), 0, 2)), "  %0: f32[] = extent(dim=3N)\n  %1: f32[] = mul(%s, %0)\n  return %1\n");
  Graph g("g");
  const Value a = g.add_state({"a", {DType::f32, {}}});
  g.add_output(sum(broadcast(a, {n, 3}), 1, 2));
  run(passes::simplify, g);
  EXPECT_THAT(text(g), HasSubstr("broadcast("));
}
TEST_F(SimplifyTest, SumOfARepeatedWholeNumberStays) {  // how often it is repeated is an f32
  const Value i = graph.add_state({"i", {DType::u32, {}}});
  EXPECT_THAT(simplified(sum(broadcast(i, {n, 3}), 0, 2)), HasSubstr("sum("));
}
TEST_F(SimplifyTest, NothingToDo) {
  graph.add_output(exp(x));
  const PassResult result = run(passes::simplify, graph);
  EXPECT_FALSE(result.changed);
  EXPECT_TRUE(result.notes.empty());
}

// ---- reshapes ----

struct ReshapeTest : ::testing::Test {
  Graph graph{"g"};
  Value x = graph.add_input({"x", {DType::f32, {n, 1, 5, 4}}});
  Value b = graph.add_state({"b", {DType::f32, {4}}});

  std::string moved(Value y) {
    graph.add_output(y);
    run(passes::reshape_past_pointwise, graph);
    const std::string all = text(graph);
    return all.substr(all.find('\n') + 1);
  }
};

TEST_F(ReshapeTest, PastBiasAndReluUntilOneThatUndoesIt) {
  const Value z = reshape(x, {n, 5, 4}) + b;
  EXPECT_EQ(moved(reshape(graph.add(Relu{}, {z}), {n, 1, 5, 4})),
            "  %0: f32[N,1,5,4] = add(%x, %b)\n"
            "  %1: f32[N,1,5,4] = relu(%0)\n"
            "  return %1\n");
}
TEST_F(ReshapeTest, TwoOfTheSameKind) {
  EXPECT_EQ(moved(reshape(x, {n, 5, 4}) * reshape(-x, {n, 5, 4})),
            "  %0: f32[N,1,5,4] = neg(%x)\n"
            "  %1: f32[N,1,5,4] = mul(%x, %0)\n"
            "  %2: f32[N,5,4] = reshape(%1, shape=[N,5,4])\n"
            "  return %2\n");
}
TEST_F(ReshapeTest, PastSums) {
  graph.add_output(graph.add(Sum{1, 2}, {reshape(x, {n, 5, 4})}));
  EXPECT_EQ(moved(graph.add(Sum{0, 2}, {reshape(x, {n, 5, 4})})),
            "  %0: f32[N,4] = sum(%x, first=1, last=3)\n"
            "  %1: f32[4] = sum(%x, first=0, last=3)\n"
            "  return %0, %1\n");
}
TEST_F(ReshapeTest, StaysBeforeWhatBroadcastsByItsShape) {
  const Value rows = graph.add_state({"rows", {DType::f32, {5, 4}}});
  EXPECT_THAT(moved(reshape(x, {n, 5, 4}) + rows), HasSubstr("add(%0, %rows)"));
}
TEST_F(ReshapeTest, StaysWhereColumnsChange) { EXPECT_THAT(moved(-reshape(x, {n, 20})), HasSubstr("neg(%0)")); }
TEST_F(ReshapeTest, StaysBeforeSumsOfSplitAxes) {
  EXPECT_THAT(moved(graph.add(Sum{1, 2}, {reshape(graph.add_input({"y", {DType::f32, {n, 15, 4}}}), {n, 3, 5, 4})})), HasSubstr("sum(%0, first=1"));
}

}  // namespace
}  // namespace sinter::test::simplify_test
