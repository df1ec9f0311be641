// Gradients of whole graphs, in text and in number.
#include "ir/differentiate.h"

#include "ir/print.h"
#include "ir/reference.h"
#include "ir/verify.h"
#include "tests/ir/expect_error.h"
#include "tests/ir/mlp_graph.h"

namespace sinter::ir::differentiate_test {
namespace {

const Dim n = Dim::batch();

TEST(Differentiate, NeedsAScalarLoss) {
  Graph graph;
  graph.set_current_origin({"", "m.cpp", 7});
  const Value x = graph.add_input({"x", {DType::f32, {n, 3}}}), y = exp(x);
  EXPECT_USER_ERROR(differentiate(y, {&x, 1}), "[m.cpp:7] grad needs a scalar f32 loss, got f32[N,3]; take its mean or sum first");
}

TEST(Differentiate, SigmoidReadsItsResult) {
  Graph graph("g");
  const Value x = graph.add_input({"x", {DType::f32, {n}}});
  const Value y = graph.add(Sigmoid{}, {x}), loss = sum(y, 0, 1);
  graph.add_output(differentiate(loss, {&x, 1})[0]);
  graph.erase_dead();
  EXPECT_EQ(to_text(graph, {.origins = false}),
            "graph g(x: f32[N])\n"
            "  %0: f32[N] = sigmoid(%x)\n"
            "  %1: f32[] = constant(value=1, dtype=f32)\n"
            "  %2: f32[1] = reshape(%1, shape=[1])\n"
            "  %3: f32[N] = broadcast(%2, shape=[N])\n"
            "  %4: f32[] = constant(value=1, dtype=f32)\n"
            "  %5: f32[N] = sub(%4, %0)\n"
            "  %6: f32[N] = mul(%0, %5)\n"
            "  %7: f32[N] = mul(%3, %6)\n"
            "  return %7\n");
}

TEST(Differentiate, SaysWhatANodeIsTheGradientOf) {
  Graph graph;
  const Value x = graph.add_input({"x", {DType::f32, {n, 3}}}), w = graph.add_state({"w", {DType::f32, {3, 2}}});
  const Value loss = sum(matmul(x, w), 0, 2);
  const Value wrt[] = {w};
  const Values gradients = differentiate(loss, wrt);
  EXPECT_EQ(graph.node(gradients[0].id).gradient_of, w.id);
  std::size_t of_x = 0;
  for (NodeId id = 0; id < graph.size(); ++id) of_x += graph.node(id).gradient_of == x.id;
  EXPECT_EQ(of_x, 1u);
}

TEST(Differentiate, UnreachedAndStoppedValuesHaveNone) {
  Graph graph;
  const Value x = graph.add_input({"x", {DType::f32, {n}}}), other = graph.add_state({"w", {DType::f32, {}}});
  const Value wrt[] = {x, other};
  const Values gradients = differentiate(sum(graph.add(StopGradient{}, {x}), 0, 1), wrt);
  EXPECT_FALSE(gradients[0]);
  EXPECT_FALSE(gradients[1]);
}

TEST(Differentiate, UsesOfAValueAddUp) {
  Graph graph;
  const Value w = graph.add_state({"w", {DType::f32, {}}});
  const Value loss = w * w * w + exp(w);
  const Value gradient = differentiate(loss, {&w, 1})[0];
  const Array at = [] {
    Array a(DType::f32, {});
    a.data[0] = 0.5;
    return a;
  }();
  EXPECT_NEAR(evaluate(graph, {}, {&at, 1}, 1)[gradient.id].data[0], 3 * 0.25 + std::exp(0.5), 1e-14);
}

TEST(Differentiate, MeanDividesByTheBatchOfTheCall) {
  Graph graph;
  const Value x = graph.add_input({"x", {DType::f32, {n, 2}}}), w = graph.add_state({"w", {DType::f32, {2}}});
  const Value loss = sum(x * w, 0, 2) / extent(graph, Dim::batch(2));
  const Value gradient = differentiate(loss, {&w, 1})[0];
  for (const std::int64_t batch : {1, 5}) {
    const test::Values values = test::random_values(graph, batch, 4);
    const auto all = evaluate(graph, values.inputs, values.states, batch);
    for (std::size_t column = 0; column < 2; ++column) {
      double expected = 0;
      for (std::int64_t row = 0; row < batch; ++row) expected += values.inputs[0].data[static_cast<std::size_t>(row) * 2 + column];
      EXPECT_NEAR(all[gradient.id].data[column], expected / static_cast<double>(2 * batch), 1e-14);
    }
  }
}

TEST(Differentiate, WholeTrainingStepLowersItsLoss) {
  Graph graph = test::mlp_step({6, 5, 4, 3});
  verify(graph);
  test::Values values = test::random_values(graph, 8, 5);
  for (double& y : values.inputs[1].data) y = 0;
  for (std::size_t row = 0; row < 8; ++row) values.inputs[1].data[row * 3 + row % 3] = 1;
  values.states.back().data[0] = 0.02;
  std::vector<double> losses;
  for (int step = 0; step < 200; ++step) {
    const auto all = evaluate(graph, values.inputs, values.states, 8);
    losses.push_back(all[graph.outputs()[0]].data[0]);
    for (std::size_t i = 0; i < values.states.size(); ++i)
      if (graph.updates()[i] != no_node) values.states[i] = all[graph.updates()[i]];
  }
  EXPECT_LT(losses.back(), 0.8 * losses.front());
}

}  // namespace
}  // namespace sinter::ir::differentiate_test
