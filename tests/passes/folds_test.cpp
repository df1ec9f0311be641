// constant_fold, fold_bias, fold_transpose, log_softmax, common_subexpressions, split_concat: text before and after; run() also compares the numbers.
#include "ir/differentiate.h"
#include "tests/passes/helpers.h"

namespace sinter::test::folds_test {
namespace {

using namespace ir;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
const Dim n = Dim::batch();

struct FoldTest : ::testing::Test {
  Graph graph{"g"};
  Value x = graph.add_input({"x", {DType::f32, {n, 3}}});
  Value w = graph.add_state({"w", {DType::f32, {3, 4}}});
  Value b = graph.add_state({"b", {DType::f32, {4}}});
  std::string body() {
    const std::string all = text(graph);
    return all.substr(all.find('\n') + 1);
  }
};

TEST_F(FoldTest, ConstantsOfConstants) {
  graph.add_output(x * exp(constant(graph, 2) * 3.0 - 6.0));
  EXPECT_THAT(run(passes::constant_fold, graph).notes, ElementsAre("folded 3 ops of constants"));
  EXPECT_EQ(body(), "  %0: f32[] = constant(value=1, dtype=f32)\n  %1: f32[N,3] = mul(%x, %0)\n  return %1\n");
}

TEST_F(FoldTest, AConstantThatWouldBeNaNStaysAnOp) {
  graph.add_output(x * log(constant(graph, -1)));
  EXPECT_FALSE(run(passes::constant_fold, graph).changed);
  EXPECT_THAT(body(), HasSubstr("log("));
}

TEST_F(FoldTest, RunTimeScalarsAreNotConstants) {
  graph.add_output(constant(graph, 1) / extent(graph, n) * x);
  EXPECT_FALSE(run(passes::constant_fold, graph).changed);
}

TEST_F(FoldTest, BiasOnEitherSide) {
  graph.add_output(matmul(x, w) + b);
  graph.add_output(b + matmul(x, w));
  EXPECT_THAT(run(passes::fold_bias, graph).notes, ElementsAre("folded 2 biases"));
  EXPECT_EQ(body(), "  %0: f32[N,4] = dense(%x, %w, %b)\n  %1: f32[N,4] = dense(%x, %w, %b)\n  return %0, %1\n");
}

TEST_F(FoldTest, ConcatenationsOfManyAreSplit) {
  const auto concatenation = [](std::size_t parts) {
    Graph of("g");
    const Value in = of.add_input({"x", {DType::f32, {n, 3}}});
    std::vector<NodeId> list;
    for (std::size_t i = 0; i < parts; ++i) list.push_back((in * static_cast<double>(i)).id);
    of.add_output({&of, of.add(Concat{1}, list, {}).id});
    return of;
  };
  Graph few = concatenation(16), many = concatenation(33);
  EXPECT_FALSE(run(passes::split_concat, few).changed);
  EXPECT_THAT(run(passes::split_concat, many).notes, ElementsAre("split 1 concatenation"));
  const Node& last = many.node(many.outputs()[0]);
  EXPECT_EQ(last.type.shape, Shape({n, 99}));
  ASSERT_EQ(last.inputs.size(), 3u);
  EXPECT_EQ(many.node(last.inputs[1]).type.shape, Shape({n, 48}));
  EXPECT_EQ(many.node(last.inputs[2]).type.shape, Shape({n, 3}));
}

TEST_F(FoldTest, NoBiasWhereTheProductIsReadToo) {
  const Value z = matmul(x, w);
  graph.add_output(z + b);
  graph.add_output(z);
  EXPECT_FALSE(run(passes::fold_bias, graph).changed);
}

TEST_F(FoldTest, NoBiasOnTransposedProductsOrOtherShapes) {
  const Value row = graph.add_state({"row", {DType::f32, {1, 4}}}), one = graph.add_state({"one", {DType::f32, {1}}});
  graph.add_output(matmul(x, transpose(w), false, true) + b);
  graph.add_output(matmul(x, w) + row);
  graph.add_output(matmul(x, w) + one);
  EXPECT_FALSE(run(passes::fold_bias, graph).changed);
}

TEST_F(FoldTest, TransposeIntoFlags) {
  graph.add_output(matmul(transpose(transpose(w)), w, true));
  graph.add_output(matmul(x, transpose(w), false, true));
  graph.add_output(transpose(matmul(x, w)));
  EXPECT_THAT(run(passes::fold_transpose, graph).notes, ElementsAre("folded 4 transposes into products"));
  EXPECT_EQ(body(),
            "  %0: f32[4,4] = matmul(%w, %w, transpose_a=true, transpose_b=false)\n"
            "  %1: f32[N,4] = matmul(%x, %w, transpose_a=false, transpose_b=false)\n"
            "  %2: f32[4,N] = matmul(%w, %x, transpose_a=true, transpose_b=true)\n"
            "  return %0, %1, %2\n");
}

TEST_F(FoldTest, AProductReadBothWaysKeepsItsTranspose) {
  const Value z = matmul(x, w);
  graph.add_output(z);
  graph.add_output(transpose(z));
  EXPECT_FALSE(run(passes::fold_transpose, graph).changed);
}

TEST_F(FoldTest, LogOfSoftmax) {
  graph.add_output(log(graph.add(Softmax{}, {x})));
  EXPECT_THAT(run(passes::log_softmax, graph).notes, ElementsAre("made 1 log of a softmax one stable op"));
  EXPECT_EQ(body(), "  %0: f32[N,3] = log_softmax(%x)\n  return %0\n");
}

TEST_F(FoldTest, LogOfSoftmaxTakesItsGradientWithIt) {
  const Value z = matmul(x, w), loss = sum(log(graph.add(Softmax{}, {z})) * b, 0, 2) / extent(graph, n);
  const Value wrt[] = {w, b};
  const ir::Values gradients = differentiate(loss, wrt);
  graph.add_output(loss);
  for (const Value g : gradients) graph.add_output(g);
  run(passes::dead_gradients, graph);
  run(passes::simplify, graph);
  EXPECT_THAT(run(passes::log_softmax, graph).notes, ElementsAre("made 1 log of a softmax one stable op, 1 gradient with it"));
  EXPECT_THAT(body(), Not(HasSubstr(" softmax(")));
  // Probabilities that underflow to 0 no longer make NaN.
  test::Values values = random_values(graph, 2, 3);
  for (double& v : values.inputs[0].data) v *= 1e4;
  for (const Array& result : results(graph, values, 2))
    for (const double v : result.data) EXPECT_TRUE(std::isfinite(v));
}

TEST_F(FoldTest, WhatOnlyLooksLikeTheGradientOfALogOfASoftmaxStays) {
  // The second of three axes, of as many elements as the last.
  const Value y = graph.add(Softmax{}, {graph.add_input({"z", {DType::f32, {4, 4}}, InputSpec::Kind::fixed})});
  const Value dy = graph.add_input({"dy", {DType::f32, {1, 4, 4}}, InputSpec::Kind::fixed}), d = dy / y;
  graph.add_output(log(y));
  graph.add_output((d - reshape(sum(d * y, 1, 2), {4, 1})) * y);
  EXPECT_THAT(run(passes::log_softmax, graph).notes, ElementsAre("made 1 log of a softmax one stable op"));
}

TEST_F(FoldTest, AClippedSoftmaxStaysAsWritten) {
  graph.add_output(log(graph.add(Clip{{}, 1e-7f, 1}, {graph.add(Softmax{}, {x})})));
  EXPECT_FALSE(run(passes::log_softmax, graph).changed);
}

TEST_F(FoldTest, CommonSubexpressions) {
  graph.add_output(exp(x * 2.0));
  graph.add_output(exp(x * 2.0) + x * 3.0);
  EXPECT_THAT(run(passes::common_subexpressions, graph).notes, ElementsAre("merged 3 nodes that repeat another"));
  EXPECT_EQ(body(),
            "  %0: f32[] = constant(value=2, dtype=f32)\n"
            "  %1: f32[N,3] = mul(%x, %0)\n"
            "  %2: f32[N,3] = exp(%1)\n"
            "  %3: f32[] = constant(value=3, dtype=f32)\n"
            "  %4: f32[N,3] = mul(%x, %3)\n"
            "  %5: f32[N,3] = add(%2, %4)\n"
            "  return %2, %5\n");
}

TEST_F(FoldTest, AttributesAndSignsOfZeroDistinguish) {
  graph.add_output(sum(reshape(x, {n, 3, 1}), 0, 1) + sum(reshape(x, {n, 3, 1}), 0, 1) * constant(graph, 0.0));
  graph.add_output(x * constant(graph, -0.0));
  run(passes::common_subexpressions, graph);
  EXPECT_THAT(body(), HasSubstr("constant(value=-0, dtype=f32)"));
  EXPECT_THAT(body(), HasSubstr("constant(value=0, dtype=f32)"));
}

TEST_F(FoldTest, DeadGradientsAreCountedByWhatTheyAreOf) {
  const Value frozen = graph.add_state({"frozen", {DType::f32, {3, 3}}}),
              scale = graph.add_input({"scale", {DType::f32, {}}, InputSpec::Kind::fixed});
  const Value shifted = x * scale - 1.0;
  const Value loss = sum(square(matmul(matmul(shifted, frozen), w)), 0, 2);
  graph.add_output(differentiate(loss, {&w, 1})[0]);
  (void)exp(w);
  const PassResult result = run(passes::dead_gradients, graph, 100);
  EXPECT_TRUE(result.changed);
  // Through the first product (2·3·3 a sample) back to x: the product, the seed of the shift, times scale.
  EXPECT_THAT(result.notes, ::testing::Contains(HasSubstr("removed 1 gradient of input x: ")));
  EXPECT_THAT(result.notes, ::testing::Contains("removed 1 gradient of state frozen: 1,800 flops per step at N = 100"));
  EXPECT_THAT(result.notes, ::testing::Contains(HasSubstr("removed 1 gradient of input scale: ")));
  EXPECT_THAT(result.notes, ::testing::Contains(HasSubstr("unused node")));
}

TEST(DeadGradients, WithoutABatchTheyAreCountedASample) {
  Graph graph;
  const Value x = graph.add_input({"x", {DType::f32, {n, 784}}}), w = graph.add_state({"w", {DType::f32, {784, 70}}});
  graph.add_output(differentiate(sum(matmul(x, w), 0, 2), {&w, 1})[0]);
  const auto options = reference_options();
  passes::PassContext context{options, {}};
  EXPECT_TRUE(passes::dead_gradients(graph, context));
  EXPECT_THAT(context.notes, ::testing::Contains("removed 1 gradient of input x: 109,760 flops per sample"));
}

TEST(Text, ThousandsSeparators) {
  EXPECT_EQ(passes::with_separators(0), "0");
  EXPECT_EQ(passes::with_separators(999), "999");
  EXPECT_EQ(passes::with_separators(1000), "1,000");
  EXPECT_EQ(passes::with_separators(54880000), "54,880,000");
  EXPECT_EQ(passes::with_separators(-123456), "-123,456");
}

struct PoolTest : ::testing::Test {
  Graph graph{"g"};
  Value x = graph.add_input({"x", {DType::f32, {n, 4, 6, 3}}});
  static Value pool(Graph& g, Value y) { return g.add(MaxPool{{2, 2}, {2, 2}, {0, 0, 0, 0}}, {y}); }
  static std::size_t count(const Graph& g, std::string_view op) {
    std::size_t found = 0;
    for (const NodeId id : g.topological_order()) found += name(g.node(id).op) == op;
    return found;
  }
};

TEST_F(PoolTest, ReluMovesBehindThePool) {
  graph.add_output(pool(graph, graph.add(Relu{}, {x})));
  EXPECT_THAT(run(passes::relu_past_pool, graph).notes, ElementsAre("moved 1 relu past the max pool"));
  const std::string all = text(graph);
  EXPECT_THAT(all, HasSubstr("%0: f32[N,2,3,3] = max_pool(%x, "));
  EXPECT_THAT(all, HasSubstr("%1: f32[N,2,3,3] = relu(%0)\n  return %1\n"));
}

TEST_F(PoolTest, WithItsGradient) {
  const Value y = pool(graph, graph.add(Relu{}, {x})), loss = sum(square(y), 0, 4);
  const Value inputs[] = {x};
  graph.add_output(differentiate(loss, inputs)[0]);
  graph.add_output(y);
  EXPECT_TRUE(run(passes::relu_past_pool, graph).changed);
  run(passes::common_subexpressions, graph);
  EXPECT_EQ(count(graph, "relu"), 1u) << text(graph);
  EXPECT_EQ(count(graph, "max_pool"), 1u);
  EXPECT_EQ(count(graph, "max_pool_place"), 1u);
  EXPECT_THAT(text(graph), HasSubstr("= max_pool_place(%x, "));
}

TEST_F(PoolTest, ReluStaysWhereItsGradientGoesElsewhere) {
  const auto gradient = [](Graph& g, Value y, const PoolPut& put) {
    const Value place = g.add(MaxPoolPlace{{2, 2}, {2, 2}, {0, 0, 0, 0}}, {y}), zero = constant(g, 0);
    g.add_output(pool(g, y));
    g.add_output(select(less_equal(y, zero), zero, g.add(put, {place, broadcast(constant(g, 1.5), place.shape())})));
  };
  gradient(graph, graph.add(Relu{}, {x}), {{1, 1}, {2, 2}, {0, 0, 0, 0}, {4, 6}});
  EXPECT_FALSE(run(passes::relu_past_pool, graph).changed);
  Graph small("g");  // the place of a single pixel, put into one that is repeated
  const Value z = small.add_input({"z", {DType::f32, {n, 2, 2, 3}}});
  gradient(small, small.add(Relu{}, {z}), {{2, 2}, {2, 2}, {1, 1, 0, 0}, {1, 1}});
  EXPECT_FALSE(run(passes::relu_past_pool, small).changed);
}

TEST_F(PoolTest, ReluThatIsReadElsewhereStays) {
  const Value y = graph.add(Relu{}, {x});
  graph.add_output(pool(graph, y));
  graph.add_output(sum(y, 0, 4));
  EXPECT_FALSE(run(passes::relu_past_pool, graph).changed);
}

}  // namespace
}  // namespace sinter::test::folds_test
