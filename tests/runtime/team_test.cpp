#include "runtime/team.h"

#include <gtest/gtest.h>
#include <omp.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "ir/error.h"
#include "tests/support/sanitizers.h"
#include "tests/support/temporary_folder.h"

namespace sinter::runtime {
namespace {

struct Visit {
  std::array<std::atomic<int>, max_threads> visits{};
  std::atomic<int> threads{0};

  static void body(void* self, int thread, int threads) {
    auto& visit = *static_cast<Visit*>(self);
    ++visit.visits[static_cast<std::size_t>(thread)];
    visit.threads = threads;
  }
  /// Each thread below `count` came exactly once.
  void expect(int count) const {
    EXPECT_EQ(threads, count);
    for (int i = 0; i < max_threads; ++i) EXPECT_EQ(visits[static_cast<std::size_t>(i)], i < count ? 1 : 0) << "thread " << i;
  }
};

void expect_team(int threads) {
  Visit visit;
  std::int32_t granted = 0;
  run_team(threads, &Visit::body, &visit, &granted);
  visit.expect(threads);
  EXPECT_EQ(granted, threads);
}

TEST(Team, RunsAsManyThreadsAsAsked) {
  for (const int threads : {1, 2, 3, 4, 2, 9, 4, 1, 16}) expect_team(threads);
}

TEST(Team, NestedCallsRunAlone) {
  struct State {
    std::atomic<int> nested_threads{0}, calls{0};
  } state;
  const TeamBody outer = [](void* argument, int, int) {
    run_team(
        4,
        [](void* inner, int, int threads) {
          auto& state = *static_cast<State*>(inner);
          state.nested_threads += threads;
          ++state.calls;
        },
        argument);
  };
  run_team(3, outer, &state);
  EXPECT_EQ(state.calls, 3);
  EXPECT_EQ(state.nested_threads, 3);
  expect_team(2);
}

TEST(Team, CallersInsideAParallelRegionRunAlone) {
  std::atomic<int> threads{0};
#pragma omp parallel num_threads(2)
  run_team(4, [](void* sum, int, int count) { *static_cast<std::atomic<int>*>(sum) += count; }, &threads);
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

/// Whoever comes works, nobody comes twice, and all that came are through when the call returns.
TEST(Team, InvitedThreadsComeAtMostOnce) {
  for (int round = 0; round < 2000; ++round) {
    Visit visit;
    invite_team(4, &Visit::body, &visit);
    ASSERT_EQ(visit.visits[0], 1);
    ASSERT_EQ(visit.threads, 4);
    for (std::size_t t = 1; t < max_threads; ++t) ASSERT_LE(visit.visits[t], t < 4 ? 1 : 0);
    if (round % 3 == 0) expect_team(4);  // no trace of the invitation is left
  }
}

/// Plain numbers, ordered by the barrier alone.
TEST(Team, BarriersSeparatePhases) {
  constexpr int rounds = 2000;
  struct Phases {
    std::array<int, 64 * 16> slots{};
    std::atomic<int> wrong{0};
  };
  for (int threads = 1; threads <= 4; ++threads) {
    Phases phases;
    const TeamBody body = [](void* argument, int thread, int threads) {
      auto& p = *static_cast<Phases*>(argument);
      for (int round = 1; round <= rounds; ++round) {
        p.slots[static_cast<std::size_t>(thread) * 16] = round;
        team_barrier(threads);
        for (int t = 0; t < threads; ++t) p.wrong += p.slots[static_cast<std::size_t>(t) * 16] != round;
        team_barrier(threads);
      }
    };
    run_team(threads, body, &phases);
    EXPECT_EQ(phases.wrong, 0) << threads << " threads";
  }
}

/// What the caller wrote before the call is seen by all, and what they write is seen by the caller.
TEST(Team, CallsOrderMemory) {
  struct Data {
    int in = 0;
    std::array<int, 64 * 16> out{};
  } data;
  for (int round = 0; round < 2000; ++round) {
    data.in = round;
    run_team(
        4,
        [](void* argument, int thread, int) {
          auto& d = *static_cast<Data*>(argument);
          d.out[static_cast<std::size_t>(thread) * 16] = d.in + thread;
        },
        &data);
    for (int t = 0; t < 4; ++t) ASSERT_EQ(data.out[static_cast<std::size_t>(t) * 16], round + t);
  }
}

TEST(Team, AForkedChildRunsAloneAndLeaves) {
  expect_team(4);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(60);  // a child that hangs is ended, and fails the test
    int threads = 0;
    run_team(4, [](void* count, int, int all) { *static_cast<int*>(count) = all; }, &threads);
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

TEST(Threads, LittleWorkIsNotShared) {
  EXPECT_EQ(threads_for(1e5, 1e4, 8), 1);
  EXPECT_EQ(threads_for(1e9, 0, 8), 8);
  EXPECT_EQ(threads_for(0, 1e9, 8), 8);
  EXPECT_EQ(threads_for(1e9, 0, 1), 1);
  EXPECT_EQ(threads_for(0.9e6, 0, 8), 3);  // 30 µs
  EXPECT_GE(default_threads(), 1);
}

TEST(Threads, TheEnvironmentVariableIsChecked) {
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
}  // namespace sinter::runtime
