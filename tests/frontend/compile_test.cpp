#include <cmath>
#include <thread>

#include "frontend/core/trace.h"
#include "frontend/train/trainer.h"
#include "ir/graph.h"
#include "tests/frontend/helpers.h"

namespace sinter::test::compile_test {
namespace {

using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Compile, KeepsTheSignature) {
  NEEDS_CODEGEN();
  auto one = compile([](const Tensor& x) { return x * 2.0f; });
  auto two = compile([](const Tensor& x, const Tensor& y) { return std::pair(x + y, x - y); });
  auto many = compile([](const Tensor& x) { return std::vector{x, x + 1, x + 2}; });
  const Tensor x({1, 2, 3}, {3}), y({4, 5, 6}, {3});
  EXPECT_THAT(one(x).to_vector<float>(), ElementsAre(2, 4, 6));
  EXPECT_THAT(two(x, y).second.to_vector<float>(), ElementsAre(-3, -3, -3));
  EXPECT_THAT(many(x)[2].to_vector<float>(), ElementsAre(3, 4, 5));
}

TEST(Compile, OnceForEveryBatchSize) {
  NEEDS_CODEGEN();
  SmallModel m;
  for (const std::int64_t n : {32, 5, 1, 64, 500}) m.step(random({n, 20}, 1), random_labels(n, 7, 2));
  EXPECT_EQ(m.step.compile_count(), 1u);
}

TEST(Compile, GraphAndEagerTrainAlike) {
  NEEDS_CODEGEN();
  SmallModel graph({.mode = Mode::graph}), eager({.mode = Mode::eager});
  for (int i = 0; i < 20; ++i) {
    const Tensor x = random({37, 20}, 100 + i), y = random_labels(37, 7, 200 + i);
    EXPECT_NEAR(graph.step(x, y).item(), eager.step(x, y).item(), 1e-5);
  }
  const auto a = graph.values(), b = eager.values();
  for (std::size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], 2e-4) << i;
}

TEST(Compile, SameBytesOnAnyNumberOfThreads) {
  NEEDS_CODEGEN();
  std::vector<float> first;
  for (const int threads : {1, 2, 3, 4}) {
    SmallModel m({.threads = threads, .force = true});
    for (int i = 0; i < 200; ++i) m.step(random({i % 2 ? 500 : 137, 20}, i), random_labels(i % 2 ? 500 : 137, 7, 1000 + i));
    EXPECT_EQ(m.step.core()->last_threads(), threads);
    if (first.empty()) first = m.values();
    EXPECT_EQ(m.values(), first) << threads << " threads";
  }
}

/// Steps of many stages have these in a module of their own, compiled without LLVM's optimizations.
TEST(Compile, ManyStages) {
  NEEDS_CODEGEN();
  const Parameter w("w", random({20, 20}, 1));
  const auto function = [&](const Tensor& x) {
    Tensor y = x;
    for (int i = 0; i < 20; ++i) y = tanh(matmul(y, w)) - mean(y) * (0.1f + 0.01f * static_cast<float>(i));
    const Tensor loss = mean(square(y));
    return std::vector{y, loss, grad(loss, {w})[0]};
  };
  std::vector<std::vector<float>> first;
  for (const int threads : {1, 2, 4}) {
    auto step = compile(function, {.threads = threads, .force = true});
    std::vector<std::vector<float>> bytes;
    for (const std::int64_t n : {1, 7, 300})
      for (const Tensor& result : step(random({n, 20}, 2))) bytes.push_back(result.to_vector<float>());
    EXPECT_THAT(step.explain(), ContainsRegex("schedule: [3-9][0-9] phases"));
    EXPECT_TRUE(step.verify(random({7, 20}, 2)).ok());
    if (first.empty()) first = bytes;
    EXPECT_EQ(bytes, first) << threads << " threads";
  }
}

