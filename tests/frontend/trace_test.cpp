#include "frontend/core/trace.h"
#include "ir/verify.h"
#include "tests/frontend/helpers.h"

namespace sinter::test::trace_test {
namespace {

using ::testing::HasSubstr;

ir::Graph traced(const StepCore::Function& function, std::vector<Spec> specs) {
  StepCore step(function, {.name = "f"}, std::source_location::current());
  ir::Graph graph = step.record(specs).graph;
  ir::verify(graph);
  return graph;
}

std::string text(const ir::Graph& graph) { return ir::to_text(graph, {.origins = false}); }

TEST(Trace, RecordsWhatTheFunctionDoes) {
  const Parameter w("w", Tensor::zeros({DType::f32, {3, 2}}));
  const ir::Graph graph = traced([&](auto in) { return std::vector{sigmoid(matmul(in[0], w))}; }, {Spec::batch(DType::f32, {3})});
  EXPECT_EQ(text(graph),
            "graph f(x0: f32[N,3])  state(w: f32[3,2])\n  %0: f32[N,2] = matmul(%x0, %w, transpose_a=false, transpose_b=false)\n"
            "  %1: f32[N,2] = sigmoid(%0)\n  return %1\n");
}

TEST(Trace, NodesCarryLayerAndLine) {
  nn::Sequential model{nn::Dense(3, 2)};
  const ir::Graph graph = traced([&](auto in) { return std::vector{model(in[0])}; }, {Spec::batch(DType::f32, {3})});
  EXPECT_THAT(ir::to_text(graph), HasSubstr("# dense_1, affine.cpp:"));
}

TEST(Trace, AssignmentsAreSimultaneousStateOutputs) {
  const Parameter a("a", Tensor(1.0f)), b("b", Tensor(2.0f));
  const ir::Graph graph = traced(
      [&](auto) {
        const Tensor old = a;
        a.assign(b);
        b.assign(old);
        return std::vector<Tensor>{};
      },
      {});
  EXPECT_EQ(text(graph).substr(text(graph).find("  a <-")), "  a <- %b\n  b <- %a\n");
}

TEST(Trace, TiedWeightsAreOneLeafAndCapturedTensorsHiddenInputs) {
  const Parameter w("w", Tensor::zeros({DType::f32, {2, 2}}));
  const Tensor captured = Tensor::zeros({DType::f32, {2}});
  const ir::Graph graph =
      traced([&](auto in) { return std::vector{matmul(matmul(in[0], w), w) + captured + captured}; }, {Spec::batch(DType::f32, {2})});
  EXPECT_EQ(graph.states().size(), 1u);
  ASSERT_EQ(graph.inputs().size(), 2u);
  EXPECT_EQ(graph.inputs()[1].kind, InputKind::hidden);
}

TEST(TraceErrors, ValuesThatDoNotExistYet) {
  const auto run = [](auto f) {
    return error_of([&] {
      traced(
          [&](auto in) {
            f(in[0]);
            return std::vector<Tensor>{};
          },
          {Spec::batch(DType::f32, {3})});
    });
  };
  EXPECT_THAT(run([](const Tensor& x) { sum(x).item(); }), HasSubstr("item() needs a value, but %1: f32[] has none while it is traced"));
  EXPECT_THAT(run([](const Tensor& x) { sum(x).item(); }), HasSubstr("[trace_test.cpp:"));
  EXPECT_THAT(run([](const Tensor& x) {
                if (sum(x) > 0) return;
              }),
              testing::AllOf(HasSubstr("[trace_test.cpp:"), HasSubstr("if (tensor) needs a value"), HasSubstr("use where() for choices")));
  EXPECT_THAT(run([](const Tensor& x) { x.to_vector<float>(); }), HasSubstr("to_vector() needs a value"));
}

TEST(TraceErrors, TheBatchHasLimits) {
  const auto run = [](auto f) {
    return error_of([&] { traced([&](auto in) { return std::vector<Tensor>{f(in[0])}; }, {Spec::batch(DType::f32, {3})}); });
  };
  EXPECT_THAT(run([](const Tensor& x) { return matmul(x, x, false, true); }), HasSubstr("at most one batch dimension per shape, got [N,N]"));
  EXPECT_THAT(run([](const Tensor& x) { return x + Tensor::zeros({DType::f32, {5, 3}}); }),
              HasSubstr("shapes [N,3] and [5,3] do not broadcast: N against 5"));
  EXPECT_THAT(run([](const Tensor& x) { return reshape(x, {7, 3}); }), HasSubstr("cannot reshape [N,3] (3N elements) to [7,3] (21 elements)"));
}

TEST(TraceErrors, ATracedTensorDoesNotOutliveItsTrace) {
  Tensor leaked;
  traced(
      [&](auto in) {
        leaked = in[0];
        return std::vector<Tensor>{};
      },
      {Spec::batch(DType::f32, {3})});
  EXPECT_THAT(error_of([&] { leaked + 1; }), HasSubstr("is traced, and its trace has ended"));
  EXPECT_THAT(error_of([&] { traced([&](auto) { return std::vector{leaked + 1}; }, {}); }), HasSubstr("belongs to another trace"));
}

TEST(TraceErrors, NoTableWithoutGather) {
  EXPECT_THAT(error_of([] { traced([](auto in) { return std::vector{in[0] + 1}; }, {Spec::table(DType::f32, {3})}); }),
              HasSubstr("only gather_rows may"));
}

}  // namespace
}  // namespace sinter::test::trace_test
