// Generated code under ThreadSanitizer, in the tsan preset.
#include "ir/sanitizers.h"

#if SINTER_THREAD_SANITIZER
#include <cstdlib>

#include "tests/codegen/raw_step.h"

namespace sinter::test::threads_test {
namespace {

using codegen::Sabotage;

/// Steps on four threads; then the end of the process, whose exit code ThreadSanitizer changes if it has reported something.
[[noreturn]] void run_steps(const codegen::Options& options, const ir::Graph& graph = mlp()) {
  RawStep step(graph, options, 500);
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

}  // namespace
}  // namespace sinter::test::threads_test
#endif
