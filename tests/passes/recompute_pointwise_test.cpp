// recompute_pointwise: what each reader computes again, and what is stored; run() also compares the numbers.
#include "tests/passes/helpers.h"

namespace sinter::test::recompute_pointwise_test {
namespace {

using namespace ir;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
const Dim n = Dim::batch();

struct RecomputePointwise : ::testing::Test {
  Graph graph{"g"};
  Value x = graph.add_input({"x", {DType::f32, {n, 16}}});
  Value w = graph.add_state({"w", {DType::f32, {16, 16}}});
  std::size_t count(std::string_view op) {
    std::size_t found = 0;
    for (NodeId id = 0; id < graph.size(); ++id) found += !graph.node(id).dead && name(graph.node(id).op) == op;
    return found;
  }
  static Value column_sum(Value of) { return sum(of, 0, 1); }
};

TEST_F(RecomputePointwise, WhatACentredValueIsMadeOf) {
  // x - mean is read by the sum of squares and by what follows that sum; the product itself is in memory.
  const Value y = matmul(x, w), apart = y - column_sum(y) / extent(graph, n), deviation = column_sum(square(apart));
  graph.add_output(apart * deviation);
  EXPECT_EQ(count("sub"), 1u);
  EXPECT_THAT(run(passes::recompute_pointwise, graph).notes, ElementsAre("1 reader computes again what is cheap"));
  EXPECT_EQ(count("sub"), 2u);
}

TEST_F(RecomputePointwise, NoCopyOfWhatIsStoredOnlyForThis) {
  // Without the scaled value the product would not be stored: it is read by nothing else.
  const Value y = matmul(x, w), scaled = y * 3.0;
  graph.add_output(matmul(scaled, w) + scaled);
  EXPECT_FALSE(run(passes::recompute_pointwise, graph).changed);
}

TEST_F(RecomputePointwise, NoCopyOfWhatReadsTwoLargeValues) {
  const Value y = matmul(x, w), both = y + matmul(y, w);
  graph.add_output(matmul(both, w) * both);
  EXPECT_FALSE(run(passes::recompute_pointwise, graph).changed);
}

TEST_F(RecomputePointwise, NoCopyOfWhatIsNotCheap) {
  const Value y = matmul(x, w), power = exp(y - column_sum(y));
  graph.add_output(matmul(power, w) * power);
  EXPECT_FALSE(run(passes::recompute_pointwise, graph).changed);
}

TEST_F(RecomputePointwise, NoCopyOfAResult) {
  const Value apart = x - 1.0;
  graph.add_output(apart);
  graph.add_output(matmul(apart, w) * apart);
  EXPECT_FALSE(run(passes::recompute_pointwise, graph).changed);
}

TEST_F(RecomputePointwise, TheConditionByWhichAGradientPasses) {
  // It is read by the gradient alone, but made of what the activation is made of.
  const Value y = matmul(x, w), scaled = y * 3.0 + 1.0;
  const Value zero = constant(graph, 0), six = constant(graph, 6), capped = select(less_equal(six, scaled), six, scaled);
  graph.add_output(matmul(capped, w) + column_sum(y));
  graph.add_output(matmul(select(less_equal(six, scaled), zero, matmul(x, w) * 2.0), w));
  run(passes::common_subexpressions, graph);
  EXPECT_EQ(count("less_equal"), 1u);
  EXPECT_THAT(run(passes::recompute_pointwise, graph).notes, ElementsAre("1 reader computes again what is cheap"));
  EXPECT_EQ(count("less_equal"), 2u);
}

TEST_F(RecomputePointwise, WhatASelectionIsMadeOf) {
  const Value y = matmul(x, w), zero = constant(graph, 0), kept = select(less_equal(y, zero), zero, y) + 1.0;
  graph.add_output(matmul(kept * kept, w));
  graph.add_output(column_sum(y));
  graph.add_output(exp(kept));
  EXPECT_TRUE(run(passes::recompute_pointwise, graph).changed);
  EXPECT_EQ(count("select"), 2u);
}

TEST_F(RecomputePointwise, UnderAnotherShape) {
  const Value y = matmul(x, w), mask = less_equal(y * 3.0, column_sum(y));
  const Value image = graph.add_input({"image", {DType::f32, {n, 1, 1, 16}}});
  graph.add_output(select(mask, y, y * 2.0));
  graph.add_output(select(reshape(mask, {n, 1, 1, 16}), image, image * 2.0));
  graph.add_output(select(reshape(mask, {n, 16, 1}), reshape(x, {n, 16, 1}), reshape(y, {n, 16, 1})));  // other columns: reads what is stored
  run(passes::recompute_pointwise, graph);
  std::size_t of_images = 0;
  for (NodeId id = 0; id < graph.size(); ++id)
    of_images += !graph.node(id).dead && graph.op_as<LessEqual>(id) && graph.node(id).type.shape.rank() == 4;
  EXPECT_EQ(of_images, 1u);
  EXPECT_EQ(count("less_equal"), 3u);
}

TEST_F(RecomputePointwise, LongChainsAreCut) {
  Value chain = x;
  for (int i = 0; i < 12; ++i) chain = chain * (i + 2.0);
  graph.add_output(matmul(chain, w) * chain);
  const std::size_t before = count("mul");
  run(passes::recompute_pointwise, graph);
  EXPECT_LE(count("mul"), before + 8);
}

TEST_F(RecomputePointwise, TheStoredValuesOfANormalization) {
  const Value y = matmul(x, w), mean = column_sum(y) / extent(graph, n), apart = y - mean, deviation = column_sum(square(apart));
  graph.add_output(matmul(apart * deviation, w));
  graph.add_output(column_sum(apart * deviation * y));
  const auto stored = [&](bool recomputes) {
    Graph copy = graph;
    passes::PipelineOptions options = reference_options();
    if (!recomputes) options.without = {"recompute_pointwise"};
    passes::optimize(copy, options);
    std::size_t values = 0;  // of [N, 16] that another kernel reads
    for (NodeId id = 0; id < copy.size(); ++id) {
      const Node& node = copy.node(id);
      if (node.dead || is_leaf(node.op) || node.type.shape != Shape{n, 16}) continue;
      values += std::any_of(node.users.begin(), node.users.end(), [&](NodeId user) { return copy.node(user).kernel != node.kernel; });
    }
    return values;
  };
  EXPECT_LT(stored(true), stored(false));
}

}  // namespace
}  // namespace sinter::test::recompute_pointwise_test
