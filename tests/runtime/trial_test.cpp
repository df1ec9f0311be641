#include "runtime/trial.h"

#include <gtest/gtest.h>

namespace sinter::runtime::trial_test {
namespace {

/// Of so many runs, how many were shared, if each way takes so long; every tenth run a thread is put aside.
int shared_runs(Trial& trial, int runs, std::uint64_t alone, std::uint64_t shared) {
  int count = 0;
  for (int i = 0; i < runs; ++i) {
    const bool shares = trial.share();
    count += shares;
    if (trial.measures()) trial.done((shares ? shared : alone) + (i % 10 ? 0 : 1'000'000));
  }
  return count;
}

TEST(Trial, FindsTheFasterWay) {
  Trial far, near;
  EXPECT_LT(shared_runs(far, 100'000, 700, 2100), 1000);
  EXPECT_GT(shared_runs(near, 100'000, 700, 500), 99'000);
}

TEST(Trial, SharesUntilItKnows) {
  Trial trial;
  EXPECT_EQ(shared_runs(trial, 64, 700, 2100), 64);
}

/// The other way is tried rarely once one has won often, but it is: circumstances change.
TEST(Trial, FollowsWhatChanges) {
  Trial trial;
  shared_runs(trial, 1'000'000, 700, 2100);
  EXPECT_LT(shared_runs(trial, 1'000'000, 700, 2100), 1000);
  shared_runs(trial, 200'000, 700, 500);
  EXPECT_GT(shared_runs(trial, 100'000, 700, 500), 99'000);
}

/// Of so many calls, how many were shared, if each way takes so many ticks; every hundredth shared one is held up for `put_aside`.
int shared_calls(CallTrial& trial, std::uint64_t& now, int calls, std::uint64_t alone, std::uint64_t shared, std::uint64_t put_aside = 0) {
  int count = 0;
  for (int i = 0; i < calls; ++i) {
    const bool shares = trial.share();
    count += shares;
    const std::uint64_t begun = now;
    now += shares ? shared + (i % 100 ? 0 : put_aside) : alone;
    trial.done(begun, now);
  }
  return count;
}

TEST(CallTrial, SharesWhereNobodyIsPutAside) {
  CallTrial trial;
  std::uint64_t now = 1;
  EXPECT_EQ(shared_calls(trial, now, 100'000, 150'000, 100'000), 100'000) << "one thread is not even tried";
}

TEST(CallTrial, LeavesThreadsThatArePutAside) {
  CallTrial trial;
  std::uint64_t now = 1;
  shared_calls(trial, now, 10'000, 150'000, 100'000);
  EXPECT_LT(shared_calls(trial, now, 100'000, 150'000, 100'000, 20'000'000), 10'000);
  shared_calls(trial, now, 100'000, 150'000, 100'000);
  EXPECT_GT(shared_calls(trial, now, 100'000, 150'000, 100'000), 90'000) << "and comes back to them";
}

TEST(CallTrial, KeepsThreadsThatAreSlowButFasterThanOne) {
  CallTrial trial;
  std::uint64_t now = 1;
  shared_calls(trial, now, 10'000, 500'000, 100'000);
  EXPECT_GT(shared_calls(trial, now, 300'000, 500'000, 100'000, 20'000'000), 285'000) << "one is tried in a window of many";
}

}  // namespace
}  // namespace sinter::runtime::trial_test
