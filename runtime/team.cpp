#include "runtime/team.h"

#include <omp.h>
#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <cmath>
#include <system_error>
#include <thread>

#include "runtime/wait.h"

namespace sinter::runtime {

namespace {

/// Whether this thread is running a body of the team, as its caller or as one of its workers.
thread_local bool inside_team = false;

// libgomp is not involved: its threads stay inside one region and follow the words below, so that none of its own barriers, which spin for
// milliseconds, is ever reached while there is work.
struct Team {
  Gate dispatch;  ///< call number · 512 + 256 for an invitation + threads of the call; 0 threads: leave the region
  Gate done;      ///< the dispatch word of the last call whose caller had to wait for a worker
  Gate opened;    ///< counts regions opened
  alignas(64) std::atomic<std::uint64_t> present{0};  ///< dispatch word · 2^32 + `over` once the caller is through + workers in the body
  std::atomic<TeamBody> body{nullptr};
  std::atomic<void*> argument{nullptr};

  alignas(64) std::atomic<bool> busy{false};   ///< held by the current caller
  std::atomic<bool> closed{false};             ///< at exit, and in a forked child
  std::atomic<int> wanted{0};                  ///< threads of the next region, the caller included; 0: none
  std::atomic<int> size{1};                    ///< threads now, the caller included
  std::atomic<std::uint32_t> opening_word{0};  ///< dispatch when the region was opened: what its workers have already seen
  int limit = max_threads;                     ///< what the system allows
  std::thread helper;

  alignas(64) std::atomic<int> arrived{0};
  Gate generation;

  static constexpr std::uint32_t invitation = 256, threads_mask = 255;
  static constexpr std::uint64_t over = std::uint64_t{1} << 31, workers_mask = over - 1;

