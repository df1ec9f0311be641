// Phases, chunks and memory of a step.
#include "codegen/schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "codegen/memory_plan.h"
#include "passes/pipeline.h"
#include "tests/codegen/graphs.h"

namespace sinter::test::schedule_test {
namespace {

using ::testing::HasSubstr;

TEST(Schedule, AnMlpTrainingStepIsTwoPhases) {
  const ir::Graph graph = training_graph({784, 70, 30, 10});
  const codegen::Schedule schedule = codegen::make_schedule(graph, false);
  codegen::verify_schedule(graph, schedule);
  EXPECT_EQ(schedule.phases.size(), 2u) << codegen::to_text(graph, schedule);
  std::size_t sample_loops = 0;
  for (const codegen::Loop& loop : schedule.phases[0].loops) sample_loops += loop.domain.samples;
  EXPECT_EQ(sample_loops, 1u);
}

TEST(Schedule, ChunksAreAFunctionOfShapeAndBatchAlone) {
  for (const std::int64_t most : {1, 16, 128, 4096})
    for (const std::int64_t n : {1, 2, 7, 8, 63, 64, 500, 10000}) {
      const std::int64_t chunk = chunk_of(n, n, {.most = most});
      EXPECT_GE(chunk, 1);
      EXPECT_LE(chunk, most);
      EXPECT_TRUE(chunk % 8 == 0 || chunk == most);
    }
  EXPECT_EQ(chunk_of(500, 500, {.most = 4096}), 64);
  EXPECT_EQ(chunk_of(500, 500, {.most = 4096, .most_parts = 64}), 64) << "little work";
  EXPECT_EQ(chunk_of(500, 500, {.most = 4096, .most_parts = 64, .work = Polynomial<std::int64_t>::of(Dim::batch(50))}), 32) << "worth 24 chunks";
  EXPECT_EQ(chunk_of(10'000, 10'000, {.most = 4096, .most_parts = 64, .work = Polynomial<std::int64_t>::of(Dim::batch(50))}), 160);
  EXPECT_EQ(chunk_of(784, 500, {.most = 4096, .most_parts = 64, .work = 1 << 20}), 16);
}

/// The gradient of a wide weight, with much to do for each row of it: each chunk of rows reads the whole right operand, so few threads join chunks.
TEST(Schedule, ChunksOfAWideGradientMayBeJoined) {
  ir::Graph graph("g");
  const ir::Value a = graph.add_input({"a", {DType::f32, {Dim::batch(), 512}}}), b = graph.add_input({"b", {DType::f32, {Dim::batch(), 2048}}});
  ir::Value sum = matmul(a, b, true, false);
  for (int i = 0; i < 20; ++i) sum = sum * graph.add_input({str("factor", i), {DType::f32, {512, 2048}}, ir::InputSpec::Kind::fixed});
  graph.add_output(sum);
  passes::optimize(graph);
  const codegen::Schedule schedule = codegen::make_schedule(graph, false);
  const auto product = std::find_if(schedule.kernels.begin(), schedule.kernels.end(), [](const codegen::Kernel& kernel) {
    return kernel.is<codegen::Kernel::Group>() && kernel.anchor != ir::no_node;
  });
  ASSERT_NE(product, schedule.kernels.end());
  const codegen::Loop& loop = schedule.phases[product->phase].loops[product->loop];
  EXPECT_EQ(chunk_of(512, 4000, loop.limits), 8) << codegen::to_text(graph, schedule);
  EXPECT_EQ(loop.most_units(4000), 64);
  // Of sums that are one slot a chunk, chunks decide the result.
  const codegen::Schedule slots = codegen::make_schedule(training_graph({784, 70, 30, 10}), false);
  for (const codegen::Kernel& kernel : slots.kernels)
    if (kernel.is<codegen::Kernel::Partial>()) {
      EXPECT_EQ(slots.phases[kernel.phase].loops[kernel.loop].limits.joined, 1);
    }
}

/// They read the same rows; what only they read is not stored.
TEST(Schedule, ReductionsOfALoopAreOneKernel) {
  const auto schedule = [](bool is_read_elsewhere, bool keep_all, std::int64_t columns) {
    ir::Graph graph("g");
    const ir::Value x = graph.add_input({"x", {DType::f32, {Dim::batch(), 50, columns}}}), y = exp(x) * x;
    graph.add_output(sum(y * 3.0, 0, 2));
    graph.add_output(sum(square(y), 0, 2));
    graph.add_output(sum(y - x, 0, 3));
    graph.add_output(sum(sin(y), 0, 3));
    graph.add_output(graph.add(ir::Max{0, 3}, {y}));
    if (is_read_elsewhere) graph.add_output(y);
    passes::optimize(graph);
    return codegen::make_schedule(graph, keep_all);
  };
  const auto together = [](const codegen::Schedule& of) {  // how many reductions each partial has
    std::multiset<std::size_t> counts;
    for (const codegen::Kernel& kernel : of.kernels)
      if (kernel.is<codegen::Kernel::Partial>()) counts.insert(kernel.reductions().size());
    return counts;
  };
  const auto groups = [](const codegen::Schedule& of) {
    return std::count_if(of.kernels.begin(), of.kernels.end(), [](const auto& kernel) { return kernel.template is<codegen::Kernel::Group>(); });
  };
  const codegen::Schedule all = schedule(false, false, 20);
  EXPECT_EQ(together(all), (std::multiset<std::size_t>{1, 2, 2}));
  EXPECT_EQ(groups(all), 1) << "y, which three kernels read";
  EXPECT_EQ(groups(schedule(true, false, 20)), 1);
  EXPECT_EQ(together(schedule(false, true, 20)), (std::multiset<std::size_t>{1, 1, 1, 1, 1})) << "verify sees each";
  EXPECT_EQ(together(schedule(false, false, 2000)), (std::multiset<std::size_t>{1, 1, 1, 2})) << "long rows have their sums in the cache";
}

TEST(Schedule, OfReductionsThatAreOneKernelNothingElseIsStored) {
  const ir::Graph graph = two_sums_of_a_product();
  const codegen::Schedule schedule = codegen::make_schedule(graph, false);
  for (const codegen::Kernel& kernel : schedule.kernels) {
    EXPECT_FALSE(kernel.is<codegen::Kernel::Group>()) << codegen::to_text(graph, schedule);
    if (kernel.is<codegen::Kernel::Partial>()) {
      EXPECT_EQ(kernel.reads.size(), 1u);
    }
  }
}

/// What a slice reads lies in another place: it is read from memory.
TEST(Schedule, WhatIsReadElsewhereIsStoredForReductions) {
  ir::Graph graph("g");
  const ir::Value x = graph.add_input({"x", {DType::f32, {Dim::batch(), 50}}}), y = exp(x) * x;
  const ir::Value moved = graph.add(ir::Slice{0, 0, Dim::batch()}, {y});
  graph.add_output(sum(y, 0, 2));
  graph.add_output(sum(square(moved), 0, 2));
  passes::optimize(graph);
  const codegen::Schedule schedule = codegen::make_schedule(graph, false);
  EXPECT_TRUE(std::any_of(schedule.kernels.begin(), schedule.kernels.end(), [](const auto& k) { return k.template is<codegen::Kernel::Group>(); }))
      << codegen::to_text(graph, schedule);
}

TEST(Schedule, SwappedStatesGoThroughMemory) {
  const Parameter a("a", test::random({40}, 1)), b("b", test::random({40}, 2));
  StepCore step(
      [&](std::span<const Tensor>) {
        const Tensor old = a;
        a.assign(b);
        b.assign(old);
        return std::vector<Tensor>{};
      },
      {.name = "swap"}, std::source_location::current());
  const auto before_a = a.read().to_vector<float>(), before_b = b.read().to_vector<float>();
  step.call(std::span<const Tensor* const>{}, std::span<Tensor>{});
  EXPECT_EQ(a.read().to_vector<float>(), before_b);
  EXPECT_EQ(b.read().to_vector<float>(), before_a);
}

TEST(Schedule, UpdatesSeeOldValues) {
  // w <- w w^T, v <- w + v: the product reads all of w while it is replaced.
  const auto run = [](Mode mode) {
    const Parameter w("w", test::random({20, 20}, 1)), v("v", test::random({20, 20}, 2));
    auto step = compile(
        [&] {
          const Tensor old = w;
          w.assign(matmul(old, old, false, true));
          v.assign(old + v);
        },
        {.mode = mode});
    step(), step();
    if (mode == Mode::graph) {
      const VerifyReport report = step.verify();
      EXPECT_TRUE(report.ok()) << report;
    }
    auto values = w.read().to_vector<float>();
    for (const float x : v.read().to_vector<float>()) values.push_back(x);
    return values;
  };
  const auto eager = run(Mode::eager), graph = run(Mode::graph);
  for (std::size_t i = 0; i < eager.size(); ++i) ASSERT_NEAR(eager[i], graph[i], 1e-4 * std::max(1.0f, std::abs(eager[i])));
}

/// An input under another shape of as many rows and columns is read where it lies, also by the run that verify keeps every value of.
TEST(Schedule, ReshapedInputsAreNotCopied) {
  const auto kernels = [](const Shape& input, const Shape& rows, bool keep_all) {
    ir::Graph graph("views");
    const auto add = [&](const char* name, const Shape& shape, ir::InputSpec::Kind kind) {
      return graph.add_input({name, {DType::f32, shape}, kind});
    };
    const ir::Value x = add("x", input, ir::InputSpec::Kind::batch), w = add("w", {rows.back(), 16}, ir::InputSpec::Kind::fixed);
    graph.add_output(matmul(reshape(x, rows), w));
    passes::optimize(graph);
    const codegen::Schedule schedule = codegen::make_schedule(graph, keep_all);
    codegen::verify_schedule(graph, schedule);
    const codegen::MemoryPlan plan = codegen::plan_memory(schedule, keep_all);
    EXPECT_EQ(std::count_if(plan.buffers.begin(), plan.buffers.end(), [](const BufferSpec& b) { return b.place == Place::input; }), 2);
    return schedule.kernels.size();
  };
  const Dim n = Dim::batch();
  EXPECT_EQ(kernels({n, 4, 24}, {Dim::batch(4), 24}, false), 1u);
  EXPECT_EQ(kernels({n, 4, 24}, {Dim::batch(4), 24}, true), 1u);
  EXPECT_EQ(kernels({n, 4, 24}, {n, 96}, false), 2u) << "rows of another width are padded otherwise";
  EXPECT_EQ(kernels({n, 4, 3}, {Dim::batch(4), 3}, false), 1u) << "products read rows without padding";
  EXPECT_EQ(kernels({n, 4, 3}, {Dim::batch(4), 3}, true), 1u);
  EXPECT_EQ(kernels({n, 4, 3}, {n, 12}, false), 2u);
}

/// A result is written by the kernel that computes it, if its rows are the same under its own shape.
TEST(Schedule, ReshapedResultsAreNotCopied) {
  const auto kernels = [](const Shape& result, bool keep_all, bool is_result) {
    ir::Graph graph("views");
    const ir::Value x = graph.add_input({"x", {DType::f32, {Dim::batch(4), 24}}}), w = graph.add_state({"w", {DType::f32, {24, 24}}});
    const ir::Value z = matmul(x, w);
    graph.add_output(reshape(z, result));
    if (is_result) graph.add_output(z);
    passes::optimize(graph);
    const codegen::Schedule schedule = codegen::make_schedule(graph, keep_all);
    codegen::verify_schedule(graph, schedule);
    std::size_t outputs = 0;
    for (const codegen::Kernel& kernel : schedule.kernels)
      for (const codegen::Write& write : kernel.writes) outputs += schedule.values[write.value].home == codegen::StoredValue::Home::output;
    EXPECT_EQ(outputs, is_result ? 2u : 1u);
    return schedule.kernels.size();
  };
  const Dim n = Dim::batch();
  EXPECT_EQ(kernels({n, 4, 24}, false, false), 1u);
  EXPECT_EQ(kernels({n, 4, 24}, false, true), 1u) << "both are written by the product";
  EXPECT_EQ(kernels({n, 4, 24}, true, false), 1u);
  EXPECT_EQ(kernels({n, 96}, false, false), 2u) << "rows of another width are padded otherwise";
}

/// So is a value that a kernel stores.
TEST(Schedule, ReshapedValuesAreNotCopied) {
  ir::Graph graph("views");
  const Dim n = Dim::batch();
  const ir::Value x = graph.add_input({"x", {DType::f32, {Dim::batch(4), 24}}}), w = graph.add_state({"w", {DType::f32, {24, 24}}});
  const ir::Value z = matmul(x, w), p = graph.add(ir::Softmax{}, {reshape(z, {n, 4, 24})});
  graph.add_output(p);
  passes::optimize(graph);
  const auto kernels = [&](bool keep_all) {
    const codegen::Schedule schedule = codegen::make_schedule(graph, keep_all);
    codegen::verify_schedule(graph, schedule);
    const codegen::MemoryPlan plan = codegen::plan_memory(schedule, keep_all);
    for (codegen::ValueId v = 0; v < schedule.values.size(); ++v) EXPECT_EQ(plan.buffer_of[v], plan.buffer_of[schedule.memory_of(v)]);
    return schedule.kernels.size();
  };
  EXPECT_EQ(kernels(false), 2u);
  EXPECT_EQ(kernels(true), 2u);
}

/// Between convolutions, a product of the pixels of images: an image goes through all three while it is in the cache.
TEST(Schedule, ProductsOfPixelsAreInTheLoopOfImages) {
  ir::Graph graph("g");
  const ir::Value x = graph.add_input({"x", {DType::f32, {Dim::batch(), 8, 8, 16}}}), w = graph.add_state({"w", {DType::f32, {3, 3, 16, 16}}});
  const auto convolution = [&](ir::Value of, const ir::Value& kernel) { return graph.add(ir::Conv2D{.pads = {1, 1, 1, 1}}, {of, kernel}); };
  const ir::Value pixels = graph.add(ir::Conv2D{}, {convolution(x, w), graph.add_state({"pixel", {DType::f32, {1, 1, 16, 16}}})});
  graph.add_output(convolution(pixels, w));
  passes::optimize(graph);
  const codegen::Schedule schedule = codegen::make_schedule(graph, false);
  const auto kernel_of = [&]<class O>(std::type_identity<O>) {
    return *std::find_if(schedule.kernels.rbegin(), schedule.kernels.rend(),
                         [&](const codegen::Kernel& kernel) { return kernel.anchor != ir::no_node && graph.op_as<O>(kernel.anchor); });
  };
  const codegen::Kernel product = kernel_of(std::type_identity<ir::Matmul>()), last = kernel_of(std::type_identity<ir::Conv2D>());
  EXPECT_EQ(product.phase, last.phase) << codegen::to_text(graph, schedule);
  EXPECT_EQ(product.loop, last.loop);
  EXPECT_EQ(product.pace, codegen::Pace::images);
}

/// What makes no tiles goes at the pace of images that it reads or that read it; a product of rows does not.
TEST(Schedule, WhatIsComputedBesideImagesIsInTheirLoop) {
  const Dim n = Dim::batch();
  ir::Graph graph("g");
  const ir::Value x = graph.add_input({"x", {DType::f32, {n, 12, 8, 64}}});
  const ir::Value centred = x - graph.add(ir::Reshape{{n, 12, 8, 1}}, {graph.add(ir::Sum{3, 4}, {x})});
  const ir::Value pooled = graph.add(ir::Max{1, 3}, {centred});
  graph.add_output(centred);
  graph.add_output(matmul(pooled, graph.add_state({"w", {DType::f32, {64, 32}}})));
  graph.add_output(graph.add(ir::MaxPool{{2, 2}, {2, 2}, {0, 0, 0, 0}}, {x}));  // samples are not divided
  passes::optimize(graph);
  const codegen::Schedule schedule = codegen::make_schedule(graph, false);
  for (const codegen::Kernel& kernel : schedule.kernels) {
    const bool is_product = kernel.anchor != ir::no_node && graph.op_as<ir::Matmul>(kernel.anchor);
    EXPECT_EQ(kernel.pace, is_product ? codegen::Pace::rows : codegen::Pace::images) << codegen::to_text(graph, schedule);
    if (is_product) EXPECT_GT(kernel.phase, 0u);
    else EXPECT_EQ(kernel.phase, 0u) << codegen::to_text(graph, schedule);
  }
}

/// Images of 6.7 MB, each of which becomes a row of numbers.
TEST(Schedule, SamplesOfWhichAFewFillAChunkAreChunksOfFew) {
  ir::Graph graph("g");
  const ir::Value x = graph.add_input({"x", {DType::f32, {Dim::batch(), 50, 50, 669}}});
  graph.add_output(graph.add(ir::Max{1, 3}, {x}));
  passes::optimize(graph);
  const codegen::Schedule schedule = codegen::make_schedule(graph, false);
  ASSERT_EQ(schedule.phases.size(), 1u);
  ASSERT_EQ(schedule.phases[0].loops.size(), 1u);
  EXPECT_EQ(chunk_of(4, 4, schedule.phases[0].loops[0].limits), 1) << codegen::to_text(graph, schedule);
}

/// A tile of eight rows is what samples should fill.
TEST(Schedule, SamplesOfSeveralRowsAreChunksOfFew) {
  const auto least_of = [](const Shape& shape, bool is_summed = false) {
    ir::Graph graph("g");
    const ir::Value x = graph.add_input({"x", {DType::f32, shape}});
    graph.add_output(is_summed ? graph.add(ir::Sum{0, 3}, {x}) : graph.add(ir::Softmax{}, {x}));
    passes::optimize(graph);
    return chunk_of(2, 2, codegen::make_schedule(graph, false).phases[0].loops[0].limits);
  };
  EXPECT_EQ(least_of({Dim::batch(), 12, 840}), 1);
  EXPECT_EQ(least_of({Dim::batch(), 64, 304}), 1) << "of which six fill a chunk";
  EXPECT_EQ(least_of({Dim::batch(), 3, 840}), 4);
  EXPECT_EQ(least_of({Dim::batch(), 840}), 8);
  EXPECT_EQ(least_of({Dim::batch(), 12, 840}, true), 8) << "of slots, chunks decide the result";
}

/// Of a few samples each is cut, if no kernel of the phase waits for another, and none reads a weight in parts.
TEST(Schedule, FewSamplesAreCutLikeOne) {
  const auto cut = [](const std::function<ir::Value(ir::Graph&, ir::Value)>& of, const Shape& shape) {
    ir::Graph graph("g");
    graph.add_output(of(graph, graph.add_input({"x", {DType::f32, shape}})));
    passes::optimize(graph);
    const codegen::Schedule schedule = codegen::make_schedule(graph, false);
    return schedule.phases.back().cut_samples;
  };
  const Dim n = Dim::batch();
  const auto convolution = [](ir::Graph& graph, ir::Value x) {
    return graph.add(ir::Conv2D{.pads = {1, 1, 1, 1}}, {x, graph.add_state({"w", {DType::f32, {3, 3, 4, 4}}})});
  };
  EXPECT_EQ(cut(convolution, {n, 9, 9, 4}), 7);
  EXPECT_EQ(cut([](ir::Graph& graph, ir::Value x) { return graph.add(ir::Softmax{}, {x}); }, {n, 9, 40}), 7);
  EXPECT_EQ(cut([](ir::Graph& graph, ir::Value x) { return graph.add(ir::Sum{3, 4}, {x}); }, {n, 9, 8, 40}), 7);
  EXPECT_EQ(cut([](ir::Graph& graph, ir::Value x) { return graph.add(ir::Softmax{}, {x}); }, {n, 40}), 1) << "a sample is one row";
  EXPECT_EQ(
      cut([&](ir::Graph& graph, ir::Value x) { return graph.add(ir::MaxPool{{2, 2}, {2, 2}, {0, 0, 0, 0}}, {convolution(graph, x)}); }, {n, 9, 9, 4}),
      1);
  EXPECT_EQ(cut([](ir::Graph& graph, ir::Value x) { return matmul(x, graph.add_state({"w", {DType::f32, {512, 512}}})); }, {n, 512}), 1);
}

}  // namespace
}  // namespace sinter::test::schedule_test
