// Launches compiled steps.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "ir/step.h"
#include "runtime/buffer.h"

namespace sinter::runtime {

/// The arguments of a call, in the order of the graph's inputs, states and outputs; layouts as in ir/layout.h. The caller keeps the memory alive.
struct Bindings {
  std::span<std::byte* const> inputs, states, outputs;
  std::span<const std::int64_t> table_rows;  ///< one per input, 0 for those that are no table
  Sizes sizes;
  bool states_unchanged = false;  ///< since the last run, if that used the same memory for them; what was packed of them is reused
};

/// Several runs in a row, in one call of the team.
struct Sequence {
  std::int64_t steps = 1;
  Sizes most;  ///< the largest of any of them
  /// Binds the arguments of step `step` when the previous one is over, on any thread of the team. Must not throw.
  void (*bind)(void* with, std::int64_t step, Bindings& bindings) = nullptr;
  void* with = nullptr;
};

/// One call of a kernel.
struct Span {
  std::int32_t thread;        ///< of the team
  std::uint32_t kernel;       ///< index in StepImage::kernels
  std::int64_t begin, end;    ///< units of the kernel's domain
  Sizes sizes;                ///< of the call
  std::uint64_t start, stop;  ///< nanoseconds of std::chrono::steady_clock
};
using SpanObserver = std::function<void(const Span&)>;

/// One compiled step with its arenas. No heap allocations in a run once N has been as large before. Concurrent runs of one executor throw UserError.
class Executor {
 public:
  explicit Executor(StepImage image);
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  /// threads 0: as the cost model decides. Returns 0, or 1 + the id of a node that met an index out of range; then states are undefined.
  /// Throws InternalError if a checked step (StepImage::checked) accessed memory that it may not.
  /// `force` runs exactly `threads` threads, for tests, even more than there are cores.
  std::uint32_t run(const Bindings& bindings, int threads = 0, bool force = false);
  /// The same, step after step; ends early where a step meets an index out of range.
  std::uint32_t run_sequence(const Sequence& sequence, int threads = 0, bool force = false);
  /// The number of the last step that the last run ran.
  std::int64_t last_step() const;
  /// Threads that the last run used.
  int last_threads() const;
  /// The cost model's decision for a run of these sizes with at most `threads` threads (0: as many as the process may use).
  struct Estimate {
    double flops, bytes, one_core_seconds;
    std::int64_t chunks;  ///< of the phase with the most
    int threads;
  };
  Estimate estimate(Sizes sizes, int threads = 0) const;
  /// Base address of buffer i in the last run, for taps. Null for chunk scratch, which no run keeps.
  const std::byte* buffer(std::size_t index) const;
  const StepImage& image() const;
  /// Bytes of the arenas now held.
  std::size_t arena_bytes() const;

  /// From now on called for each span, by the thread that ran it, if the step was compiled for it (codegen::Options::profile). Must not throw.
  void observe(SpanObserver observer);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sinter::runtime