  std::uint32_t next_word(int threads) const { return ((dispatch.load() >> 9) + 1) << 9 | static_cast<std::uint32_t>(threads); }
  bool enter(std::uint32_t word);
  void work(int thread);
  void keep_regions_open();
  int reserve(int threads);
  void call(int threads, bool invite, TeamBody f, void* with);
  void close();
};

/// Whether the call that the worker was invited to is still running; then the worker is counted as present.
bool Team::enter(std::uint32_t word) {
  std::uint64_t now = present.load(std::memory_order_acquire);
  do {
    if (now >> 32 != word || (now & over)) return false;
  } while (!present.compare_exchange_weak(now, now + 1, std::memory_order_acq_rel, std::memory_order_acquire));
  return true;
}

void Team::work(int thread) {
  inside_team = true;
  std::uint32_t seen = opening_word.load();
  for (;;) {
    seen = dispatch.wait_while(seen);
    const int threads = static_cast<int>(seen & threads_mask);
    if (threads == 0) return;
    if (thread >= threads || ((seen & invitation) && !enter(seen))) continue;
    body.load(std::memory_order_relaxed)(argument.load(std::memory_order_relaxed), thread, threads);
    const std::uint64_t before = present.fetch_sub(1, std::memory_order_acq_rel);
    if ((before & over) && (before & workers_mask) == 1) done.store(seen);
  }
}

Team& team();

void Team::keep_regions_open() {
  while (const int threads = wanted.exchange(0)) {
    opening_word.store(dispatch.load());
    // Captures nothing: what libgomp passes between threads is invisible to ThreadSanitizer.
#pragma omp parallel num_threads(threads - 1)
    {
      Team& self = team();
      if (omp_get_thread_num() == 0) {
        self.size.store(omp_get_num_threads() + 1);
        self.opened.store(self.opened.load() + 1);
      }
      self.work(omp_get_thread_num() + 1);
    }
  }
}

/// Grows the team to the size asked for if the system allows. Returns its size. Only while busy is held.
int Team::reserve(int threads) {
  threads = std::min(threads, limit);
  if (threads <= size.load()) return threads;
  const std::uint32_t before = opened.load();
  wanted.store(threads);
  if (helper.joinable()) {
    dispatch.store(next_word(0));
  } else {
    sigset_t all, saved;  // signals are for the program's own threads
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &saved);
    try {
      helper = std::thread([] { team().keep_regions_open(); });
    } catch (const std::system_error&) {  // no thread available: the caller works alone
    }
    pthread_sigmask(SIG_SETMASK, &saved, nullptr);
    if (!helper.joinable()) return 1;
  }
  opened.wait_while(before);
  if (size.load() < threads) limit = size.load();
  return std::min(threads, limit);
}

void Team::call(int threads, bool invite, TeamBody f, void* with) {
  body.store(f, std::memory_order_relaxed);
  argument.store(with, std::memory_order_relaxed);
  const std::uint32_t word = next_word(threads) | (invite ? invitation : 0), before = done.load();
  present.store(std::uint64_t{word} << 32 | (invite ? 0 : static_cast<std::uint64_t>(threads - 1)), std::memory_order_release);
  dispatch.store(word);
  inside_team = true;
  f(with, 0, threads);
  inside_team = false;
  if (present.fetch_or(over, std::memory_order_acq_rel) & workers_mask) done.wait_while(before);
}

void Team::close() {
  if (closed.exchange(true)) return;
  if (busy.exchange(true)) {  // a detached thread is still computing: it ends with the process
    return;
  }
  if (!helper.joinable()) return;
  wanted.store(0);
  dispatch.store(next_word(0));
  helper.join();
}

/// Never destroyed: late static destructors may still compute (alone), and a forked child must not join threads that it does not have.
Team& team() {
  static Team* instance = [] {
    pthread_atfork(nullptr, nullptr, [] { team().closed.store(true); });
    return new Team;
  }();
  struct Shutdown {
    ~Shutdown() { team().close(); }
  };
  static Shutdown shutdown;
  return *instance;
}

void run(int threads, bool invite, TeamBody body, void* argument, std::int32_t* granted) {
  threads = std::clamp(threads, 1, max_threads);
  if (threads > 1 && !inside_team && !omp_in_parallel()) {
    Team& t = team();
    if (!t.closed.load() && !t.busy.exchange(true, std::memory_order_acquire)) {
      threads = t.reserve(threads);
      if (threads > 1) {
        if (granted) *granted = threads;
        t.call(threads, invite, body, argument);
        t.busy.store(false, std::memory_order_release);
        return;
      }
      t.busy.store(false, std::memory_order_release);
    }
  }
  if (granted) *granted = 1;
  body(argument, 0, 1);
}

}  // namespace

void run_team(int threads, TeamBody body, void* argument, std::int32_t* granted) { run(threads, false, body, argument, granted); }
void invite_team(int threads, TeamBody body, void* argument) { run(threads, true, body, argument, nullptr); }

void team_barrier(int threads) {
  if (threads <= 1) return;
  Team& t = team();
  const std::uint32_t generation = t.generation.load();
  if (t.arrived.fetch_add(1, std::memory_order_acq_rel) == threads - 1) {
    t.arrived.store(0, std::memory_order_relaxed);
    t.generation.store(generation + 1);
  } else {
    t.generation.wait_while(generation);
  }
}

namespace {
std::atomic<int> forced{0};
}

void force_threads(int threads) { forced.store(std::clamp(threads, 0, max_threads), std::memory_order_relaxed); }

double one_core_seconds(double flops, double bytes) { return std::max(flops / 30e9, bytes / 10e9); }

int threads_for(double flops, double bytes, int most) {
  constexpr double worth_sharing = 20e-6, share = 10e-6;  // waking a thread takes a few microseconds
  if (const int threads = forced.load(std::memory_order_relaxed)) return threads;
  const double seconds = one_core_seconds(flops, bytes);
  if (seconds < worth_sharing) return 1;
  if (most <= 0) most = default_threads();
  return static_cast<int>(std::clamp(std::floor(seconds / share), 1.0, static_cast<double>(std::min(most, max_threads))));
}

}  // namespace sinter::runtime
