/* A launcher in C: one thread, no memory but what its caller gives. */
#include "ir/launch.h"

static void pass(StepContext* context, int32_t thread) {
  (void)context;
  (void)thread;
}

/** Runs a step once. `claims`: zeros, as many as the step needs for one thread. */
uint32_t launch_once(StepEntry entry, Byte* const* buffers, int64_t batch, uint32_t* claims, Byte* scratch) {
  StepContext context = {0};
  context.buffers = buffers;
  context.batch = batch;
  context.claims = claims;
  context.scratch = scratch;
  context.threads = 1;
  context.barrier = pass;
  entry(&context, 0);
  return context.fault;
}
