#include "runtime/team.h"

#include <omp.h>
#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <system_error>
#include <thread>
#include <tuple>
#include <utility>

#include "runtime/flush_to_zero.h"
#include "runtime/gate.h"

namespace sinter::runtime {

namespace {

/// Whether this thread is running work of the team, as its caller or as one of its workers.
thread_local bool inside_team = false;

// libgomp is not involved: its threads stay inside one region and follow the gate, so that none of its own barriers, which spin for milliseconds, is
// ever reached while there is work.
//
// No thread is counted into a call or out of it. A worker that comes late, when its phase or its call is over, finds that out from this object alone,
// which lives as long as the process: it touches the work only after it has taken a chunk, by a compare-and-swap on a word that carries the number of
// the phase, and the phase cannot end before it has reported that chunk. (A worker that sleeps through exactly 2^32 phases would be taken in: an hour
// at the least, in the one instruction between reading the gate and taking a chunk.)
class Team {
 public:
  /// Whether the team was free, and has at least 2 threads; then the caller holds it, with that many of those asked for.
  bool acquire(int& threads);
  void release() { busy_.store(false, std::memory_order_release); }
  void call(int threads, TeamWork& work);
  void close();
  void abandon() { closed_.store(true); }  ///< in a forked child

 private:
  /// What is left of a thread's own chunks of a phase: phase · 2^32 + chunks. Each thread begins with its own, so that it finds the same rows and
  /// weights in its cache call after call, then takes what remains of the others'. Who takes the first chunk writes the phase: a word of an earlier
  /// one means that all of this share is left. So in every phase every share's word is written, and none is mistaken for an earlier one's.
  struct alignas(64) Share {
    std::atomic<std::uint64_t> word{0};
    static std::uint64_t of(std::uint32_t phase, std::uint64_t left) { return std::uint64_t{phase} << 32 | left; }
  };

  /// A thread's chunks of one phase.
  struct Visit final : ChunkSource {
    Team& team;
    const Announcement now;
    const std::uint32_t thread;
    std::uint32_t turns = 0;          ///< of shares: the thread's own is the first
    std::uint32_t owner, begin, end;  ///< of the share that it takes from
    std::uint32_t count = 0;          ///< of chunks taken
    std::int64_t taken;               ///< and not given yet; -1: none

    Visit(Team& of, Announcement announced, int number)
        : ChunkSource{[](ChunkSource* self, std::int64_t) { return static_cast<Visit*>(self)->next(); }},
          team(of),
          now(announced),
          thread(static_cast<std::uint32_t>(number)) {
      go_to(thread);
      taken = take();
    }
    void go_to(std::uint32_t share) {
      owner = share;
      std::tie(begin, end) = share_of(now, share);
    }
    std::int64_t next() { return taken >= 0 ? std::exchange(taken, -1) : take(); }
    std::int64_t take();
  };

  /// The first of a thread's own chunks, and the one after the last.
  static std::pair<std::uint32_t, std::uint32_t> share_of(Announcement a, std::uint32_t thread) {
    const std::uint64_t chunks = a.chunks;
    return {static_cast<std::uint32_t>(thread * chunks / a.threads), static_cast<std::uint32_t>((thread + 1) * chunks / a.threads)};
  }
  void work(int thread);
  bool visit(Announcement now, int thread);
  void advance(TeamWork& work, int thread);
  void open(std::uint32_t chunks);
  void ask(std::uint32_t count);
  void keep_regions_open();
  void end_region();
  int reserve(int threads);

  Gate gate_;
  alignas(64) std::atomic<TeamWork*> work_{nullptr};  ///< of the call, for those who have taken a chunk of it
  std::atomic<std::uint32_t> threads_{0};
  std::array<Share, max_threads> shares_;

  // Whether it is worth to wake workers. Those that were woken in vain make the next question wait, for twice as many phases each time.
  alignas(64) std::atomic<std::uint32_t> came_{0};                   ///< counts workers that were woken and took a chunk
  std::atomic<std::uint32_t> came_before_{0}, vain_{0}, silent_{0};  ///< came_ when last asked; questions in vain; phases since

