// The executor with steps written by hand in C++, as the code generator would write them.
#include "runtime/executor.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstring>

#include "ir/error.h"
#include "runtime/isa/kernels.h"
#include "tests/runtime/helpers.h"
#include "tests/support/allocations.h"

namespace sinter::runtime::executor_test {
namespace {

constexpr std::int64_t features = 20, outputs = 24, rows_a_chunk = 8, table_rows = 6;

enum BufferIndex : std::size_t { x, index, table, w, h, partial, row, y, total, buffer_count };

/// Stage 0, by chunks of samples: row = table[index] (scratch), h = (x + row) · w; column sums of the chunk to its slot. Stage 1: the slots in order
/// to the output `total` and the state w += total[0]; y = h.
std::int64_t step(StepContext* c, std::int32_t thread, std::uint32_t stage, ChunkSource* source) {
  const auto at = [&](std::size_t i) { return reinterpret_cast<float*>(c->buffers[i]); };
  const std::int64_t slots = (c->batch + rows_a_chunk - 1) / rows_a_chunk, chunks = stage == 0 ? slots : 1, x_stride = 24;
  if (!source) return chunks;
  float* scratch = reinterpret_cast<float*>(c->scratch + thread * (rows_a_chunk * x_stride * 4));
  for (std::int64_t chunk; (chunk = source->next(source, chunks)) >= 0;) {
    if (stage == 1) {
      for (std::int64_t j = 0; j < outputs; ++j) {
        float sum = 0;
        for (std::int64_t slot = 0; slot < slots; ++slot) sum += at(partial)[slot * outputs + j];
        at(total)[j] = sum;
      }
      for (std::int64_t i = 0; i < features * outputs; ++i) at(w)[i] += at(total)[0];
      std::memcpy(at(y), at(h), static_cast<std::size_t>(c->batch * outputs) * 4);
      c->span(c, thread, 3, 0, c->batch, 10, 20);
      continue;
    }
    const std::int64_t begin = chunk * rows_a_chunk, end = std::min(c->batch, begin + rows_a_chunk);
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int32_t r = reinterpret_cast<const std::int32_t*>(c->buffers[index])[i];
      if (r < 0 || r >= c->table_rows[2]) {
        std::atomic_ref(c->fault).exchange(1 + 7);
        continue;
      }
      for (std::int64_t j = 0; j < features; ++j) scratch[(i - begin) * x_stride + j] = at(x)[i * x_stride + j] + at(table)[r * x_stride + j];
    }
    const isa::GemmCall call{scratch, at(w), at(h) + begin * outputs, end - begin, features, outputs, x_stride, outputs, outputs, 0, 0};
    isa::kernels().gemm(&call);
    for (std::int64_t j = 0; j < outputs; ++j) {
      float sum = 0;
      for (std::int64_t i = begin; i < end; ++i) sum += at(h)[i * outputs + j];
      at(partial)[chunk * outputs + j] = sum;
    }
  }
  return chunks;
}

StepImage image() {
  const Dim n = Dim::batch();
  StepImage image;
  image.entry = &step;
  image.buffers = {{Place::input, 0, {DType::f32, {n, features}}, 0, "x"},
                   {Place::input, 1, {DType::i32, {n}}, 0, "index"},
                   {Place::input, 2, {DType::f32, {Dim::rows(), features}}, 0, "table"},
                   {Place::state, 0, {DType::f32, {features, outputs}}, 0, "w"},
                   {Place::arena, 0, {DType::f32, {n, outputs}}, 0, "h"},
                   {Place::arena, 0, {DType::f32, {n, outputs}}, outputs * 4, "partial"},
                   {Place::scratch, 0, {DType::f32, {n, features}}, 0, "row"},
                   {Place::output, 0, {DType::f32, {n, outputs}}, 0, "y"},
                   {Place::output, 1, {DType::f32, {outputs}}, 0, "total"}};
  image.phases.resize(2);
  image.stages = {{0}, {1}};
  image.phases[0].loops = {{.units = n, .limits = {.most = rows_a_chunk}}};
  image.phases[0].work.flops = Polynomial<double>::of(n, 2 * features * outputs);
  image.phases[1].loops = {{}};
  image.arenas = {{.scale = n, .granule = 64, .bytes = 2 * outputs * 4}};
  image.scratch_bytes = rows_a_chunk * 24 * 4;
  return image;
}

/// A call's memory, filled the same way each time.
struct Call {
  std::int64_t n;
  Buffer x, index, table, w, y, total;
  std::array<std::byte*, 3> inputs;
  std::array<std::byte*, 1> states;
  std::array<std::byte*, 2> results;
  std::array<std::int64_t, 3> rows{0, 0, table_rows};

