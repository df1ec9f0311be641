// The plain structs that are the interface between a compiled step (made by codegen) and its launcher (runtime).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ir/type.h"

namespace sinter {

/// One product of a chunk, row-major, accumulated in the order of the contracted index: c[m,f] = op(a)[m,k] · op(b)[k,f].
/// Leading dimensions are in elements. Columns of c from f to its padded width are not written.
struct GemmCall {
  const float* a;
  const float* b;
  float* c;
  std::int64_t m, k, f;
  std::int64_t lda, ldb, ldc;
  std::int32_t transpose_a, transpose_b;
};

/// Counters lie a cache line apart. Each thread takes the chunks of its own share of a phase first, so that it finds the same rows and weights in its
/// cache step after step, then what remains of the others' shares.
inline constexpr std::int64_t claim_spacing = 16;

/// Bytes after each buffer that may be read, but not written: a vector that begins in it is loaded whole and the lanes past the last element
/// ignored.
inline constexpr std::int64_t readable_behind = 64;

/// What a call of a kernel may access of one of its buffers, and the range of bytes that it did access; offsets from `begin`.
struct BufferCheck {
  std::byte* begin = nullptr;
  std::int64_t bytes = 0;
  std::int64_t load_begin = 0, load_end = 0;    ///< nothing was loaded: end is 0
  std::int64_t store_begin = 0, store_end = 0;  ///< nothing was stored: end is 0
};

/// A call of a kernel of a checked step: a BufferCheck for each of KernelSpec::buffers.
struct KernelCheck {
  BufferCheck* buffers = nullptr;
  std::int32_t thread = 0;
  std::uint32_t kernel = 0;
};

struct StepContext;

/// Calls from a checked step to its launcher, which judges them (runtime/checker.h). Every thread calls `begin` and `boundary`.
struct CheckHooks {
  /// Before the first phase.
  void (*begin)(StepContext*, std::int32_t thread);
  /// A barrier; after it phase `phase` is over, or, if not `over`, a stage of it.
  void (*boundary)(StepContext*, std::int32_t thread, std::uint32_t phase, bool over);
  /// Before a call of a kernel on chunk `chunk` of those that run between two boundaries. `shared`: other threads work on the same sample.
  KernelCheck* (*enter)(StepContext*, std::int32_t thread, std::uint32_t kernel, std::int64_t chunk, bool shared);
  /// After it; or during it, with what it has accessed so far.
  void (*leave)(StepContext*, KernelCheck*);
  /// Instead of an access outside of the buffer that begins at `begin`: the kernel then returns.
  void (*outside)(StepContext*, KernelCheck*, std::byte* begin, std::int64_t offset, std::int64_t bytes, bool store);
};

/// What native code sees of a call. Field order is part of the interface: codegen addresses fields by offsetof.
struct StepContext {
  std::byte* const* buffers;       ///< base address of each StepImage::buffers entry
  std::int64_t batch;              ///< N
  const std::int64_t* table_rows;  ///< one per graph input: its row count if it is a table, else 0
  std::uint32_t* claims;           ///< chunk counters, 0 on entry: thread t's of set s is [(s · threads + t) · claim_spacing]
  std::byte* scratch;              ///< chunk scratch: thread t owns [t · scratch_bytes, (t+1) · scratch_bytes)
  std::int32_t threads;            ///< threads in this call
  std::uint32_t fault;             ///< 0, or 1 + the id of a node that met an index out of range (stored with an atomic exchange)
  void (*barrier)(StepContext*, std::int32_t thread);
  void (*gemm)(const GemmCall*);
  std::uint32_t packed;      ///< not 0: what the previous call packed of the states is still valid, for a step that updates none
  void* runtime;             ///< the launcher's own
  std::uint64_t (*clock)();  ///< nanoseconds
  /// Called after each call of a kernel, if the step was compiled for it: on `thread`, over the units [begin, end) of its domain, from `start` to
  /// `stop` by the clock.
  void (*span)(StepContext*, std::int32_t thread, std::uint32_t kernel, std::int64_t begin, std::int64_t end, std::uint64_t start,
               std::uint64_t stop);
  const CheckHooks* checks;  ///< of a checked step
};

/// Every thread of the team calls this with its number; the call is over when all have returned.
using StepEntry = void (*)(StepContext*, std::int32_t thread);

/// Where a buffer lies.
enum class Place : std::uint8_t {
  input,        ///< bound by the caller, graph input `index`
  state,        ///< bound by the caller, graph state `index`, read and written in place
  output,       ///< bound by the caller, graph output `index`
  fixed_arena,  ///< `offset` into the fixed arena
  batch_arena,  ///< `offset` · padded_batch(N) into the per-sample arena
  scratch,      ///< `offset` into the thread's chunk scratch; holds the rows of the current chunk only
};

/// The batch size up to which per-sample buffers are laid out, so that each starts on a cache line.
inline std::int64_t padded_batch(std::int64_t n) { return (n + 63) / 64 * 64; }

struct BufferSpec {
  Place place = Place::fixed_arena;
  std::uint32_t index = 0;  ///< of the input, state or output
  Type type;
  std::int64_t offset = 0;  ///< bytes, or bytes per sample
  std::string name;         ///< for messages and verify: the node's printed name
  // For checked steps:
  std::uint32_t first_phase = 0, last_phase = 0;  ///< of an arena: phases in which it holds its value; `kept`: it keeps it between calls
  std::int64_t chunk_bytes = 0;                   ///< of chunk scratch: for the largest chunk
  bool own = false;                               ///< of chunk scratch: each call of a kernel has it exclusively
  static constexpr std::uint32_t kept = ~std::uint32_t{0};
};

/// Arithmetic and memory traffic at batch size N: a + b·N.
struct Work {
  double flops_fixed = 0, flops_per_sample = 0;
  double bytes_fixed = 0, bytes_per_sample = 0;
  double flops(std::int64_t n) const { return flops_fixed + flops_per_sample * static_cast<double>(n); }
  double bytes(std::int64_t n) const { return bytes_fixed + bytes_per_sample * static_cast<double>(n); }
  Work& operator+=(const Work& other) {
    flops_fixed += other.flops_fixed;
    flops_per_sample += other.flops_per_sample;
    bytes_fixed += other.bytes_fixed;
    bytes_per_sample += other.bytes_per_sample;
    return *this;
  }
};

/// A function of the step, for profiles.
struct KernelSpec {
  std::string name;                         ///< "dense + sigmoid"
  Dim units = 1;                            ///< of its domain
  Work work;                                ///< over the whole domain
  std::vector<std::uint32_t> buffers = {};  ///< that it reads and writes, in the order of KernelCheck::buffers
};

/// The least and most units of a chunk; `most` wins. `granule`: 1, 2, 4 or 8.
struct ChunkLimits {
  std::int64_t least = 8, most = 1, granule = 8;
};
/// Units per chunk when a loop over so many is split: an eighth, rounded up to the granule, within the limits. It depends on shape and N only, so
/// that no result depends on the number of threads.
inline std::int64_t chunk_of(std::int64_t units, const ChunkLimits& limits) {
  const std::int64_t eighth = ((units + 7) / 8 + limits.granule - 1) / limits.granule * limits.granule;
  return std::max<std::int64_t>(1, std::min(limits.most, std::max(limits.least, eighth)));
}

/// A loop of a phase: what its chunks divide.
struct LoopSpec {
  Dim units = 1;
  ChunkLimits limits;
  std::int64_t pieces = 1;  ///< the most chunks of a single sample
  std::int64_t chunks(std::int64_t n) const {
    const std::int64_t all = units.extent(n), size = chunk_of(all, limits);
    return n == 1 ? std::max(pieces, (all + size - 1) / size) : (all + size - 1) / size;
  }
};

/// One phase as the cost model sees it.
struct PhaseSpec {
  std::vector<LoopSpec> loops;
  Work work;
};

/// A compiled step, ready to be launched any number of times; `code` owns the machine code and may be shared.
struct StepImage {
  StepEntry entry = nullptr;
  std::shared_ptr<const void> code;
  std::vector<BufferSpec> buffers;
  std::vector<PhaseSpec> phases;
  std::size_t claims = 0;           ///< sets of chunk counters; at least one per phase
  std::vector<KernelSpec> kernels;  ///< in the order of the numbers that StepContext::span gets
  std::int64_t fixed_bytes = 0;     ///< size of the fixed arena
  std::int64_t batch_bytes = 0;     ///< bytes per sample of the per-sample arena
  std::int64_t scratch_bytes = 0;   ///< bytes per thread
  bool checked = false;             ///< calls StepContext::checks
};

}  // namespace sinter
