// The process's thread team: one persistent OpenMP region, opened once by a helper thread. Its threads wait on a dispatch word, spinning a few
// microseconds, then sleeping; the caller is thread 0.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

namespace sinter::runtime {

/// The largest team, forced ones included.
inline constexpr int max_threads = 64;

/// Processors that this process may use: the smaller of its affinity mask and the CPU quotas of its control groups (v2 and v1), rounded down, at
/// least 1. `files` is put before the paths of the control groups, for tests.
int available_cores(const std::string& files = "");
/// The most threads that a call gets by default: OMP_NUM_THREADS, else available_cores(). Read from the system once.
/// Throws UserError if OMP_NUM_THREADS is set to something that is no thread count.
int default_threads();
/// The value of OMP_NUM_THREADS: a positive number, or a list of them whose first one counts. Throws UserError.
int parse_thread_count(std::string_view text);

/// Runs body(argument, thread, threads) on `threads` threads and returns when all have. If the team is busy with another caller, or the caller is
/// inside another parallel region or a forked child, it runs only on the calling thread, with threads = 1. The body must not throw.
/// `granted`, if given, is set to the number of threads before any of them starts. Never allocates in the steady state.
using TeamBody = void (*)(void* argument, int thread, int threads);
void run_team(int threads, TeamBody body, void* argument, std::int32_t* granted = nullptr);

/// The same for work that any number of threads can do: a thread that has not arrived when body(argument, 0, threads) returns on the caller is
/// left out, so that the caller never waits for one that is still asleep. `threads` is the number of those woken.
void invite_team(int threads, TeamBody body, void* argument);

/// A barrier among the threads of the current run_team call: spins, then sleeps. For `threads` == 1 it does nothing.
void team_barrier(int threads);

/// The cost model: seconds that one core takes for so much work, at 30 GFLOP/s or 10 GB/s, whichever is longer. Any current core is faster.
double one_core_seconds(double flops, double bytes);
/// The number of threads that run_team would use for this much work: 1 below 20 µs of one core, else one for each 10 µs, up to `most`
/// (0: default_threads()).
int threads_for(double flops, double bytes, int most = 0);
/// For tests: from now on threads_for returns `threads` for any work; 0: as the cost model decides.
void force_threads(int threads);

/// Calls f(chunk) for each chunk in [0, chunks), claimed in any order by the team. f must not throw.
template <class F>
void parallel_for(std::int64_t chunks, int threads, const F& f) {
  if (threads <= 1 || chunks <= 1) {
    for (std::int64_t chunk = 0; chunk < chunks; ++chunk) f(chunk);
    return;
  }
  struct Loop {
    const F& f;
    std::int64_t chunks;
    std::atomic<std::int64_t> next{0};
  } loop{f, chunks};
  const auto body = [](void* argument, int, int) {
    Loop& loop = *static_cast<Loop*>(argument);
    for (std::int64_t chunk; (chunk = loop.next.fetch_add(1, std::memory_order_relaxed)) < loop.chunks;) loop.f(chunk);
  };
  invite_team(static_cast<int>(chunks < threads ? chunks : threads), body, &loop);
}

}  // namespace sinter::runtime
