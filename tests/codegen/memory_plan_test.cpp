// Where the values of a step lie.
#include "codegen/memory_plan.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "passes/pipeline.h"
#include "tests/codegen/graphs.h"

namespace sinter::test::memory_plan_test {
namespace {

TEST(MemoryPlan, ValuesOfOneLoopLieInScratchAndTapsDoNot) {
  const ir::Graph graph = training_graph({64, 32, 10});
  const codegen::Schedule schedule = codegen::make_schedule(graph, false);
  EXPECT_GT(codegen::plan_memory(schedule, false).scratch_bytes, 0);
  const codegen::Schedule kept = codegen::make_schedule(graph, true);
  const codegen::MemoryPlan separate = codegen::plan_memory(kept, true);
  // Only where products are collected before their epilogue.
  for (codegen::ValueId v = 0; v < kept.values.size(); ++v)
    if (kept.values[v].home == codegen::StoredValue::Home::memory && kept.values[v].node != ir::no_node) {
      EXPECT_NE(separate.buffers[separate.buffer_of[v]].place, Place::scratch) << kept.values[v].name;
    }
  // No two values of a tapped step share memory.
  for (std::size_t i = 0; i < separate.buffers.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (separate.buffers[i].place == Place::arena && separate.buffers[j].place == Place::arena &&
          separate.buffers[i].index == separate.buffers[j].index) {
        EXPECT_NE(separate.buffers[i].offset, separate.buffers[j].offset) << separate.buffers[i].name << ", " << separate.buffers[j].name;
      }
}

TEST(MemoryPlan, ValuesThatDoNotLiveTogetherShareScratch) {
  const ir::Graph graph = training_graph({64, 100, 100, 100, 100, 10});
  const codegen::MemoryPlan plan = codegen::plan_memory(codegen::make_schedule(graph, false), false);
  std::int64_t all = 0;
  for (const BufferSpec& buffer : plan.buffers)
    if (buffer.place == Place::scratch) all += buffer.chunk_bytes;
  EXPECT_LT(plan.scratch_bytes, all * 3 / 4);
}

/// Of a value that became part of the kernel that alone reads it.
TEST(MemoryPlan, WhatNoKernelUsesHasNone) {
  const ir::Graph graph = two_sums_of_a_product();
  const codegen::Schedule schedule = codegen::make_schedule(graph, false);
  const codegen::MemoryPlan plan = codegen::plan_memory(schedule, false);
  std::set<std::uint32_t> used;
  for (const codegen::Kernel& kernel : schedule.kernels)
    for (const std::uint32_t buffer : codegen::buffers_of(kernel, plan)) used.insert(buffer);
  EXPECT_EQ(used.size(), plan.buffers.size());
}

TEST(MemoryPlan, ArenasAreAsLargeAsTheBatch) {
  ir::Graph graph("g");
  const ir::Value x = graph.add_input({"x", {DType::f32, {Dim::batch(), 32}}}), column = graph.add(ir::Sum{1, 2}, {x}),
                  total = graph.add(ir::Sum{0, 1}, {column}), row = graph.add(ir::Softmax{}, {x * total});
  const ir::Value most = graph.add(ir::Max{0, 2}, {row});
  graph.add_output(column * total);
  graph.add_output(row * most);
  passes::optimize(graph);
  const codegen::MemoryPlan plan = codegen::plan_memory(codegen::make_schedule(graph, false), false);
  std::int64_t columns = 0, rows = 0, slots = 0;
  for (const BufferSpec& buffer : plan.buffers) {
    if (buffer.place != Place::arena) continue;
    const Arena& arena = plan.arenas[buffer.index];
    if (arena.slots) {  // one a chunk: a hundred million samples take little
      EXPECT_LE(arena.bytes * arena.units(100'000'000), 4 << 20) << buffer.name;
      ++slots;
    } else if (buffer.type.shape.has_batch()) {
      const bool column = symbolic_layout(buffer.type.shape).stride == Dim(1);
      // Samples of one column are not on cache lines of their own.
      EXPECT_EQ(arena.units(4), column ? 64 : 4) << buffer.name;
      ++(column ? columns : rows);
    }
  }
  EXPECT_GT(columns, 0);
  EXPECT_GT(rows, 0);
  EXPECT_EQ(slots, 2);
}

/// However N is divided: a step of fewer samples than the most may have more chunks.
TEST(MemoryPlan, SlotsAreEnoughForAnyBatchUpToTheMost) {
  for (const ChunkLimits& limits :
       {ChunkLimits{.most = 4096}, ChunkLimits{.least = 32, .most = 4096, .most_parts = 64, .work = {}},
        ChunkLimits{.least = 1, .most = 3, .granule = 1}, ChunkLimits{.least = 1, .most = 1 << 30, .granule = 1, .most_parts = 64}}) {
    ChunkLimits l = limits;
    l.work.factors[1] = 100;
    std::int64_t most = 0;
    for (std::int64_t n = 1; n < 20000; n += 1 + n / 50) {
      const std::int64_t size = chunk_of(n, n, l);
      most = std::max(most, (n + size - 1) / size);
      EXPECT_LE(most, most_chunks(n, n, l)) << n;
    }
  }
}

}  // namespace
}  // namespace sinter::test::memory_plan_test
