#include "runtime/trial.h"

#include <gtest/gtest.h>

namespace sinter::runtime {
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

}  // namespace
}  // namespace sinter::runtime
