/* A launcher in C: one thread, no memory but what its caller gives. */
#include "ir/launch.h"

/** Gives all chunks, in order. */
typedef struct {
  ChunkSource source;
  int64_t given;
} AllChunks;

static int64_t next_chunk(ChunkSource* source, int64_t chunks) {
  AllChunks* all = (AllChunks*)source;
  return all->given < chunks ? all->given++ : -1;
}

/** Runs a step of so many stages once. `counters`: zeros, as many as the step needs. */
uint32_t launch_once(StepEntry entry, uint32_t stages, Byte* const* buffers, int64_t batch, uint32_t* counters, Byte* scratch) {
  StepContext context = {0};
  context.buffers = buffers;
  context.batch = batch;
  context.counters = counters;
  context.scratch = scratch;
  context.threads = 1;
  for (uint32_t stage = 0; stage < stages; ++stage) {
    AllChunks all = {{next_chunk}, 0};
    entry(&context, 0, stage, &all.source);
  }
  return context.fault;
}
