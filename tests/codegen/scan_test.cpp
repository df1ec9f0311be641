// Loops over time in compiled steps: what the code generator alone sees. Values: tests/frontend/scan_test.cpp.
#include "ir/scan.h"

#include <gmock/gmock.h>

#include <atomic>

#include "codegen/compile.h"
#include "codegen/scan_plan.h"
#include "codegen/schedule.h"
#include "passes/pipeline.h"
#include "tests/codegen/raw_step.h"
#include "tests/ir/expect_error.h"

namespace sinter::codegen::scan_test {
namespace {

using ir::Value;

/// A step of a file may have what tracing would compute before the loop.
TEST(ScanKernel, RefusesValuesOfTheWholeLoopInAStep) {
  const Dim n = Dim::batch();
  ir::Graph step("step");
  const Value h = step.add_input({"h", {DType::f32, {n, 3}}, ir::InputSpec::Kind::hidden});
  (void)step.add_input({"x", {DType::f32, {n, 3}}, ir::InputSpec::Kind::hidden});
  const Value numbers = cast(step.add(ir::Iota{{Dim::length()}}, {}), DType::f32), shares = step.add(ir::Cumsum{}, {numbers});
  step.add_output(h * sum(shares, 0, 1) + step.add(ir::Max{0, 1}, {shares}));
  ir::Graph graph("g");
  const Value carry = graph.add_input({"h", {DType::f32, {n, 3}}}), x = graph.add_input({"x", {DType::f32, {n, Dim::length(), 3}}});
  graph.add_output(ir::scan_result(graph.add(ir::Scan{ir::Body(step), 1, 1, Dim::length(), false}, {carry, x}), 0));
  passes::optimize(graph);
  EXPECT_USER_ERROR(compile(graph, {}), "scan: a step computes f32[T], which is the same for all samples; compute it before the scan");
}

/// h ← tanh(x + h U), of `units` units, of which the last ones are a result; or the sum of these. Several loops have weights of their own.
ir::Graph graph_of_loops(const std::vector<std::int64_t>& lengths, std::int64_t units, bool is_summed = false) {
  const Dim n = Dim::batch();
  ir::Graph step("step");
  const Value h = step.add_input({"h", {DType::f32, {n, units}}, ir::InputSpec::Kind::hidden});
  const Value x = step.add_input({"x", {DType::f32, {n, units}}, ir::InputSpec::Kind::hidden});
  const Value u = step.add_input({"u", {DType::f32, {units, units}}, ir::InputSpec::Kind::hidden});
  step.add_output(step.add(ir::Tanh{}, {x + matmul(h, u)}));
  ir::Graph graph("g");
  const Value carry = graph.add_input({"h", {DType::f32, {n, units}}});
  for (const std::int64_t steps : lengths) {
    const Value xs = graph.add_input({"x", {DType::f32, {n, steps, units}}}),
                weight = graph.add_input({"u", {DType::f32, {units, units}}, ir::InputSpec::Kind::fixed});
    const Value last = ir::scan_result(graph.add(ir::Scan{ir::Body(step), 1, 1, steps, false}, {carry, xs, weight}), 0);
    graph.add_output(is_summed ? sum(last, 0, 2) : last);
  }
  passes::optimize(graph);
  return graph;
}
ir::Graph graph_of_loop(std::int64_t units, std::int64_t steps, bool is_summed = false) { return graph_of_loops({steps}, units, is_summed); }

Loop loop_of(std::int64_t units) {
  const Schedule schedule = make_schedule(graph_of_loop(units, 200), false);
  for (const Phase& phase : schedule.phases)
    for (const Loop& loop : phase.loops)
      for (const std::size_t k : loop.kernels)
        if (schedule.kernels[k].scan && !schedule.kernels[k].is<Kernel::Pack>()) return loop;
  throw InternalError("test", "no loop over time");
}

TEST(ScanKernel, ChunksHaveMoreSamplesWhereAStepReadsMuch) {
  const auto samples = [](std::int64_t units, std::int64_t n) { return chunk_of(n, n, loop_of(units).limits); };
  EXPECT_EQ(samples(100, 64), 8);
  EXPECT_EQ(samples(1024, 64), 16);
  EXPECT_EQ(samples(1024, 8), 16) << "of which 8 are there";
}

/// How often the kernel of a loop over three steps is called.
std::size_t calls_of_loop(const ir::Graph& graph, std::int64_t n, int threads) {
  test::RawStep step(graph, {.profile = true}, n);
  std::atomic<std::size_t> calls{0};
  EXPECT_EQ(step.run(threads, [&](const runtime::Span& span) { calls += step.image.kernels[span.kernel].name.starts_with("scan"); }), "");
  return calls;
}

/// Before the loop, the product and the rest of each step, and after the loop: of the product, each thread has columns; of the rest, samples.
TEST(ScanKernel, ThreadsShareStepsOfFewSamples) {
  const ir::Graph graph = graph_of_loop(520, 3), small = graph_of_loop(100, 3);
  EXPECT_EQ(calls_of_loop(graph, 1, 2), 1u + 3 * (2 + 1) + 1);
  EXPECT_EQ(calls_of_loop(graph, 17, 2), 1u + 3 * (2 + 2) + 1);
  EXPECT_EQ(calls_of_loop(graph, 1, 20), 1u + 3 * (11 + 1) + 1) << "there are 11 pieces of 48 columns";
  EXPECT_EQ(calls_of_loop(graph, 32, 2), 2u) << "each thread has 16 samples";
  EXPECT_EQ(calls_of_loop(graph, 32, 3), 1u + 3 * (3 + 3) + 1);
  EXPECT_EQ(calls_of_loop(graph, 200, 2), 4u) << "they are more than one range may have";
  EXPECT_EQ(calls_of_loop(graph, 17, 1), 1u);
  EXPECT_EQ(calls_of_loop(small, 1, 2), 1u) << "the weight stays in the cache";
}

/// The more samples a range has, the less often a weight is read.
TEST(ScanKernel, ThreadsHaveWholeLoopsOfTheSameWork) {
  const ir::Graph two = graph_of_loops({3, 3}, 520), unlike = graph_of_loops({3, 4}, 520), three = graph_of_loops({3, 3, 3}, 520);
  EXPECT_EQ(calls_of_loop(two, 32, 2), 2u) << "each thread has a loop";
  EXPECT_EQ(calls_of_loop(two, 200, 2), 2 * 4u) << "they are more than one range may have";
  EXPECT_EQ(calls_of_loop(two, 32, 1), 2u);
  EXPECT_EQ(calls_of_loop(unlike, 32, 2), 2 * 2u) << "one would wait for the other";
  EXPECT_EQ(calls_of_loop(three, 32, 2), 3 * 2u);
  EXPECT_EQ(calls_of_loop(three, 32, 3), 3u);
}

TEST(ScanKernel, WholeLoopsComputeTheSameBytes) {
  const ir::Graph graph = graph_of_loops({3, 3}, 520);
  const StepImage image = compile(graph, {}).image, checked_image = compile(graph, {.checked = true}).image;
  for (const std::int64_t n : {1, 8, 32, 70}) {
    test::RawStep plain(image, graph, n), checked(checked_image, graph, n);
    EXPECT_EQ(plain.run(1), "");
    const std::vector<float> expected = plain.values();
    for (const int threads : {2, 3, 4}) {
      EXPECT_EQ(plain.run(threads), "");
      EXPECT_EQ(plain.values(), expected) << n << " samples, " << threads << " threads";
      EXPECT_EQ(checked.run(threads), "") << n << " samples, " << threads << " threads";
      EXPECT_EQ(checked.values(), expected) << n << " samples, " << threads << " threads";
    }
  }
}

/// h ← h where the mask has no step of the sample, else tanh(x + h U); stacked are averages of h, one a sample, whose vectors lie apart.
ir::Graph graph_of_masked_loop(std::int64_t units, std::int64_t steps, bool reverse) {
  const Dim n = Dim::batch();
  ir::Graph step("step");
  const Value h = step.add_input({"h", {DType::f32, {n, units}}, ir::InputSpec::Kind::hidden});
  const Value x = step.add_input({"x", {DType::f32, {n, units}}, ir::InputSpec::Kind::hidden});
  const Value mask = step.add_input({"mask", {DType::boolean, {n}}, ir::InputSpec::Kind::hidden});
  const Value u = step.add_input({"u", {DType::f32, {units, units}}, ir::InputSpec::Kind::hidden});
  const Value next = select(reshape(mask, {n, 1}), step.add(ir::Tanh{}, {x + matmul(h, u) * 0.0625}), h);
  step.add_output(next);
  const Value shares = step.add(ir::Softmax{}, {next * 3.0});  // its rows have memory of their own
  step.add_output(select(mask, sum(shares * next, 1, 2), step.add(ir::Constant{0}, {})));
  ir::Graph graph("g");
  const Value carry = graph.add_input({"h", {DType::f32, {n, units}}}), xs = graph.add_input({"x", {DType::f32, {n, steps, units}}}),
              numbers = graph.add_input({"m", {DType::f32, {n, steps}}}),
              weight = graph.add_input({"u", {DType::f32, {units, units}}, ir::InputSpec::Kind::fixed});
  const Value has = less(numbers, graph.add(ir::Constant{0.6}, {}));
  const Value loop = graph.add(ir::Scan{ir::Body(step), 1, 2, steps, reverse}, {carry, xs, has, weight});
  graph.add_output(ir::scan_result(loop, 0));
  graph.add_output(ir::scan_result(loop, 1));
  passes::optimize(graph);
  return graph;
}

TEST(ScanKernel, SharedStepsComputeTheSameBytes) {
  const auto compare = [](const ir::Graph& graph, const char* what) {
    EXPECT_THAT(to_text(graph, make_schedule(graph, false)), testing::HasSubstr("each step of few samples in up to 11 pieces")) << what;
    const StepImage image = compile(graph, {}).image, checked_image = compile(graph, {.checked = true}).image;
    for (const std::int64_t n : {1, 2, 19}) {
      test::RawStep plain(image, graph, n), checked(checked_image, graph, n);
      EXPECT_EQ(plain.run(1), "");
      const std::vector<float> expected = plain.values();
      for (const int threads : {2, 3, 20}) {
        EXPECT_EQ(plain.run(threads), "");
        EXPECT_EQ(plain.values(), expected) << what << ", " << n << " samples, " << threads << " threads";
        EXPECT_EQ(checked.run(threads), "") << what << ", " << n << " samples, " << threads << " threads";
        EXPECT_EQ(checked.values(), expected) << what << ", " << n << " samples, " << threads << " threads";
      }
    }
  };
  compare(graph_of_masked_loop(520, 7, false), "masked");
  compare(graph_of_masked_loop(520, 7, true), "masked, from the last step on");
}

/// What no product of the step needs waits for the last stage: of the forward loop, what is kept for the gradient.
TEST(ScanKernel, SharedStepsHaveAsFewStagesAsMayBe) {
  std::vector<std::size_t> stages;
  for (const Kernel& kernel : make_schedule(test::recurrent_training_graph(520), false).kernels)
    if (kernel.cuts_steps()) stages.push_back(kernel.scan->stages.size());
  EXPECT_EQ(stages, (std::vector<std::size_t>{2, 3})) << "product and gates; and in the other direction gates, product and sum";
}

/// The steps of both directions; states are updated, so that each run has other values.
TEST(ScanKernel, SharedStepsOfATrainingStepComputeTheSameBytes) {
  const ir::Graph graph = test::recurrent_training_graph(520);
  const StepImage image = compile(graph, {}).image, checked = compile(graph, {.checked = true}).image;
  for (const std::int64_t n : {1, 5, 19}) {
    const auto values = [&](const StepImage& of, int threads) {
      test::RawStep step(of, graph, n);
      EXPECT_EQ(step.run(threads), "") << n << " samples, " << threads << " threads";
      return step.values();
    };
    const std::vector<float> expected = values(image, 1);
    for (const int threads : {2, 3}) {
      EXPECT_EQ(values(image, threads), expected) << n << " samples, " << threads << " threads";
      EXPECT_EQ(values(checked, threads), expected) << n << " samples, " << threads << " threads";
    }
  }
}

/// 41 samples are 24 and 17 on two threads, and 16, 16 and 9 on three; 200 are four times 56 or less on two.
TEST(ScanKernel, RangesOfThreadsWhereAStepReadsMuch) {
  EXPECT_EQ(loop_of(100).most_units(41), 8);
  EXPECT_EQ(loop_of(1024).most_units(41), 41);
  EXPECT_EQ(loop_of(1024).most_units(200), 64);
  const ir::Graph graph = graph_of_loop(520, 3);
  for (const std::int64_t n : {1, 17, 41, 70, 200}) {
    test::RawStep plain(graph, {}, n), checked(graph, {.checked = true}, n);
    EXPECT_EQ(plain.run(1), "");
    const std::vector<float> expected = plain.values();
    for (const int threads : {1, 2, 3, 5}) {
      EXPECT_EQ(plain.run(threads), "");
      EXPECT_EQ(plain.values(), expected) << n << " samples, " << threads << " threads";
      EXPECT_EQ(checked.run(threads), "") << n << " samples, " << threads << " threads";
      EXPECT_EQ(checked.values(), expected) << n << " samples, " << threads << " threads";
    }
  }
}

/// Partial sums lie in a slot a chunk: ranges of threads would leave slots empty.
TEST(ScanKernel, NoRangesOfThreadsWhereChunksHaveSlots) {
  const ir::Graph graph = graph_of_loop(520, 2, true);
  const Schedule schedule = make_schedule(graph, false);
  for (const Phase& phase : schedule.phases)
    for (const Loop& loop : phase.loops)
      if (std::any_of(loop.kernels.begin(), loop.kernels.end(), [&](std::size_t k) { return schedule.kernels[k].is<Kernel::Partial>(); })) {
        EXPECT_EQ(loop.limits.joined, 1) << to_text(graph, schedule);
      }
  for (const std::int64_t n : {1, 41, 200}) {
    test::RawStep step(graph, {}, n);
    EXPECT_EQ(step.run(1), "");
    const std::vector<float> expected = step.values();
    for (const int threads : {2, 3}) {
      EXPECT_EQ(step.run(threads), "");
      EXPECT_EQ(step.values(), expected) << n << " samples, " << threads << " threads";
    }
  }
}

}  // namespace
}  // namespace sinter::codegen::scan_test
