// Building and changing graphs.
#include "ir/graph.h"

#include "ir/cost.h"
#include "ir/kernel.h"
#include "ir/print.h"
#include "tests/ir/expect_error.h"

namespace sinter::ir::graph_test {
namespace {

const Dim n = Dim::batch();

struct GraphTest : ::testing::Test {
  Graph graph{"g"};
  Value input(const std::string& name, const Shape& shape, DType dtype = DType::f32) {
    return graph.add_input({name, {dtype, shape}, shape.has_batch() ? InputSpec::Kind::batch : InputSpec::Kind::fixed});
  }
};

TEST_F(GraphTest, ErrorsNameLayerLineAndOp) {
  const Value x = input("x", {n, 7}), y = input("y", {n, 6}), labels = input("labels", {n}, DType::i32);
  graph.set_current_origin({"dense_2", "mlp.cpp", 15});
  EXPECT_USER_ERROR(x + y, "[dense_2, mlp.cpp:15] add: shapes [N,7] and [N,6] do not broadcast: 7 against 6; equal dimensions or 1 are needed");
  EXPECT_USER_ERROR(matmul(x, y), "[dense_2, mlp.cpp:15] matmul: the contracted dimensions differ: 7 of [N,7] against N of [N,6]");
  EXPECT_USER_ERROR(matmul(x, x, false, true),
                    "[dense_2, mlp.cpp:15] matmul: at most one batch dimension per shape, got [N,N]; sum over N first, as x^T y does, or give the "
                    "batch a size, with which [N, N] is a shape: TrainerOptions::fixed_batch or Spec::fixed");
  EXPECT_USER_ERROR(matmul(x, labels), "[dense_2, mlp.cpp:15] matmul: operands must be f32, got i32[N]; convert it with cast");
  EXPECT_USER_ERROR(x + labels, "[dense_2, mlp.cpp:15] add: ");
  EXPECT_USER_ERROR(exp(labels), "[dense_2, mlp.cpp:15] exp: operands must be f32, got i32[N]; convert it with cast");
  EXPECT_USER_ERROR(reshape(x, {n, 8}), "[dense_2, mlp.cpp:15] reshape: cannot reshape [N,7] (7N elements) to [N,8] (8N elements)");
  EXPECT_USER_ERROR(reshape(x, {7}), "[dense_2, mlp.cpp:15] reshape: cannot reshape [N,7] (7N elements) to [7] (7 elements)");
  EXPECT_USER_ERROR(broadcast(x, {n, 1}), "[dense_2, mlp.cpp:15] broadcast: cannot broadcast [N,7] to [N,1]");
  EXPECT_USER_ERROR(sum(x, 1, 3), "[dense_2, mlp.cpp:15] sum: axes [1, 3) do not exist in [N,7], which has 2 dimensions");
  EXPECT_USER_ERROR(select(x, x, x), "[dense_2, mlp.cpp:15] select: the condition must be bool, got f32[N,7]; convert it with cast");
  EXPECT_USER_ERROR(transpose(labels), "[dense_2, mlp.cpp:15] transpose: needs at least 2 dimensions, got [N]");
  EXPECT_USER_ERROR(graph.add(OneHot{0}, {labels}), "[dense_2, mlp.cpp:15] one_hot: depth must be positive, got 0");
  EXPECT_USER_ERROR(graph.add(GatherRows{}, {y, x}), "[dense_2, mlp.cpp:15] gather_rows: the index must be i32, u32 or u8, got f32[N,7]");
  EXPECT_USER_ERROR(graph.add(GatherRows{}, {y, labels}), "[dense_2, mlp.cpp:15] gather_rows: the table's rows cannot be the batch, got f32[N,6]");
  EXPECT_USER_ERROR(graph.add(Dense{}, {x, x, x}), "[dense_2, mlp.cpp:15] dense: ");
}

TEST_F(GraphTest, StatesHaveNoBatchAndKeepTheirType) {
  EXPECT_USER_ERROR(graph.add_state({"w", {DType::f32, {n, 3}}}), "[w] a state cannot have a batch dimension, got f32[N,3]");
  const Value w = graph.add_state({"w", {DType::f32, {2, 3}}});
  EXPECT_USER_ERROR(graph.set_update(0, sum(w, 0, 1).id), "cannot assign f32[3] to 'w', which is f32[2,3]");
}

TEST_F(GraphTest, GivesAnOpOfTheKindThatIsAskedFor) {
  const Value y = sum(input("x", {n, 7}), 1, 2);
  ASSERT_TRUE(graph.op_as<Sum>(y.id));
  EXPECT_EQ(graph.op_as<Sum>(y.id)->first, 1);
  EXPECT_FALSE(graph.op_as<Mul>(y.id));
}

TEST_F(GraphTest, CountsAndReplacesUses) {
  const Value x = input("x", {n, 3});
  const Value a = exp(x), b = a * a, c = log(x);
  graph.add_output(a);
  graph.add_output(b);
  EXPECT_EQ(graph.use_count(a.id), 3u);
  graph.replace_all_uses(a.id, c.id);
  EXPECT_EQ(graph.use_count(a.id), 0u);
  EXPECT_EQ(graph.use_count(c.id), 3u);
  EXPECT_EQ(graph.outputs()[0], c.id);
  EXPECT_THROW(graph.replace_all_uses(c.id, sum(x, 1, 2).id), InternalError);
  const auto erased = graph.erase_dead();
  EXPECT_THAT(erased, ::testing::Contains(a.id));
  EXPECT_TRUE(graph.node(a.id).dead);
  EXPECT_EQ(graph.use_count(x.id), 1u);
}

TEST_F(GraphTest, ReferencesToNodesSurviveItsGrowth) {
  const Shape& shape = input("x", {n, 3}).shape();
  for (int i = 0; i < 1000; ++i) constant(graph, i);
  EXPECT_EQ(&shape, &graph.node(0).type.shape);
}

TEST_F(GraphTest, OperandsOfAnotherGraphAreABug) {
  Graph other;
  EXPECT_THROW(input("x", {n}) + other.add_input({"x", {DType::f32, {n}}}), InternalError);
}

TEST_F(GraphTest, PrintsAsPeopleReadIt) {
  const Value x = input("x", {n, 3}), w = graph.add_state({"dense_1.weight", {DType::f32, {3, 2}}, true});
  graph.set_current_origin({"dense_1", "mlp.cpp", 14});
  const Value z = matmul(x, w);
  graph.set_current_origin({});
  const Value half = w * 0.5;
  graph.add_output(z);
  graph.set_update(0, half.id);
  graph.set_kernel(z.id, 1);
  EXPECT_EQ(to_text(graph),
            "graph g(x: f32[N,3])  state(dense_1.weight: f32[3,2])\n"
            "  %0: f32[N,2] = matmul(%x, %dense_1.weight, transpose_a=false, transpose_b=false)   {kernel=1}   # dense_1, mlp.cpp:14\n"
            "  %1: f32[] = constant(value=0.5, dtype=f32)\n"
            "  %2: f32[3,2] = mul(%dense_1.weight, %1)\n"
            "  return %0\n"
            "  dense_1.weight <- %2\n");
  EXPECT_THAT(to_dot(graph), ::testing::AllOf(::testing::HasSubstr("label=\"kernel 1\""), ::testing::HasSubstr("matmul\\\\n%0")));
}

TEST_F(GraphTest, FlopsOfProductsAndPointwise) {
  const Value x = input("x", {n, 784}), w = graph.add_state({"w", {DType::f32, {784, 70}}});
  const Value z = matmul(x, w), dw = matmul(x, z, true, false);
  EXPECT_EQ(flops(graph, z.id).at(500), 54'880'000);
  EXPECT_EQ(flops(graph, dw.id).at(500), 54'880'000);
  EXPECT_EQ(flops(graph, exp(z).id)[Dim::batch()], 70);
  EXPECT_EQ(flops(graph, square(w).id).fixed(), 784 * 70);
}

TEST_F(GraphTest, RecomputableScalars) {
  const Value t = graph.add_state({"t", {DType::f32, {}}}), w = graph.add_state({"w", {DType::f32, {3}}}), mean = sum(w, 0, 1);
  const Value next = t + 1.0;
  EXPECT_TRUE(is_recomputable(graph, next.id));
  EXPECT_TRUE(is_recomputable(graph, (next / extent(graph, n)).id));
  EXPECT_FALSE(is_recomputable(graph, t.id)) << "a leaf is there already";
  EXPECT_FALSE(is_recomputable(graph, mean.id));
  EXPECT_FALSE(is_recomputable(graph, (mean * 2.0).id));
  EXPECT_FALSE(is_recomputable(graph, (w * 2.0).id));
  Value chain = t;
  for (std::size_t i = 0; i < recomputable_nodes; ++i) chain = exp(chain);
  EXPECT_TRUE(is_recomputable(graph, chain.id));
  EXPECT_FALSE(is_recomputable(graph, exp(chain).id));
  EXPECT_EQ(leaves_read(graph, (w * next).id), (std::vector<NodeId>{w.id, t.id}));
}

TEST_F(GraphTest, WhatIsKeptStaysAlthoughNothingNeedsIt) {
  const Value x = input("x", {n, 7}), kept = exp(x), gone = log(x);
  graph.add_output(x + 1.0);
  graph.keep(kept.id);
  graph.keep(kept.id);
  EXPECT_EQ(graph.use_count(kept.id), 1u);
  EXPECT_TRUE(graph.is_output(kept.id));
  EXPECT_EQ(graph.erase_dead(), std::vector<NodeId>{gone.id});
  EXPECT_THAT(to_text(graph), testing::HasSubstr("= exp(%x)   {kept}"));
  const Value other = exp(x * 1.0);
  graph.replace_all_uses(kept.id, other.id);
  EXPECT_EQ(graph.use_count(kept.id), 0u);
  EXPECT_TRUE(graph.node(other.id).kept);
  EXPECT_EQ(graph.erase_dead(), std::vector<NodeId>{kept.id});
}

TEST_F(GraphTest, StatesMayKeepTheirValue) {
  const Value w = graph.add_state({"w", {DType::f32, {3}}}), v = graph.add_state({"v", {DType::f32, {3}}});
  const Value next = w + v;
  graph.set_update(0, next.id);
  EXPECT_TRUE(graph.is_output(next.id));
  graph.clear_update(0);
  EXPECT_FALSE(graph.is_output(next.id));
  EXPECT_EQ(graph.updates()[0], no_node);
}

TEST_F(GraphTest, WhatPassesSetIsThere) {
  const Value x = input("x", {n, 4, 3}), mask = input("mask", {n, 4}, DType::boolean), y = exp(x);
  EXPECT_EQ(graph.node(y.id).kernel, ir::no_kernel);
  graph.set_kernel(y.id, ir::inlined);
  EXPECT_EQ(graph.node(y.id).kernel, ir::inlined);
  graph.set_name("h");
  EXPECT_EQ(graph.name(), "h");
  graph.set_unpadded(0);
  EXPECT_TRUE(graph.inputs()[0].unpadded);
  graph.set_padding(y.id, {.mask = mask.id, .anything = true});
  EXPECT_EQ(graph.node(y.id).padding.mask, mask.id);
  const Value w = graph.add_state({"w", {DType::f32, {3}}});
  graph.set_touched_by(0, y.id);
  EXPECT_EQ(graph.node(w.id).touched_by, y.id);
  graph.set_origin(y.id, {"dense_2", "mlp.cpp", 15});
  EXPECT_EQ(graph.node(y.id).origin.text(), "dense_2, mlp.cpp:15");
  EXPECT_EQ(to_string(access_of(graph, y.id)), "i,j,k: [i,j,k]");
}

TEST_F(GraphTest, AScanTakesAnotherBodyOfTheSameTypes) {
  const auto body = [&](const char* name, bool doubled) {
    Graph step(name);
    const Value h = step.add_input({"h", {DType::f32, {n, 2}}}), x = step.add_input({"x", {DType::f32, {n, 2}}});
    step.add_output(doubled ? h + x * 2.0 : h + x);
    return Body(step);
  };
  const Value h = input("h", {n, 2}), xs = input("xs", {n, 5, 2});
  const Value scan = graph.add(Scan{.body = body("sum", false), .carries = 1, .sequences = 1, .length = 5}, {h, xs});
  EXPECT_EQ(std::get<Scan>(graph.node(scan.id).op).body, body("other name", false));
  graph.set_body(scan.id, body("doubled", true));
  EXPECT_EQ(std::get<Scan>(graph.node(scan.id).op).body, body("doubled", true));
}

}  // namespace
}  // namespace sinter::ir::graph_test