  alignas(64) std::atomic<bool> busy_{false};  ///< held by the current caller
  std::atomic<bool> closed_{false};            ///< at exit, and in a forked child
  std::atomic<int> wanted_{0};                 ///< threads of the next region, the caller included; 0: none
  std::atomic<int> size_{1};                   ///< threads now, the caller included
  std::atomic<std::uint32_t> opened_{0};       ///< counts regions opened
  std::atomic<bool> leave_{false};             ///< the region
  int limit_ = max_threads;                    ///< what the system allows
  std::thread helper_;
};

Team& team();

/// The next chunk of the phase, -1 if none is left or the phase is over.
std::int64_t Team::Visit::take() {
  for (;;) {
    std::atomic<std::uint64_t>& word = team.shares_[owner].word;
    std::uint64_t before = word.load(std::memory_order_relaxed);
    for (;;) {
      const auto age = static_cast<std::int32_t>(now.phase - static_cast<std::uint32_t>(before >> 32));
      const std::uint32_t left = age == 0 ? static_cast<std::uint32_t>(before) : age > 0 ? end - begin : 0;
      if (!left) break;
      // Relaxed: what the phase needs was seen with its announcement; chunks of a phase must not depend on each other.
      if (!word.compare_exchange_weak(before, Share::of(now.phase, left - 1), std::memory_order_relaxed)) continue;
      ++count;
      return end - left;
    }
    if (++turns >= now.threads) return -1;
    go_to(owner + 1 == now.threads ? 0 : owner + 1);
  }
}

/// Runs chunks of the phase, if it is not over, and begins the next one if it did the last. Returns whether it did any.
bool Team::visit(Announcement now, int thread) {
  Visit chunks(*this, now, thread);
  if (!chunks.count) return false;
  TeamWork& work = *work_.load(std::memory_order_relaxed);
  work.run(thread, chunks);
  if (gate_.report(chunks.count)) advance(work, thread);
  return true;
}

/// Begins the next phase; at the end of the work, tells the caller. One thread at a time, while no chunk is undone.
void Team::advance(TeamWork& work, int thread) {
  for (;;) {
    const std::int64_t chunks = work.next_phase(thread);
    if (chunks > 1 && chunks <= Announcement::most_chunks) return open(static_cast<std::uint32_t>(chunks));
    if (chunks == 0) {
      gate_.announce({gate_.load().phase + 1, 0, 0});  // from here on the work may be gone
      return gate_.wake_caller();
    }
    AllChunks all;
    work.run(thread, all);
  }
}

void Team::open(std::uint32_t chunks) {
  const Announcement now{gate_.load().phase + 1, threads_.load(std::memory_order_relaxed), chunks};
  for (std::uint32_t t = 0; chunks < now.threads && t < now.threads; ++t)
    if (const auto [begin, end] = share_of(now, t); begin == end) shares_[t].word.store(Share::of(now.phase, 0), std::memory_order_relaxed);
  gate_.announce(now);
  gate_.wake_caller();
  if (gate_.workers_sleep()) ask(std::min(chunks, now.threads) - 1);
}

/// Wakes workers, unless that was in vain lately.
void Team::ask(std::uint32_t count) {
  constexpr std::uint32_t most_vain = 10;
  const std::uint32_t vain = vain_.load(std::memory_order_relaxed), silent = silent_.load(std::memory_order_relaxed);
  if (silent + 1 < std::uint32_t{1} << vain) {
    silent_.store(silent + 1, std::memory_order_relaxed);
    return;
  }
  silent_.store(0, std::memory_order_relaxed);
  const std::uint32_t came = came_.load(std::memory_order_relaxed);
  vain_.store(came == came_before_.load(std::memory_order_relaxed) ? std::min(vain + 1, most_vain) : 0, std::memory_order_relaxed);
  came_before_.store(came, std::memory_order_relaxed);
  gate_.wake_workers(static_cast<int>(count));
}

/// A worker's life in a region.
void Team::work(int thread) {
  const FlushToZero flush;
  inside_team = true;
  Announcement now = gate_.load();
  bool woken = false;
  while (!leave_.load(std::memory_order_acquire)) {
    if (thread < static_cast<int>(now.threads) && visit(now, thread) && std::exchange(woken, false)) came_.fetch_add(1, std::memory_order_relaxed);
    const Gate::Seen seen = gate_.wait_while(now, false);
    now = seen.now;
    woken = woken || seen.slept;
  }
}

void Team::call(int threads, TeamWork& work) {
  threads_.store(static_cast<std::uint32_t>(threads), std::memory_order_relaxed);
  work_.store(&work, std::memory_order_relaxed);
  for (int t = 0; t < threads; ++t) shares_[static_cast<std::size_t>(t)].word.store(Share::of(gate_.load().phase, 0), std::memory_order_relaxed);
  work.start(threads);
  inside_team = true;
  advance(work, 0);
  for (Announcement now = gate_.load(); now.threads; now = gate_.wait_while(now, true).now) visit(now, 0);
  inside_team = false;
}

void Team::keep_regions_open() {
  while (const int threads = wanted_.exchange(0)) {
    leave_.store(false);
    // Captures nothing: what libgomp passes between threads is invisible to ThreadSanitizer.
#pragma omp parallel num_threads(threads - 1)
    {
      Team& self = team();
      if (omp_get_thread_num() == 0) {
        self.size_.store(omp_get_num_threads() + 1);
        self.opened_.fetch_add(1);
        self.opened_.notify_all();
      }
      self.work(omp_get_thread_num() + 1);
    }
  }
}

/// Ends the region. Only while the team is held: there is no call.
void Team::end_region() {
  leave_.store(true, std::memory_order_release);
  gate_.announce({gate_.load().phase + 1, 0, 0});
  gate_.wake_workers(max_threads);
}

/// Grows the team to the size asked for if the system allows. Returns its size. Only while it is held.
int Team::reserve(int threads) {
  threads = std::min(threads, limit_);
  if (threads <= size_.load()) return threads;
  const std::uint32_t before = opened_.load();
  wanted_.store(threads);
  if (helper_.joinable()) {
    end_region();
  } else {
    sigset_t all, saved;  // signals are for the program's own threads
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &saved);
    try {
      helper_ = std::thread([] { team().keep_regions_open(); });
    } catch (const std::system_error&) {  // no thread available: the caller works alone
    }
    pthread_sigmask(SIG_SETMASK, &saved, nullptr);
    if (!helper_.joinable()) return 1;
  }
  opened_.wait(before);
  if (size_.load() < threads) limit_ = size_.load();
  return std::min(threads, limit_);
}

bool Team::acquire(int& threads) {
  if (closed_.load() || busy_.exchange(true, std::memory_order_acquire)) return false;
  threads = reserve(threads);
  if (threads <= 1) release();
  return threads > 1;
}

void Team::close() {
  if (closed_.exchange(true)) return;
  if (busy_.exchange(true)) {  // a detached thread is still computing: it ends with the process
    return;
  }
  if (!helper_.joinable()) return;
  wanted_.store(0);
  end_region();
  helper_.join();
}

/// Never destroyed: late static destructors may still compute (alone), and a forked child must not join threads that it does not have.
Team& team() {
  static Team* instance = [] {
    pthread_atfork(nullptr, nullptr, [] { team().abandon(); });
    return new Team;
  }();
  struct Shutdown {
    ~Shutdown() { team().close(); }
  };
  static Shutdown shutdown;
  return *instance;
}

}  // namespace

void run_team(int threads, TeamWork& work) {
  threads = std::clamp(threads, 1, max_threads);
  if (threads > 1 && !inside_team && !omp_in_parallel() && team().acquire(threads)) {
    team().call(threads, work);
    team().release();
    return;
  }
  work.start(1);
  while (work.next_phase(0)) {
    AllChunks all;
    work.run(0, all);
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
