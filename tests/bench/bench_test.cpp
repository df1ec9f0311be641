// The benchmarks from outside: what they list, time and refuse.
#include "tests/support/expect_program.h"

namespace sinter::test::bench_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

Finished bench(const std::vector<std::string>& arguments) { return run(SINTER_BENCH_PROGRAM, arguments); }

TEST(Bench, ListsItsWorkloads) { EXPECT_THAT(bench({"--list"}), Prints(AllOf(HasSubstr("mlp_b500"), HasSubstr("vgg_b64")))); }

TEST(Bench, TimesAWorkload) {
  const Finished finished = bench({"mlp_b500", "--repeats", "2", "--seconds", "0.01", "--per-node"});
  EXPECT_EQ(finished.status, 0) << finished;
  EXPECT_THAT(finished.out, HasSubstr("mlp_b500"));
  EXPECT_THAT(finished.err, HasSubstr("kernel   graph us   eager us  node\n"));  // so that standard output stays JSON
}

TEST(Bench, VerifiesAWorkload) {
  const Finished finished = bench({"call_overhead", "--verify", "--repeats", "2", "--seconds", "0.001"});
  EXPECT_EQ(finished.status, 0) << finished;
  EXPECT_THAT(finished.err, AllOf(HasSubstr("verify: "), HasSubstr("values agree")));
  const Finished some = bench({"lenet_infer_b64", "--verify", "--samples", "2", "--repeats", "2", "--seconds", "0.001"});
  EXPECT_EQ(some.status, 0) << some;
  EXPECT_THAT(some.err, AllOf(HasSubstr("verify: "), HasSubstr("values agree")));
  EXPECT_THAT(bench({"lenet_infer_b64", "--samples", "0"}).err, HasSubstr("--samples: Value 0 not in range 1 to"));
}

// Passes that change nothing of a workload, as relu_past_pool, are no column.
TEST(Bench, SwitchesEachPassOffThatChangesAWorkload) {
  const Finished finished = run(SINTER_BENCH_PASSES, {"linreg", "--repeats", "2", "--seconds", "0.001", "--bench", SINTER_BENCH_PROGRAM});
  EXPECT_EQ(finished.status, 0) << finished;
  EXPECT_THAT(finished.out, AllOf(HasSubstr("| workload |"), HasSubstr("`dead_gradients`"), HasSubstr("`group`"), HasSubstr("| linreg | "),
                                  Not(HasSubstr("relu_past_pool"))));
}

TEST(Bench, RefusesAnUnknownWorkload) {
  EXPECT_THAT(bench({"no_such_workload"}), Fails(2, HasSubstr("no workload 'no_such_workload'; there are mlp_b500")));
}

}  // namespace
}  // namespace sinter::test::bench_test
