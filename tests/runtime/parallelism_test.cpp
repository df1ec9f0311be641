// How many threads a step keeps busy, from its chunks.
#include "runtime/parallelism.h"

#include <gtest/gtest.h>

namespace sinter::runtime::parallelism_test {
namespace {

/// Phases of loops of 8 units a chunk; each loop is a kernel.
StepImage image(const std::vector<std::vector<std::int64_t>>& phases) {
  StepImage image;
  for (const std::vector<std::int64_t>& loops : phases) {
    PhaseSpec& phase = image.phases.emplace_back();
    for (const std::int64_t units : loops) {
      phase.loops.push_back({units, {.most = 8}, 1, {static_cast<std::uint32_t>(image.kernels.size())}});
      image.kernels.push_back({.name = "", .units = units, .work = {30e3 * static_cast<double>(units), {}}});
    }
  }
  return image;
}

double busy(const StepImage& image, int threads) { return parallelism(image, 1, threads, estimated_seconds(image, 1)).busy_threads; }

TEST(Parallelism, IsTheNumberOfChunksOrOfThreads) {
  const StepImage eight = image({{64}});
  EXPECT_DOUBLE_EQ(busy(eight, 1), 1);
  EXPECT_DOUBLE_EQ(busy(eight, 4), 4);
  EXPECT_DOUBLE_EQ(busy(eight, 16), 8);
  EXPECT_DOUBLE_EQ(busy(eight, 6), 4) << "two rounds, the second one of two chunks";
}

TEST(Parallelism, LoopsOfAPhaseRunTogetherAndPhasesDoNot) {
  EXPECT_DOUBLE_EQ(busy(image({{32, 32}}), 8), 8);
  EXPECT_DOUBLE_EQ(busy(image({{32}, {32}}), 8), 4);
}

/// Of a loop over time, few samples: its steps are cut into pieces.
TEST(Parallelism, StepsOfFewSamplesHavePieces) {
  StepImage step = image({{16}});
  EXPECT_DOUBLE_EQ(busy(step, 8), 2);
  step.phases[0].loops[0].step_pieces = 33;
  EXPECT_DOUBLE_EQ(busy(step, 8), 2) << "they are more than are computed as one";
  step.phases[0].loops[0].limits.joined = 2;
  EXPECT_DOUBLE_EQ(busy(step, 8), 33 / 5.0);
}

TEST(Parallelism, NamesTheKernelThatOthersWaitFor) {
  StepImage step = image({{64}, {8}, {64}});
  EXPECT_EQ(parallelism(step, 1, 8, estimated_seconds(step, 1)).kernel, 1u);
  step.phases[1].loops[0].limits.most = 1;
  EXPECT_DOUBLE_EQ(busy(step, 8), 8);
}

TEST(Parallelism, FollowsWhatIsMeasured) {
  const StepImage two = image({{64}, {8}});
  const double seconds[] = {8.0, 0.0};
  EXPECT_DOUBLE_EQ(parallelism(two, 1, 8, seconds).busy_threads, 8);
  EXPECT_DOUBLE_EQ(parallelism(image({}), 1, 8, {}).busy_threads, 1);
}

}  // namespace
}  // namespace sinter::runtime::parallelism_test
