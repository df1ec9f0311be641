// The judge of checked steps, told by a step that is written by hand.
#include "runtime/checker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>

#include "ir/error.h"
#include "runtime/executor.h"
#include "tests/runtime/helpers.h"

namespace sinter::runtime::checker_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

enum BufferIndex : std::uint32_t { x, sums, early, late, row, y };
constexpr std::int64_t chunk_rows = 4;

/// What the step does, besides what every step does; on one thread.
struct Script {
  std::function<void(StepContext*)> first, second = {};
};
Script script;

std::int64_t step(StepContext* c, std::int32_t, std::uint32_t stage, ChunkSource* source) {
  const auto& what = stage == 0 ? script.first : script.second;
  while (source && source->next(source, 1) >= 0)
    if (what) what(c);
  return 1;
}

/// Two buffers of 16 floats a sample in an arena, `early` in the first phase alone.
StepImage image() {
  const Dim n = Dim::batch();
  StepImage image;
  image.entry = &step;
  image.buffers = {{Place::input, 0, {DType::f32, {n, 16}}, 0, "x"},
                   {Place::arena, 0, {DType::f32, {16}}, 0, "sums", 0, 1},
                   {Place::arena, 1, {DType::f32, {n, 16}}, 0, "early", 0, 0},
                   {Place::arena, 1, {DType::f32, {n, 16}}, 64, "late", 0, 1},
                   {Place::scratch, 0, {DType::f32, {n, 16}}, 0, "row", 0, 0, chunk_rows * 64},
                   {Place::output, 0, {DType::f32, {n, 16}}, 0, "y"}};
  image.kernels = {{"first", n, {}, {x, row, early, late}}, {"second", n, {}, {early, late, sums, y}}};
  image.phases.resize(2);
  image.stages = {{0}, {1}};
  image.arenas = {{.bytes = 64}, {.scale = n, .bytes = 128}};
  image.scratch_bytes = chunk_rows * 64;
  image.checked = true;
  return image;
}

/// The step run with 8 samples: what it left in `y`, or what was wrong.
struct Outcome {
  std::vector<float> y = std::vector<float>(8 * 16);
  std::string error;
};
Outcome run(Script what, int threads = 1) {
  script = std::move(what);
  Executor executor(image());
  Outcome result;
  std::vector<float> input(8 * 16 + 16, 1.0f);
  std::byte *inputs[] = {reinterpret_cast<std::byte*>(input.data())}, *outputs[] = {reinterpret_cast<std::byte*>(result.y.data())};
  const std::int64_t rows[] = {0};
  try {
    executor.run({inputs, {}, outputs, rows, 8}, threads, true);
  } catch (const InternalError& error) {
    result.error = error.what();
  }
  return result;
}

/// A call of a kernel by thread 0 that loads and stores these bytes of one of its buffers.
void call(StepContext* c, std::uint32_t kernel, std::int64_t chunk, std::uint32_t argument, std::pair<int, int> loads, std::pair<int, int> stores,
          bool shared = false) {
  KernelCheck* check = c->checks->enter(c, 0, kernel, chunk, shared);
  BufferCheck& buffer = check->buffers[argument];
  buffer.load_begin = loads.first, buffer.load_end = loads.second;
  buffer.store_begin = stores.first, buffer.store_end = stores.second;
  c->checks->leave(c, check);
}
constexpr std::pair<int, int> none{0, 0};

TEST(Checker, SaysWhereBuffersLieAndHowFarTheyReach) {
  const Outcome outcome = run({[](StepContext* c) {
    const KernelCheck* check = c->checks->enter(c, 0, 0, 0, false);
    EXPECT_EQ(check->buffers[0].begin, c->buffers[x]);
    EXPECT_EQ(check->buffers[0].bytes, 8 * 64);
    EXPECT_EQ(check->buffers[1].begin, c->scratch);
    EXPECT_EQ(check->buffers[1].bytes, chunk_rows * 64);
    EXPECT_EQ(check->buffers[3].begin - check->buffers[2].begin, 64 * 8);
    check = c->checks->enter(c, 0, 1, 0, false);
    EXPECT_EQ(check->buffers[2].begin, c->buffers[sums]);
    EXPECT_EQ(check->buffers[2].bytes, 64);
  }});
  EXPECT_EQ(outcome.error, "");
}

