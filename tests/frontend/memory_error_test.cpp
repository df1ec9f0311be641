// A lack of memory is an error that says how much was asked for, by what.
#include <fstream>
#include <string>

#include "ir/sanitizers.h"
#include "tests/frontend/helpers.h"

namespace sinter::test::memory_error_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

/// More than any system can address.
Tensor enormous(const Tensor& x) { return broadcast_to(mean(x), {std::int64_t{1} << 28, std::int64_t{1} << 28}); }

TEST(MemoryError, NamesTheSizeTheOpAndTheLine) {
  const Tensor x = random({4}, 1);
  EXPECT_THAT(error_of([&] { enormous(x); }),
              AllOf(HasSubstr("[memory_error_test.cpp:"), HasSubstr("] broadcast: the system has no 288230376.2 GB left; tensors and steps hold "),
                    HasSubstr("use smaller batches")));
  EXPECT_THROW(enormous(x), MemoryError);
  EXPECT_THAT(error_of([&] { Tensor::zeros({DType::f32, {1 << 28, 1 << 28}}); }), HasSubstr("[memory] the system has no 288230376.2 GB left"));
}

/// Many results that together do not fit any address space: none is written.
TEST(MemoryError, NamesTheStepAndLeavesItUsable) {
  NEEDS_CODEGEN();
  if (SINTER_ADDRESS_SANITIZER || SINTER_THREAD_SANITIZER) GTEST_SKIP() << "a sanitizer ends the process";
  const Parameter count("count", Tensor(0.0f), false);
  auto step = compile(
      [&](const Tensor& x) {
        count.assign(count + 1);
        if (x.dim(1) == Dim(5)) return std::vector{x};
        return std::vector(100, broadcast_to(mean(x), {1 << 20, 1 << 20}));
      },
      {.name = "train"});
  step(random({2, 5}, 1));
  EXPECT_THAT(error_of([&] { step(random({2, 6}, 1)); }),
              AllOf(HasSubstr("[train, memory_error_test.cpp:"), HasSubstr("] the system has no 4398.0 GB left; tensors and steps hold ")));
  EXPECT_EQ(count.read().item(), 1);
  step(random({2, 5}, 1));
  EXPECT_EQ(count.read().item(), 2);
}

/// What it keeps of the step counts, too: here all of it is one value.
TEST(MemoryError, VerifySaysWhatItNeeds) {
  NEEDS_CODEGEN();
  const Tensor w = random({1, 1 << 17}, 2);
  auto step = compile([&](const Tensor& x) { return sum(exp(x * w)); }, {.name = "wide"});
  EXPECT_THAT(error_of([&] { (void)step.verify(random({1 << 20, 1}, 1)); }),
              AllOf(HasSubstr("[wide] verify: the reference in double, and a run that keeps every value, take "),
                    HasSubstr(", and this machine has "), HasSubstr("; verify a smaller batch, or a smaller model of the same kind")));
}

/// Bytes that the process has in memory: now, or at most since this was last asked for.
double resident_bytes(bool most) {
  std::ifstream status("/proc/self/status");
  double bytes = 0;
  for (std::string word; status >> word;)
    if (word == (most ? "VmHWM:" : "VmRSS:")) status >> bytes;
  std::ofstream("/proc/self/clear_refs") << "5";
  return bytes * 1024;
}

/// A value in double is needed until its last reader is judged.
TEST(MemoryError, VerifyHoldsFewValuesAtATime) {
  NEEDS_CODEGEN();
  if (SINTER_ADDRESS_SANITIZER || SINTER_THREAD_SANITIZER) GTEST_SKIP() << "a sanitizer keeps what is freed";
  constexpr int layers = 80;
  const Tensor x = random({4096, 64}, 1);
  const double value = 16.0 * 4096 * 64;  // with its error
  auto step = compile([&](const Tensor& in) {
    Tensor y = in;
    for (int i = 0; i < layers; ++i) y = cumsum(y) * 0.01f;
    return y;
  });
  step(x);
  const double before = resident_bytes(false);
  ASSERT_GT(before, 0);
  EXPECT_TRUE(step.verify(x).ok());
  EXPECT_LT(resident_bytes(true) - before, layers * value);
}

}  // namespace
}  // namespace sinter::test::memory_error_test
