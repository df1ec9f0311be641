/* What a compiled step needs from whoever launches it, in plain C. Generated code addresses the fields by their offsets: their order is part of the
   interface. */
#pragma once

#ifdef __cplusplus
#include <cstddef>
#include <cstdint>

namespace sinter {
extern "C" {
using std::int32_t, std::int64_t, std::uint32_t, std::uint64_t;
using Byte = std::byte;
#else
#include <stdbool.h>
#include <stdint.h>

typedef unsigned char Byte;
typedef struct BufferCheck BufferCheck;
typedef struct KernelCheck KernelCheck;
typedef struct CheckHooks CheckHooks;
typedef struct StepContext StepContext;
typedef struct ChunkSource ChunkSource;
#endif

enum {
  /** Sets of counters lie a cache line apart. */
  counter_spacing = 16,
  /** Bytes after each buffer that may be read, but not written: a vector that begins in it is loaded whole and the lanes past the last element
      ignored. */
  readable_behind = 64
};

struct StepContext;

/** What a call of a kernel may access of one of its buffers, and the range of bytes that it did access; offsets from `begin`. */
struct BufferCheck {
  Byte* begin;
  int64_t bytes;
  int64_t load_begin, load_end;   /**< nothing was loaded: end is 0 */
  int64_t store_begin, store_end; /**< nothing was stored: end is 0 */
};

/** A call of a kernel of a checked step: a BufferCheck for each of KernelSpec::buffers. */
struct KernelCheck {
  struct BufferCheck* buffers;
  int32_t thread;
  uint32_t kernel;
};

/** Calls from a checked step to its launcher, which judges them (runtime/checker.h). */
struct CheckHooks {
  /** Before a call of a kernel on chunk `chunk` of a stage. `shared`: other threads work on the same sample. */
  struct KernelCheck* (*enter)(struct StepContext*, int32_t thread, uint32_t kernel, int64_t chunk, bool shared);
  /** After it; or during it, with what it has accessed so far. */
  void (*leave)(struct StepContext*, struct KernelCheck*);
  /** Instead of an access outside of the buffer that begins at `begin`: the kernel then returns. */
  void (*outside)(struct StepContext*, struct KernelCheck*, Byte* begin, int64_t offset, int64_t bytes, bool store);
};

/** What native code sees of a call. */
struct StepContext {
  Byte* const* buffers;      /**< base address of each buffer (StepImage::buffers) */
  int64_t batch;             /**< N */
  int64_t length;            /**< T */
  const int64_t* table_rows; /**< one per graph input: its row count if it is a table, else 0 */
  uint32_t* counters;        /**< StepImage::counters sets, 0 before the first stage: of finished parts; set s begins at [s * counter_spacing] */
  Byte* scratch;             /**< chunk scratch: thread t owns [t * scratch_bytes, (t+1) * scratch_bytes) */
  int32_t threads;           /**< threads in this call */
  uint32_t fault;            /**< 0, or 1 + the id of a node that met an index out of range (stored with an atomic exchange) */
  int64_t repeat;            /**< how often the stage ran before in this step: of the steps of a loop over time (StageSpec::repeats) */
  uint32_t packed;           /**< not 0: what the previous call packed of the states is still valid, for a step that updates none */
  void* runtime;             /**< the launcher's own */
  uint64_t (*clock)(void);   /**< nanoseconds */
  /** Called after each call of a kernel, if the step was compiled for it: on `thread`, over the units [begin, end) of its domain, from `start` to
      `stop` by the clock. */
  void (*span)(struct StepContext*, int32_t thread, uint32_t kernel, int64_t begin, int64_t end, uint64_t start, uint64_t stop);
  const struct CheckHooks* checks; /**< of a checked step */
};

/** Where a thread gets the chunks of a stage from. */
struct ChunkSource {
  /** The next of `chunks` chunks for the thread to run, or -1 if it gets no more. The thread is done with those that it got before. */
  int64_t (*next)(struct ChunkSource*, int64_t chunks);
};

/** A step is a sequence of stages (StepImage::stages); a stage consists of chunks, which threads may run in any order, side by side. Stages
   that are repeated run again, after all of them have run, if they have chunks. Returns the number of chunks of a stage, all earlier stages being
   over. With a source, it first runs the chunks that this gives, as thread `thread`; after a fault it takes them without running them. */
typedef int64_t (*StepEntry)(struct StepContext*, int32_t thread, uint32_t stage, struct ChunkSource* source);

#ifdef __cplusplus
}
}  // namespace sinter
#endif