  explicit Call(std::int64_t batch) : n(batch) {
    const auto floats = [](std::int64_t count, std::uint32_t seed) {
      Buffer buffer = Buffer::zeroed(static_cast<std::size_t>(count) * 4);
      std::mt19937 random(seed);
      for (std::int64_t i = 0; i < count; ++i) reinterpret_cast<float*>(buffer.data())[i] = static_cast<float>(random() % 2000) / 1000 - 1;
      return buffer;
    };
    x = floats(n * 24, 1);
    table = floats(table_rows * 24, 2);
    w = floats(features * outputs, 3);
    y = Buffer::zeroed(static_cast<std::size_t>(n * outputs) * 4);
    total = Buffer::zeroed(outputs * 4);
    index = Buffer::zeroed(static_cast<std::size_t>(n) * 4);
    for (std::int64_t i = 0; i < n; ++i) indices()[i] = static_cast<std::int32_t>(i % table_rows);
    inputs = {x.data(), index.data(), table.data()};
    states = {w.data()};
    results = {y.data(), total.data()};
  }
  std::int32_t* indices() const { return reinterpret_cast<std::int32_t*>(index.data()); }
  Bindings bindings() const { return {inputs, states, results, rows, n}; }
  std::string bytes() const {
    std::string all;
    for (const Buffer& b : {y, total, w}) all.append(reinterpret_cast<const char*>(b.data()), b.bytes());
    return all;
  }
};

TEST(Executor, GivesTheSameBytesForAnyNumberOfThreads) {
  for (const std::int64_t n : {1, 5, 64, 131}) {
    std::string expected;
    for (int threads = 1; threads <= 4; ++threads) {
      Executor executor(image());
      const Call call(n);
      EXPECT_EQ(executor.run(call.bindings(), threads, true), 0u);
      EXPECT_EQ(executor.last_threads(), threads);
      EXPECT_EQ(executor.run(call.bindings(), threads, true), 0u);  // claims start at 0 again
      if (threads == 1) expected = call.bytes();
      EXPECT_EQ(call.bytes(), expected) << threads << " threads, N = " << n;
    }
    // The first output element, by hand.
    const Call call(n);
    double sum = 0;
    const auto* x0 = reinterpret_cast<const float*>(call.x.data());
    const auto* t0 = reinterpret_cast<const float*>(call.table.data());
    const auto* w0 = reinterpret_cast<const float*>(call.w.data());
    for (std::int64_t k = 0; k < features; ++k) sum += static_cast<double>(x0[k] + t0[k]) * static_cast<double>(w0[k * outputs]);
    Executor executor(image());
    executor.run(call.bindings());
    EXPECT_NEAR(reinterpret_cast<const float*>(call.y.data())[0], sum, 1e-5);
  }
}

TEST(Executor, ArenasGrowWithTheBatchAndStay) {
  Executor executor(image());
  executor.run(Call(5).bindings());
  const std::size_t small = executor.arena_bytes();
  executor.run(Call(1000).bindings());
  const std::size_t large = executor.arena_bytes();
  EXPECT_GT(large, small);
  executor.run(Call(5).bindings());
  EXPECT_EQ(executor.arena_bytes(), large);
  EXPECT_EQ(executor.buffer(row), nullptr);
  EXPECT_EQ(executor.buffer(partial) - executor.buffer(h), outputs * 4 * 64) << "5 samples, in steps of 64";
}

TEST(Executor, LittleWorkRunsOnOneThread) {
  Executor executor(image());
  executor.run(Call(5).bindings(), 4);
  EXPECT_EQ(executor.last_threads(), 1);
  executor.run(Call(8000).bindings(), 4);
  EXPECT_GT(executor.last_threads(), 1);
}

TEST(Executor, ReportsAnIndexOutOfRange) {
  Executor executor(image());
  const Call call(64);
  call.indices()[17] = table_rows;
  EXPECT_EQ(executor.run(call.bindings(), 2, true), 8u);
  EXPECT_EQ(executor.run(Call(64).bindings(), 2, true), 0u);  // and forgets it
}

TEST(Executor, NeedsAllItsBindings) {
  Executor executor(image());
  const Call call(5);
  Bindings bindings = call.bindings();
  bindings.outputs = bindings.outputs.first(1);
  EXPECT_THROW(executor.run(bindings), InternalError);
  bindings = call.bindings();
  bindings.sizes.n = 0;
  EXPECT_THROW(executor.run(bindings), InternalError);
}

/// A step that calls its own executor, from inside.
struct Reentrant {
  static inline Executor* executor = nullptr;
  static inline std::string message;
  static std::int64_t entry(StepContext*, std::int32_t, std::uint32_t, ChunkSource*) {
    try {
      executor->run({});
    } catch (const UserError& error) {
      message = error.what();
    }
    return 1;
  }
};

TEST(Executor, OneCallAtATime) {
  StepImage image;
  image.phases.resize(1);
  image.stages.resize(1);
  image.entry = &Reentrant::entry;
  Executor executor(image);
  Reentrant::executor = &executor;
  executor.run({});
  EXPECT_EQ(Reentrant::message,
            "[step] a compiled step runs one call at a time, but another thread is running this one; give each thread its own with clone()");
}

/// Threads multiply two small numbers whose product is denormal, until three of them have.
TEST(Executor, FlushesDenormalsToZeroInStepsOnly) {
  static std::array<std::atomic<int>, 3> zeros, others;
  for (int t = 0; t < 3; ++t) zeros[t] = others[t] = 0;
  StepImage image;
  image.phases.resize(1);
  image.phases[0].work.flops = Polynomial<double>::of(1, 1e9);
  image.stages.resize(1);
  image.entry = [](StepContext*, std::int32_t thread, std::uint32_t, ChunkSource* source) -> std::int64_t {
    while (source && source->next(source, 300) >= 0) {
      volatile float a = 1e-20f, b = 1e-19f;
      ++(a * b == 0.0f ? zeros : others)[static_cast<std::size_t>(thread)];
      for (int i = 0; i < 1000; ++i) b = a;
    }
    return 300;
  };
  Executor executor(image);
  const auto all_came = [] { return std::all_of(zeros.begin(), zeros.end(), [](const auto& count) { return count > 0; }); };
  while (!all_came()) executor.run({}, 3, true);
  for (const auto& count : others) EXPECT_EQ(count, 0);
  volatile float a = 1e-20f, b = 1e-19f;
  EXPECT_GT(a * b, 0.0f);
}

/// By the cost model there is nothing to do; a test that asks for threads must get them all the same.
TEST(Executor, ForcedThreadsShareTheSmallestStages) {
  static std::array<std::atomic<int>, 3> chunks_of;
  for (auto& count : chunks_of) count = 0;
  StepImage image;
  image.phases.resize(1);
  image.stages.resize(1);
  image.entry = [](StepContext*, std::int32_t thread, std::uint32_t, ChunkSource* source) -> std::int64_t {
    while (source && source->next(source, 300) >= 0) {
      ++chunks_of[static_cast<std::size_t>(thread)];
      for (volatile int i = 0; i < 1000;) i = i + 1;
    }
    return 300;
  };
  Executor executor(image);
  int runs = 0;
  while (runs < 20'000 && !(chunks_of[1] && chunks_of[2])) executor.run({}, 3, true), ++runs;
  EXPECT_GT(chunks_of[1], 0);
  EXPECT_GT(chunks_of[2], 0);
  EXPECT_EQ(chunks_of[0] + chunks_of[1] + chunks_of[2], runs * 300);
}

/// Stages 1 and 2 are run in turn, once for each of T steps; a thread alone, for which they have no chunks, runs them once.
TEST(Executor, RepeatsStagesOfStepsInTurn) {
  struct Run {
    std::uint32_t stage;
    std::int64_t repeat;
    bool operator==(const Run&) const = default;
  };
  static std::vector<Run> runs;
  static std::uint32_t fault_at = 0;
  StepImage image;
  image.phases.resize(2);
  image.stages = {{0, false}, {0, false, Dim::length(), 0}, {0, true, Dim::length(), 1, true}, {1}};
  image.entry = [](StepContext* context, std::int32_t, std::uint32_t stage, ChunkSource* source) -> std::int64_t {
    const std::int64_t chunks = stage == 1 || stage == 2 ? context->threads > 1 : 1;
    while (source && source->next(source, chunks) >= 0) {
      runs.push_back({stage, context->repeat});
      if (runs.size() == fault_at) context->fault = 7;
    }
    return chunks;
  };
  Executor executor(image);
  Bindings bindings;
  const auto run = [&](std::int64_t steps, int threads) {
    runs.clear();
    bindings.sizes.t = steps;
    return executor.run(bindings, threads, true);
  };
  EXPECT_EQ(run(3, 2), 0u);
  const std::vector<Run> all{{0, 0}, {1, 0}, {2, 0}, {1, 1}, {2, 1}, {1, 2}, {2, 2}, {3, 0}};
  EXPECT_EQ(runs, all);
  EXPECT_EQ(run(1, 2), 0u);
  EXPECT_EQ(runs, (std::vector<Run>{{0, 0}, {1, 0}, {2, 0}, {3, 0}}));
  EXPECT_EQ(run(3, 1), 0u);
  EXPECT_EQ(runs, (std::vector<Run>{{0, 0}, {3, 0}}));
  fault_at = 4;
  EXPECT_EQ(run(3, 2), 7u);
  EXPECT_EQ(runs, std::vector<Run>(all.begin(), all.begin() + 4)) << "nothing runs after a fault";
  fault_at = 0;
  EXPECT_EQ(run(3, 2), 0u);
  EXPECT_EQ(runs, all) << "the next call begins at the first step";
}

TEST(Executor, TellsAnObserverOfSpans) {
  Executor executor(image());
  const Call call(64);
  executor.run(call.bindings(), 2, true);  // nobody is told
  std::atomic<int> seen{0};
  executor.observe([&](const Span& span) {
    if (span.kernel == 3 && span.begin == 0 && span.end == 64 && span.sizes == Sizes(64) && span.start == 10 && span.stop == 20) ++seen;
    EXPECT_TRUE(span.thread == 0 || span.thread == 1);
  });
  executor.run(call.bindings(), 2, true);
  executor.run(call.bindings(), 2, true);
  EXPECT_EQ(seen, 2);
}

TEST(Executor, AllocatesNothingAfterWarmUp) {
  if (!test::allocations_are_counted) GTEST_SKIP() << "the sanitizer has its own malloc";
  Executor executor(image());
  const Call large(300), small(7);
  for (int i = 0; i < 3; ++i) {
    executor.run(large.bindings(), 4, true);
    executor.run(small.bindings());  // reads the number of threads at its first call
  }
  const std::int64_t before = test::allocations();
  for (int i = 0; i < 50; ++i) {
    executor.run(large.bindings(), 1 + i % 4, true);
    executor.run(small.bindings());
  }
  EXPECT_EQ(test::allocations(), before);
}

}  // namespace
}  // namespace sinter::runtime::executor_test
