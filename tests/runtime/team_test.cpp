#include "runtime/team.h"

#include <gtest/gtest.h>
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "ir/error.h"
#include "ir/sanitizers.h"
#include "tests/support/temporary_folder.h"

namespace sinter::runtime::team_test {
namespace {

/// Phases of so many chunks, each of which calls f(phase, chunk, thread).
template <class F>
struct Phases final : TeamWork {
  std::vector<std::int64_t> chunks;
  F f;
  int threads = 0;
  std::size_t phase = 0, begun = 0;

  Phases(std::vector<std::int64_t> sizes, F body) : chunks(std::move(sizes)), f(std::move(body)) {}
  void start(int count) override { threads = count; }
  std::int64_t next_phase(int) override {
    phase = begun++;
    return phase < chunks.size() ? chunks[phase] : 0;
  }
  void run(int thread, ChunkSource& source) override {
    for (std::int64_t chunk; (chunk = source.next(&source, chunks[phase])) >= 0;) f(phase, chunk, thread);
  }
};

/// Calls until thread `threads` - 1 has come: chunks take long enough for it to wake up.
void expect_team(int threads) {
  std::atomic<int> last{0};
  for (bool came = false; !came;) {
    Phases work({8 * threads}, [&](std::size_t, std::int64_t, int thread) {
      ASSERT_LT(thread, threads);
      for (int i = 0; i < 20000 && !last; ++i) std::atomic_signal_fence(std::memory_order_seq_cst);
      if (thread == threads - 1) last = 1;
    });
    run_team(threads, work);
    ASSERT_EQ(work.threads, threads);
    came = last;
  }
}

TEST(Team, HasAsManyThreadsAsAsked) {
  for (const int threads : {1, 2, 3, 4, 2, 9, 4, 1, 16}) expect_team(threads);
}

TEST(Team, NestedCallsRunAlone) {
  std::atomic<int> nested_threads{0}, calls{0};
  Phases outer({3}, [&](std::size_t, std::int64_t, int) {
    Phases inner({5}, [&](std::size_t, std::int64_t, int) { ++calls; });
    run_team(4, inner);
    nested_threads += inner.threads;
  });
  run_team(3, outer);
  EXPECT_EQ(calls, 15);
  EXPECT_EQ(nested_threads, 3);
  expect_team(2);
}

TEST(Team, CallersInsideAParallelRegionRunAlone) {
  std::atomic<int> threads{0};
#pragma omp parallel num_threads(2)
  {
    Phases work({4}, [](std::size_t, std::int64_t, int) {});
    run_team(4, work);
    threads += work.threads;
  }
  EXPECT_EQ(threads, 2);
}

TEST(Team, ConcurrentCallersAllFinish) {
  constexpr int callers = 6, rounds = 300;
  std::atomic<std::int64_t> total{0};
  std::vector<std::thread> threads;
  for (int c = 0; c < callers; ++c)
    threads.emplace_back([&] {
      for (int i = 0; i < rounds; ++i) parallel_for(10, 3, [&](std::int64_t chunk) { total += chunk; });
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(total, callers * rounds * 45);
}

TEST(Team, ParallelForRunsEachChunkOnce) {
  std::vector<std::atomic<int>> seen(1000);
  parallel_for(1000, 4, [&](std::int64_t chunk) { ++seen[static_cast<std::size_t>(chunk)]; });
  for (const auto& count : seen) EXPECT_EQ(count, 1);
  parallel_for(0, 4, [&](std::int64_t) { FAIL() << "there is no chunk"; });
}

/// Plain numbers, ordered by the phases alone: each phase reads what the one before wrote.
void expect_phases_in_order(int threads, std::mt19937& random) {
  std::vector<std::int64_t> sizes(1 + random() % 40);
  for (std::int64_t& size : sizes) size = random() % 4 ? 1 + random() % 12 : 1;
  std::vector<std::vector<int>> counts;
  for (const std::int64_t size : sizes) counts.emplace_back(size);
  std::atomic<int> wrong{0};
  auto work = std::make_unique<Phases<std::function<void(std::size_t, std::int64_t, int)>>>(sizes, [&](std::size_t phase, std::int64_t chunk, int) {
    ++counts[phase][static_cast<std::size_t>(chunk)];
    if (phase)
      for (const int count : counts[phase - 1]) wrong += count != 1;
  });
  run_team(threads, *work);
  work.reset();
  ASSERT_EQ(wrong, 0);
  for (const auto& phase : counts)
    for (const int count : phase) ASSERT_EQ(count, 1);
}

/// Far more threads than processors, and work that is gone as soon as the call is over: whoever comes late must not touch it.
TEST(Team, RunsEachChunkOnceAndPhasesInOrder) {
  std::mt19937 random(1);
  for (int round = 0; round < 3000; ++round) expect_phases_in_order(1 + static_cast<int>(random() % 16), random);
}

/// Puts workers aside by a signal, wherever they are: its handler returns when it is let go.
class PutAside {
 public:
  PutAside() {
    held() = 0;
    struct sigaction action{};
    action.sa_handler = [](int) {
      ++held();
      while (holds()) sched_yield();
      --held();
    };
    sigaction(SIGUSR2, &action, &before_);
  }
  ~PutAside() {
    let_go();
    sigaction(SIGUSR2, &before_, nullptr);
  }
  /// Thread 1 of the team, which from now on takes the signal.
  static pthread_t worker() {
    std::atomic<bool> came{false};
    pthread_t self{};
    while (!came) {
      Phases work({16}, [&](std::size_t, std::int64_t, int thread) {
        for (int i = 0; i < 20000 && !came; ++i) std::atomic_signal_fence(std::memory_order_seq_cst);
        if (thread != 1 || came) return;
        sigset_t set;
        sigemptyset(&set);
        sigaddset(&set, SIGUSR2);
        pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
        self = pthread_self();
        came = true;
      });
      run_team(2, work);
    }
    return self;
  }
  static void hold(pthread_t thread) {
    holds() = true;
    pthread_kill(thread, SIGUSR2);
    while (!held()) std::this_thread::yield();
  }
  static void let_go() {
    holds() = false;
    while (held()) std::this_thread::yield();
  }

 private:
  static std::atomic<bool>& holds() {
    static std::atomic<bool> value;
    return value;
  }
  static std::atomic<int>& held() {
    static std::atomic<int> value;
    return value;
  }
  struct sigaction before_{};
};

TEST(Team, WaitsForNoThreadThatIsPutAsideBetweenChunks) {
  const PutAside signals;
  const pthread_t worker = PutAside::worker();
  PutAside::hold(worker);
  std::mt19937 random(2);
  for (int round = 0; round < 20; ++round) expect_phases_in_order(2, random);  // it is still held when these have ended
  PutAside::let_go();
  expect_team(2);
}

/// The worker is put aside at any point, also within a chunk or just before it takes one, and goes on in another phase or call.
TEST(Team, ThreadsThatComeLateDoNothing) {
  const PutAside signals;
  const pthread_t worker = PutAside::worker();
  std::atomic<bool> done{false};
  std::thread disturbs([&] {
    while (!done) {
      PutAside::hold(worker);
      for (int i = 0; i < 20; ++i) std::this_thread::yield();
      PutAside::let_go();
    }
  });
  std::mt19937 random(3);
  for (int round = 0; round < 300; ++round) expect_phases_in_order(2, random);
  done = true;
  disturbs.join();
}

/// What the caller wrote before the call is seen by all, and what they write is seen by the caller.
TEST(Team, CallsOrderMemory) {
  int in = 0;
  std::vector<int> out(4);
  for (int round = 0; round < 2000; ++round) {
    in = round;
    parallel_for(4, 4, [&](std::int64_t chunk) { out[static_cast<std::size_t>(chunk)] = in + static_cast<int>(chunk); });
    for (int t = 0; t < 4; ++t) ASSERT_EQ(out[static_cast<std::size_t>(t)], round + t);
  }
}

TEST(Team, AForkedChildRunsAloneAndLeaves) {
  expect_team(4);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(60);  // a child that hangs is ended, and fails the test
    Phases work({4}, [](std::size_t, std::int64_t, int) {});
    run_team(4, work);
    const int threads = work.threads;
#if SINTER_ADDRESS_SANITIZER
    _exit(threads == 1 ? 0 : 1);  // LeakSanitizer would count what belonged to the threads that stayed behind
#else
    std::exit(threads == 1 ? 0 : 1);  // static destructors must not wait for them either
#endif
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  expect_team(4);
}

TEST(ThreadCount, LittleWorkIsNotShared) {
  EXPECT_EQ(threads_for(1e5, 1e4, 8), 1);
  EXPECT_EQ(threads_for(1e9, 0, 8), 8);
  EXPECT_EQ(threads_for(0, 1e9, 8), 8);
  EXPECT_EQ(threads_for(1e9, 0, 1), 1);
  EXPECT_EQ(threads_for(0.9e6, 0, 8), 3);  // 30 µs
  EXPECT_GE(default_threads(), 1);
}

TEST(ThreadCount, TheEnvironmentVariableIsChecked) {
  EXPECT_EQ(parse_thread_count("3"), 3);
  EXPECT_EQ(parse_thread_count(" 4,2"), 4);
  EXPECT_EQ(parse_thread_count("1000"), max_threads);
  for (const char* text : {"abc", "0", "-2", "3x", ","}) {
    try {
      parse_thread_count(text);
      FAIL() << text;
    } catch (const UserError& error) {
      EXPECT_EQ(error.what(),
                "[OMP_NUM_THREADS] must be a number of threads of at least 1, got '" + std::string(text) + "'; unset it to use all cores");
    }
  }
}

/// A folder that stands for /, with files of control groups.
class ControlGroups : public ::testing::Test {
 protected:
  const test::TemporaryFolder root_;
  int all_ = 0;  ///< processors of the affinity mask

  void SetUp() override {
    cpu_set_t set;
    ASSERT_EQ(sched_getaffinity(0, sizeof set, &set), 0);
    all_ = CPU_COUNT(&set);
  }
  void write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text << "\n";
  }
  int cores() const { return available_cores(root_.path); }
};

TEST_F(ControlGroups, WithoutAnyTheAffinityMaskCounts) {
  EXPECT_EQ(cores(), all_);
  cpu_set_t before, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  CPU_ZERO(&one);
  for (int cpu = 0; CPU_COUNT(&one) == 0; ++cpu)
    if (CPU_ISSET(cpu, &before)) CPU_SET(cpu, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_EQ(cores(), 1);
  ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
}

TEST_F(ControlGroups, QuotaOfTheGroupOrOfOneThatHoldsIt) {
  write("proc/self/cgroup", "0::/outer/inner");
  write("sys/fs/cgroup/outer/inner/cpu.max", "max 100000");
  EXPECT_EQ(cores(), all_);
  write("sys/fs/cgroup/outer/cpu.max", "150000 100000");
  EXPECT_EQ(cores(), 1);
  write("sys/fs/cgroup/outer/cpu.max", "6400000 100000");
  EXPECT_EQ(cores(), std::min(all_, 64));
  write("sys/fs/cgroup/outer/inner/cpu.max", "20000 100000");
  EXPECT_EQ(cores(), 1) << "a fifth of a processor is still one thread";
}

TEST_F(ControlGroups, OldQuota) {
  write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1");
  write("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000");
  EXPECT_EQ(cores(), all_);
  write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "100000");
  EXPECT_EQ(cores(), 1);
}

}  // namespace
}  // namespace sinter::runtime::team_test