/// Reductions over the same rows are one kernel in a step, and kernels of their own where verify looks at each: all bytes are the same.
TEST(Compile, ReductionsTogether) {
  NEEDS_CODEGEN();
  const auto function = [](const Tensor& x) {
    const Tensor y = exp(x) * x;
    return std::vector{sum(y * 3.f, {0, 1}), sum(square(y), {0, 1}), sum(y - x), sum(sin(y)), max(y), max(-y), mean(y * x), sum(y * y * x, {0, 1})};
  };
  for (const std::int64_t columns : {1, 20, 300})
    for (const std::int64_t n : {1, 300}) {
      std::vector<std::vector<float>> first;
      for (const int threads : {1, 2, 4}) {
        auto step = compile(function, {.threads = threads, .force = true});
        const Tensor x = random({n, 50, columns}, 1);
        std::vector<std::vector<float>> bytes;
        for (const Tensor& result : step(x)) bytes.push_back(result.to_vector<float>());
        if (first.empty()) {
          const VerifyReport report = step.verify(x);
          EXPECT_TRUE(report.ok()) << report;
          first = bytes;
        }
        EXPECT_EQ(bytes, first) << threads << " threads, " << n << " × 50 × " << columns;
      }
    }
}

TEST(Compile, EagerSteps) {
  NEEDS_CODEGEN();
  const Environment eager("SINTER_MODE", "eager");
  SmallModel m({.mode = Mode::graph});
  m.step(random({8, 20}, 1), random_labels(8, 7, 2));
  EXPECT_EQ(m.step.compile_count(), 0u);
}

TEST(CompileErrors, UnknownMode) {
  NEEDS_CODEGEN();
  const Environment bad("SINTER_MODE", "fast");
  SmallModel m;
  EXPECT_THAT(error_of([&] { m.step(random({8, 20}, 1), random_labels(8, 7, 2)); }),
              HasSubstr("[SINTER_MODE] must be 'eager' or 'graph', got 'fast'"));
}

TEST(CompileErrors, Inputs) {
  NEEDS_CODEGEN();
  SmallModel m;
  EXPECT_THAT(error_of([&] { m.step(random({8, 21}, 1), random_labels(8, 7, 2)); }),
              HasSubstr("input has 21 features but the layer was built for 20"));
  EXPECT_THAT(error_of([&] { m.step(random({8, 20}, 1), random_labels(9, 7, 2)); }), HasSubstr("inputs 'x0' and 'x1' have 8 and 9 samples"));
  EXPECT_THAT(error_of([&] { m.step(Tensor(), random_labels(9, 7, 2)); }), HasSubstr("input 0 was never set"));
}

TEST(CompileErrors, ALabelOutOfRangeLosesNothing) {
  NEEDS_CODEGEN();
  SmallModel m;
  m.step(random({4, 20}, 1), random_labels(4, 7, 2));
  const auto before = m.values();
  const Tensor bad(std::vector<std::int32_t>{0, 1, 7, 2}, {4});
  EXPECT_THAT(error_of([&] { m.step(random({4, 20}, 1), bad); }),
              HasSubstr("one_hot: index 7 is outside [0, 7), at [2] of input 'x1'; check the labels"));
  EXPECT_EQ(m.values(), before);
}

TEST(Compile, SnapshotsSurviveInPlaceUpdates) {
  NEEDS_CODEGEN();
  SmallModel m;
  const Tensor x = random({16, 20}, 1), y = random_labels(16, 7, 2);
  m.step(x, y);
  const Tensor snapshot = m.parameters[0];
  const auto before = snapshot.to_vector<float>();
  m.step(x, y);
  EXPECT_EQ(snapshot.to_vector<float>(), before);
  EXPECT_NE(m.parameters[0].read().to_vector<float>(), before);
}

TEST(Compile, VariantsAreBounded) {
  NEEDS_CODEGEN();
  std::vector<std::string> warnings;
  auto step = compile([](const Tensor& x) { return x + 1; }, {.name = "grow", .log = [&](const std::string& w) { warnings.push_back(w); }});
  for (std::int64_t width = 1; width <= 9; ++width) step(random({2, width}, 1));
  EXPECT_EQ(step.compile_count(), 9u);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_THAT(warnings[0], HasSubstr("[grow] more than 8 combinations of input shapes and types"));
  step(random({2, 9}, 1));
  EXPECT_EQ(step.compile_count(), 9u);
}