TEST(Checker, WhatHoldsNothingIsNaN) {
  const auto is_nan = [](const std::byte* at) {
    float value;
    std::memcpy(&value, at, 4);
    return std::isnan(value);
  };
  const Outcome outcome = run({[&](StepContext* c) {
                                 for (const std::uint32_t buffer : {sums, early, late, y}) EXPECT_TRUE(is_nan(c->buffers[buffer])) << buffer;
                                 for (const std::int64_t chunk : {0, 1}) {  // chunk scratch is new in every chunk, not in every kernel
                                   c->checks->enter(c, 0, 0, chunk, false);
                                   EXPECT_TRUE(is_nan(c->scratch));
                                   std::memset(c->scratch, 0, 4);
                                   c->checks->enter(c, 0, 1, chunk, false);
                                   EXPECT_FALSE(is_nan(c->scratch));
                                 }
                                 c->checks->enter(c, 0, 1, 2, false);  // another loop's chunk, while other threads share what thread 0 holds
                                 EXPECT_FALSE(is_nan(c->scratch));
                                 for (const std::uint32_t buffer : {early, late}) std::memset(c->buffers[buffer], 0, 4);
                               },
                               [&](StepContext* c) {
                                 EXPECT_TRUE(is_nan(c->buffers[early]));
                                 EXPECT_FALSE(is_nan(c->buffers[late]));
                               }});
  EXPECT_EQ(outcome.error, "");
  for (const float value : outcome.y) EXPECT_TRUE(std::isnan(value)) << "nobody wrote it";
}

TEST(Checker, ChunksMayNotShareWhatOneWrites) {
  const auto error = [](const std::function<void(StepContext*)>& first) { return run({first}).error; };
  EXPECT_EQ(error([](StepContext* c) {
              call(c, 0, 0, 2, none, {0, 256});
              call(c, 1, 0, 0, {0, 256}, none);  // its own
              call(c, 0, 1, 2, none, {256, 512});
              call(c, 0, 0, 0, {0, 512}, none);  // all read x
              call(c, 0, 1, 0, {0, 512}, none);
            }),
            "");
  EXPECT_THAT(error([](StepContext* c) {
                call(c, 0, 0, 2, none, {0, 260});
                call(c, 0, 1, 2, none, {256, 512});
              }),
              HasSubstr("in phase 0 chunk 0 of kernel 0 (first) stores to 'early' what chunk 1 of kernel 0 (first) stores too: 4 bytes"));
  EXPECT_THAT(error([](StepContext* c) {
                call(c, 1, 1, 0, {192, 512}, none);  // before it is written
                call(c, 0, 0, 2, none, {0, 256});
              }),
              HasSubstr("in phase 0 chunk 0 of kernel 0 (first) stores to 'early' what chunk 1 of kernel 1 (second) loads too: 64 bytes"));
  EXPECT_THAT(error([](StepContext* c) {
                call(c, 0, 0, 1, none, {0, 64}, true);
                call(c, 0, 1, 1, none, {0, 64}, true);
              }),
              HasSubstr("'row'"))
      << "threads that work on one sample share chunk scratch";
  EXPECT_EQ(error([](StepContext* c) {
              call(c, 0, 0, 1, none, {0, 64});
              call(c, 0, 1, 1, none, {0, 64});
            }),
            "")
      << "chunks of their own don't";
}

TEST(Checker, AnotherPhaseMayWriteWhatOneRead) {
  EXPECT_EQ(run({[](StepContext* c) { call(c, 0, 0, 3, none, {0, 512}); }, [](StepContext* c) { call(c, 1, 1, 1, {0, 512}, none); }}).error, "");
}

TEST(Checker, TellsOfAccessesOutside) {
  const Outcome outcome = run({[](StepContext* c) {
    KernelCheck* check = c->checks->enter(c, 0, 0, 0, false);
    c->checks->outside(c, check, check->buffers[3].begin, 512, 64, true);
    EXPECT_NE(c->fault, 0u) << "no further chunk is begun";
    c->checks->outside(c, check, check->buffers[0].begin, -4, 4, false);  // the first one counts
  }});
  EXPECT_THAT(outcome.error, AllOf(HasSubstr("kernel 0 (first) stores 64 bytes at byte 512 of 'late', which has 512")));
}

}  // namespace
}  // namespace sinter::runtime::checker_test
