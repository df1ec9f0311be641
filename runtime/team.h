// The process's thread team: one persistent OpenMP region, opened once by a helper thread. A call's work comes in phases of chunks; a phase is over
// when its chunks are done, whoever did them, so that a thread that the system has put aside holds up nobody unless it is in the middle of one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "ir/launch.h"

namespace sinter::runtime {

/// The largest team, forced ones included.
inline constexpr int max_threads = 64;

/// Processors: of the machine, in the affinity mask of this process, and by the CPU quotas of its control groups (v2 and v1), rounded down, at least
/// 1; 0 without a quota.
struct Cores {
  int online = 1, affinity = 1, quota = 0;
  int usable() const { return quota ? std::min(affinity, quota) : affinity; }
};
/// `files` is put before the paths of the control groups, for tests.
Cores cores(const std::string& files = "");
/// Processors that this process may use: cores().usable().
int available_cores(const std::string& files = "");
/// The most threads that a call gets by default: OMP_NUM_THREADS, else available_cores(). Read from the system once.
/// Throws UserError if OMP_NUM_THREADS is set to something that is no thread count.
int default_threads();
/// The value of OMP_NUM_THREADS: a positive number, or a list of them whose first one counts. Throws UserError.
int parse_thread_count(std::string_view text);

/// Work in phases. Workers flush denormals to zero; the caller does as it likes. No function may throw. What a chunk wrote is seen by all of later
/// phases.
class TeamWork {
 public:
  /// Before the first phase: threads that may take part, numbered from 0, the caller, on.
  virtual void start(int threads) { static_cast<void>(threads); }
  /// Begins the next phase, on thread `thread`, all chunks of the one before being done: the number of its chunks; 0 if there is none. It may do
  /// phases itself before.
  virtual std::int64_t next_phase(int thread) = 0;
  /// Runs the chunks of the current phase that `chunks` gives, as thread `thread`.
  virtual void run(int thread, ChunkSource& chunks) = 0;

 protected:
  ~TeamWork() = default;
};

/// Gives all chunks, in order: for a thread that works alone.
struct AllChunks : ChunkSource {
  std::int64_t given = 0;
  AllChunks()
      : ChunkSource{[](ChunkSource* self, std::int64_t chunks) {
          std::int64_t& given = static_cast<AllChunks*>(self)->given;
          return given < chunks ? given++ : -1;
        }} {}
};

/// Does the work and returns when it is done. The caller is thread 0; of the others those take part that come in time. If the team is busy with
/// another caller, or the caller is inside another parallel region or a forked child, it works alone. Never allocates in the steady state.
void run_team(int threads, TeamWork& work);

/// The cost model: seconds that one core takes for so much work, at 30 GFLOP/s or 10 GB/s, whichever is longer. Any current core is faster.
double one_core_seconds(double flops, double bytes);
/// The number of threads that are worth it for this much work: 1 below 20 µs of one core, else one for each 10 µs, up to `most`
/// (0: default_threads()).
int threads_for(double flops, double bytes, int most = 0);
/// For tests: from now on threads_for returns `threads` for any work; 0: as the cost model decides.
void force_threads(int threads);

/// Calls f(chunk) for each chunk in [0, chunks), in any order, on at most so many threads. f must not throw.
template <class F>
void parallel_for(std::int64_t chunks, int threads, const F& f) {
  if (threads <= 1 || chunks <= 1) {
    for (std::int64_t chunk = 0; chunk < chunks; ++chunk) f(chunk);
    return;
  }
  struct Loop final : TeamWork {
    const F& f;
    std::int64_t chunks;
    bool begun = false;
    Loop(const F& body, std::int64_t count) : f(body), chunks(count) {}
    std::int64_t next_phase(int) override { return std::exchange(begun, true) ? 0 : chunks; }
    void run(int, ChunkSource& source) override {
      for (std::int64_t chunk; (chunk = source.next(&source, chunks)) >= 0;) f(chunk);
    }
  } loop(f, chunks);
  run_team(static_cast<int>(std::min<std::int64_t>(chunks, threads)), loop);
}

}  // namespace sinter::runtime