TEST(Compile, AtOnceForASpec) {
  NEEDS_CODEGEN();
  auto step = compile([](const Tensor& table, const Tensor& index) { return gather_rows(table, index); }, Spec::table(DType::f32, {3}),
                      Spec::batch(DType::i32, {}));
  EXPECT_EQ(step.compile_count(), 1u);
  EXPECT_THAT(step(random({50, 3}, 1), random_labels(4, 50, 2)).shape(), Shape({4, 3}));
  EXPECT_THAT(step(random({70, 3}, 1), random_labels(9, 70, 2)).shape(), Shape({9, 3}));
  EXPECT_EQ(step.compile_count(), 1u);
}

TEST(Compile, AStepInsideATraceIsInlined) {
  NEEDS_CODEGEN();
  auto inner = compile([](const Tensor& x) { return x * 2.0f; });
  auto outer = compile([&](const Tensor& x) { return inner(x) + 1; });
  EXPECT_THAT(outer(Tensor({1, 2}, {2})).to_vector<float>(), ElementsAre(3, 5));
  EXPECT_EQ(inner.compile_count(), 0u);
}

TEST(Compile, ClonesRunAtTheSameTime) {
  NEEDS_CODEGEN();
  nn::Sequential model{nn::Dense(20, 33, Activation::sigmoid), nn::Dense(33, 7)};
  auto predict = compile([&](const Tensor& x) { return model(x); });
  const Tensor x = random({64, 20}, 1);
  const auto wanted = predict(x).to_vector<float>();
  std::vector<std::thread> threads;
  std::array<bool, 3> same{};
  for (std::size_t t = 0; t < same.size(); ++t)
    threads.emplace_back([&, t, own = predict.clone()]() mutable {
      same[t] = true;
      for (int i = 0; i < 50; ++i) same[t] = same[t] && own(x).template to_vector<float>() == wanted;
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(same, ElementsAre(true, true, true));
}

TEST(Compile, PredictOneOfAStepThatWasNeverCalled) {
  nn::Sequential model{nn::Dense(20, 7, Activation::sigmoid)};
  const Tensor x = random({1, 20}, 1);
  const auto wanted = model(x).to_vector<float>();
  for (const Mode mode : modes()) {
    auto predict = compile([&](const Tensor& in) { return model(in); }, {.mode = mode});
    std::vector<float> out(7);
    predict.predict_one(x.to_vector<float>(), out);
    for (std::size_t i = 0; i < out.size(); ++i) EXPECT_NEAR(out[i], wanted[i], 1e-6);
  }
}

TEST(Compile, PredictOne) {
  NEEDS_CODEGEN();
  nn::Sequential model{nn::Dense(20, 7, Activation::sigmoid)};
  auto predict = compile([&](const Tensor& x) { return model(x); });
  const Tensor x = random({1, 20}, 1);
  const auto wanted = predict(x).to_vector<float>();
  std::vector<float> out(7);
  predict.predict_one(x.to_vector<float>(), out);
  EXPECT_EQ(out, wanted);
  EXPECT_THAT(error_of([&] { predict.predict_one(std::vector<float>(3), out); }), HasSubstr("predict_one: a sample has 20 numbers, got 3"));
}

/// A file may ask for values that no memory holds.
TEST(Compile, ValuesThatNoMemoryHoldsAreRefused) {
  NEEDS_CODEGEN();
  Traced traced{ir::Graph("huge"), {}, {}};
  ir::Graph& graph = traced.graph;
  ir::Value x = graph.add_input({"x", {DType::f32, {Dim::batch(), 1}}});
  ir::Pad pad;
  pad.axis = 1;
  pad.after = (std::int64_t{1} << 40) - 1;
  ir::Value total;
  for (int i = 0; i < 20; ++i) {
    const ir::Value wide = graph.add(ir::Softmax{}, {graph.add(pad, {x})});
    total = i ? total + wide : wide;
    x = graph.add(ir::Sum{1, 2}, {wide});
    x = graph.add(ir::Reshape{{Dim::batch(), 1}}, {x});
  }
  graph.add_output(graph.add(ir::Sum{1, 2}, {graph.add(ir::Mul{}, {total, total})}));
  StepCore step(std::move(traced), {.name = "huge"});
  const Tensor one({1}, {1, 1});
  const Tensor* const in[] = {&one};
  EXPECT_THAT(error_of([&] { step.call(in); }), HasSubstr("take more than 64 TiB"));
}

TEST(Compile, TwoModelsTrainInTwoThreadsAtOnce) {
  NEEDS_CODEGEN();
  const auto train = [](SmallModel& m) {
    for (std::uint64_t i = 0; i < 200; ++i) m.step(random({300, 20}, i), random_labels(300, 7, i));
  };
  SmallModel alone;
  train(alone);
  SmallModel a({.threads = 2, .force = true}), b({.threads = 2, .force = true});
  std::thread other([&] { train(b); });
  train(a);
  other.join();
  EXPECT_EQ(a.values(), alone.values());
  EXPECT_EQ(b.values(), alone.values());
}

TEST(Explain, TellsWhatHappened) {
  NEEDS_CODEGEN();
  SmallModel m;
  m.step(random({8, 20}, 1), random_labels(8, 7, 2));
  const std::string text = m.step.explain();
  EXPECT_THAT(text, HasSubstr("removed 1 gradient of input x0: 10,560 flops per step at N = 8"));
  EXPECT_THAT(text, HasSubstr("folded 2 biases"));
  EXPECT_THAT(text, HasSubstr("compiled 1 time\n"));
}

TEST(Explain, OfTheMlpStep) {
  NEEDS_CODEGEN();
  nn::Sequential model{nn::Dense(784, 70, Activation::sigmoid), nn::Dense(70, 30, Activation::sigmoid), nn::Dense(30, 10)};
  const auto regularizer = [&] { return loss::l2(1e-5f, {model.parameter("dense_1.weight"), model.parameter("dense_2.weight")}); };
  Trainer trainer(model, loss::categorical_crossentropy_from_logits, optim::RMSprop(), {.regularizer = regularizer});
  trainer.train_on_batch(random({500, 784}, 1), random_labels(500, 10, 2));
  const std::string text = trainer.train_step().explain();
  EXPECT_THAT(text, HasSubstr("removed 1 gradient of input x0: 54,880,000 flops per step at N = 500"));
  EXPECT_THAT(text, HasSubstr("folded 3 biases"));
  EXPECT_THAT(text, HasSubstr("schedule: 2 phases"));
  EXPECT_THAT(text, HasSubstr("threads at N = 500: "));
  EXPECT_THAT(text, HasSubstr(" of one core by the cost model, the widest phase has "));
  EXPECT_THAT(text, HasSubstr("[N,784]\u00b7[784,70]: "));
  EXPECT_THAT(text, HasSubstr("dense+sigmoid \u00d72"));       // forward
  EXPECT_THAT(text, HasSubstr("matmul+sub+mul+mul \u00d72"));  // backward: gradient · sigmoid · (1 - sigmoid)
}

TEST(Time, ShowsEveryKernel) {
  NEEDS_CODEGEN();
  SmallModel m;
  const TimeReport report = m.step.time(random({64, 20}, 1), random_labels(64, 7, 2));
  EXPECT_GT(report.eager_seconds, 0);
  EXPECT_GT(report.graph_seconds, 0);
  EXPECT_GT(report.compile_seconds, 0);
  EXPECT_DOUBLE_EQ(report.speedup(), report.eager_seconds / report.graph_seconds);
  EXPECT_FALSE(report.rows.empty());
  EXPECT_EQ(report.kernel_seconds.size(), static_cast<std::size_t>(report.rows.back().kernel + 1));
  ASSERT_EQ(report.parallelism.size(), 2u);
  EXPECT_EQ(report.parallelism[1].threads, 64);
  EXPECT_GE(report.parallelism[1].busy, 1);
  EXPECT_LE(report.parallelism[1].busy, 64);
  EXPECT_FALSE(report.parallelism[1].kernel.empty());
  EXPECT_THAT(str(report), HasSubstr("\nparallelism: "));
  EXPECT_THAT(report.details(), HasSubstr(" = dense f32[N,33]   # dense_1, "));
  const std::vector<TimeReport::Layer> layers = report.layers();
  ASSERT_EQ(layers.size(), 3u) << "dense_1, dense_2, and the loss and optimizer outside of layers";
  double kernels = 0, in_layers = 0, eager = 0, rows = 0;
  for (const double seconds : report.kernel_seconds) kernels += seconds;
  for (const TimeReport::Row& row : report.rows) {
    rows += row.eager_seconds;
    EXPECT_TRUE(row.layer.empty() || row.node.find("# " + row.layer) != std::string::npos) << row.node;
  }
  for (const TimeReport::Layer& layer : layers) {
    in_layers += layer.graph_seconds;
    eager += layer.eager_seconds;
    EXPECT_LE(layer.graph_seconds, layers[0].graph_seconds) << "the greatest first";
    EXPECT_THAT(str(report), HasSubstr(layer.name.empty() ? "  (outside of layers)\n" : "  " + layer.name + "\n"));
  }
  EXPECT_NEAR(in_layers, kernels, 1e-9 + 1e-6 * kernels) << "no time is lost or counted twice";
  EXPECT_NEAR(eager, rows, 1e-9 + 1e-6 * rows);
  EXPECT_THAT(m.step.explain(), HasSubstr("\nparallelism at N = 64, by the cost model: "));
}

TEST(Compile, NeedsACodeGenerator) {
  if (codegen::is_built()) GTEST_SKIP() << "it is there";
  SmallModel m({.mode = Mode::graph});
  EXPECT_THAT(error_of([&] { m.step(random({4, 20}, 1), random_labels(4, 7, 2)); }),
              HasSubstr("this build of Sinter has no code generator (SINTER_JIT=OFF)"));
}

/// What an anchor reads is stored, even if nothing else does.
TEST(Compile, PointwiseBeforeEveryKindOfAnchor) {
  const Tensor x = random({6, 12}, 21), index(std::vector<std::int32_t>{3, 0, 5, 5, 1, 2}, {6});
  const auto f = [](const Tensor& t, const Tensor& i) {
    const Tensor y = t * t + 1;
    return std::tuple(softmax(y * 2) * 3, log_softmax(y * 3), cumsum(y * 4) + 1, transpose(y * 5), concat({y * 6, y * 7}, 1) * 2,
                      top_k(y * 8, 3).values, gather_rows(cast(y * 9, DType::f32), i), sum(y * 10, {0}), prod(y, {1}), reshape(y * 11, {-1, 4}),
                      matmul(y * 12, y, false, true));
  };
  auto eager = compile(f, {.mode = Mode::eager, .kinds = {InputKind::fixed, InputKind::fixed}});
  auto graph = compile(f, {.mode = modes().back(), .kinds = {InputKind::fixed, InputKind::fixed}});
  if (codegen::is_built()) {
    const VerifyReport report = graph.verify(x, index);  // each within the bounds of its op
    EXPECT_TRUE(report.ok()) << report;
  }
  const auto wanted = eager(x, index), got = graph(x, index);
  const auto compare = [](const Tensor& a, const Tensor& b) {
    const auto p = a.to_vector<float>(), q = b.to_vector<float>();
    for (std::size_t i = 0; i < p.size(); ++i) ASSERT_NEAR(p[i], q[i], 1e-4 * std::max(1.0f, std::abs(q[i])));
  };
  [&]<std::size_t... I>(std::index_sequence<I...>) { (compare(std::get<I>(got), std::get<I>(wanted)), ...); }(std::make_index_sequence<11>{});
}

}  // namespace
}  // namespace sinter::test::compile_test
