// Generated code under ThreadSanitizer, in the tsan preset.
#include "ir/sanitizers.h"

#if SINTER_THREAD_SANITIZER
#include <algorithm>
#include <cstdlib>

#include "tests/codegen/raw_step.h"

namespace sinter::test::threads_test {
namespace {

using codegen::Sabotage;

/// Steps on four threads; then the end of the process, whose exit code ThreadSanitizer changes if it has reported something.
[[noreturn]] void run_steps(const codegen::Options& options, const ir::Graph& graph = mlp(), std::int64_t n = 500) {
  RawStep step(graph, options, n);
  for (int i = 0; i < 100; ++i) step.run(4);
  std::exit(0);
}

TEST(ThreadSanitizerDeathTest, SeesAMissingBarrierInGeneratedCode) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(run_steps({}), testing::ExitedWithCode(0), "");
  EXPECT_EXIT(run_steps({.sabotage = {Sabotage::Kind::no_barrier, 0}}), testing::ExitedWithCode(66), "data race");
}

TEST(ThreadSanitizerDeathTest, SeesAMissingBarrierBeforeALoopOverTime) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(run_steps({}, recurrent_training_graph()), testing::ExitedWithCode(0), "");
  EXPECT_EXIT(run_steps({.sabotage = {Sabotage::Kind::no_barrier, 0}}, recurrent_training_graph()), testing::ExitedWithCode(66), "data race");
}

TEST(ThreadSanitizerDeathTest, SeesAMissingBarrierBetweenSharedSteps) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const ir::Graph graph = recurrent_training_graph(520);
  const RawStep step(graph, {}, 3);
  const auto is_loop = [](const KernelSpec& kernel) { return kernel.name.starts_with("scan"); };
  const auto loop = std::find_if(step.image.kernels.begin(), step.image.kernels.end(), is_loop);
  ASSERT_NE(loop, step.image.kernels.end());
  const auto number = static_cast<std::size_t>(loop - step.image.kernels.begin());
  EXPECT_EXIT(run_steps({}, graph, 3), testing::ExitedWithCode(0), "");
  EXPECT_EXIT(run_steps({.sabotage = {Sabotage::Kind::no_step_barrier, number, 2}}, graph, 3), testing::ExitedWithCode(66), "data race");
}

}  // namespace
}  // namespace sinter::test::threads_test
#endif
