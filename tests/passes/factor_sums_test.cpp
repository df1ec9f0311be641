// factor_sums: which sums are multiples of others, which terms add up to 0; run() also compares the numbers.
#include "ir/differentiate.h"
#include "tests/passes/helpers.h"

namespace sinter::test::factor_sums_test {
namespace {

using namespace ir;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
const Dim n = Dim::batch();

struct FactorSums : ::testing::Test {
  Graph graph{"g"};
  Value x = graph.add_input({"x", {DType::f32, {n, 8}}});
  Value g = graph.add_input({"g", {DType::f32, {n, 8}}});
  Value gamma = graph.add_state({"gamma", {DType::f32, {8}}});
  std::size_t sums() const {
    std::size_t found = 0;
    for (NodeId id = 0; id < graph.size(); ++id) found += !graph.node(id).dead && graph.op_as<Sum>(id);
    return found;
  }
  PassResult run_pass() {
    run(passes::common_subexpressions, graph);
    return run(passes::factor_sums, graph);
  }
};

TEST_F(FactorSums, MultiplesOfOneSum) {
  graph.add_output(sum(x, 0, 1));
  graph.add_output(sum(-(x * gamma) / extent(graph, n), 0, 1));
  graph.add_output(sum(x * 3.0, 0, 1));
  EXPECT_THAT(run_pass().notes, ElementsAre("made 2 sums multiples of others"));
  EXPECT_EQ(sums(), 1u);
}

TEST_F(FactorSums, ProductsInAnyOrder) {
  graph.add_output(sum((x * gamma) * g, 0, 1));
  graph.add_output(sum(g * (gamma * x), 0, 1));
  run_pass();
  EXPECT_EQ(sums(), 1u);
}

TEST_F(FactorSums, FactorsAreTakenOutOfASum) {
  const Value scaled = g * 2.0 / extent(graph, n);
  graph.add_output(sum(scaled, 0, 1));
  graph.add_output(sum(-(x * scaled) * gamma, 0, 2));
  EXPECT_THAT(run_pass().notes, ElementsAre("took the factors of 2 sums out of them"));
  run(passes::dead_code, graph);
  for (NodeId id = 0; id < graph.size(); ++id)  // but gamma, which varies along an axis of the second sum
    if (const Node& node = graph.node(id); !node.dead && node.type.shape == Shape{n, 8}) {
      EXPECT_FALSE(graph.op_as<Div>(id));
    }
}

TEST_F(FactorSums, FactorsThatMayNotBeFiniteAreKept) {
  // The sum of what is infinite and what is minus infinity is NaN, an infinite multiple of a sum is not.
  graph.add_output(sum(x * gamma, 0, 1));
  graph.add_output(sum(g * std::numeric_limits<double>::infinity(), 0, 1));
  EXPECT_FALSE(run_pass().changed);
}

TEST_F(FactorSums, FactorsThatSomethingElseReadsAreKept) {
  const Value scaled = g * 2.0;
  graph.add_output(sum(scaled, 0, 1));
  graph.add_output(matmul(scaled, graph.add_state({"w", {DType::f32, {8, 3}}})));
  const Value result = x * 3.0;
  graph.add_output(sum(result, 0, 1));
  graph.add_output(result);
  graph.add_output(sum(sum(g * x * 4.0, 1, 2) + sum(result, 1, 2), 0, 1));  // along an axis with rows
  EXPECT_FALSE(run_pass().changed);
}

TEST_F(FactorSums, FactorsOfTheRowsAreKept) {
  // What varies along the axes of a sum is no factor of it.
  const Value rows = graph.add_input({"rows", {DType::f32, {n, 1}}});
  graph.add_output(sum(x, 0, 1));
  graph.add_output(sum(x * rows, 0, 1));
  graph.add_output(sum(x, 1, 2));
  EXPECT_FALSE(run_pass().changed);
}

TEST_F(FactorSums, NoSumOfANarrowValue) {
  // Without gamma, what is left of the second operand would have one column.
  const Value rows = graph.add_input({"rows", {DType::f32, {n, 1}}});
  graph.add_output(sum(rows * gamma, 0, 1));
  graph.add_output(sum(rows * (gamma * 2.0), 0, 1));
  EXPECT_FALSE(run_pass().changed);
}

TEST_F(FactorSums, WhatIsApartFromItsMean) {
  const Value apart = x - sum(x, 0, 1) / extent(graph, n);
  graph.add_output(sum(g - apart * gamma, 0, 1));
  EXPECT_THAT(run_pass().notes, ElementsAre("left out of 1 sum what is apart from its mean, whose sum is 0"));
  EXPECT_EQ(sums(), 1u);
}

TEST_F(FactorSums, ApartFromTheMeanOfARow) {
  const Value apart = x - reshape(sum(x, 1, 2), {n, 1}) / extent(graph, 8);
  graph.add_output(sum(g + apart * 2.0, 1, 2));
  EXPECT_THAT(run_pass().notes, ElementsAre(HasSubstr("left out of 1 sum")));
  EXPECT_EQ(sums(), 1u);
}

TEST_F(FactorSums, ApartFromSomethingElse) {
  const Value square_x = graph.add_state({"square", {DType::f32, {8, 8}}});
  const Value mean = sum(x, 0, 1) / extent(graph, n);
  graph.add_output(sum(g + (x - mean * 1.5), 0, 1));                               // not the mean
  graph.add_output(sum(g + (g * x - mean), 0, 1));                                 // of another value
  graph.add_output(sum(g + (x - mean), 1, 2));                                     // along another axis
  graph.add_output(sum(g + (x - sum(x, 0, 1) / extent(graph, 8)), 0, 1));          // another count
  graph.add_output(sum(g + (x - mean) * g, 0, 1));                                 // no multiple
  graph.add_output(sum(square_x + (square_x - sum(square_x, 1, 2) / 8.0), 1, 2));  // the means of rows taken from columns
  graph.add_output(sum(square_x + (square_x - sum(square_x, 1, 2) / 8.0), 0, 1));
  EXPECT_FALSE(run_pass().changed);
}

TEST_F(FactorSums, ASumThatIsZeroIsComputed) {
  // Its rounding errors, or what is not finite, are what somebody may look for.
  graph.add_output(sum(x - sum(x, 0, 1) / extent(graph, n), 0, 1));
  EXPECT_FALSE(run_pass().changed);
}

TEST_F(FactorSums, GradientOfANormalizationHasTwoSums) {
  const Value mean = sum(x, 0, 1) / extent(graph, n), apart = x - mean, spread = sum(square(apart), 0, 1) / extent(graph, n);
  const Value beta = graph.add_state({"beta", {DType::f32, {8}}});
  const Value y = apart / sqrt(spread + 0.125) * gamma + beta, loss = sum(sum(y * g, 1, 2), 0, 1);
  const Value wrt[] = {x, gamma, beta};
  for (const Value gradient : differentiate(loss, wrt)) graph.add_output(gradient);
  run(passes::simplify, graph);
  run_pass();
  run(passes::dead_code, graph);
  EXPECT_EQ(sums(), 4u);  // of x, of squares; of g, of g times what is apart
}

}  // namespace
}  // namespace sinter::test::factor_sums_test
