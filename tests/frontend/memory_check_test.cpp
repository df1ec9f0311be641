// fit holds the memory of a step against what the system has before it runs the first one.
#include "frontend/train/memory_check.h"

#include <filesystem>
#include <fstream>

#include "tests/frontend/helpers.h"

namespace sinter::test::memory_check_test {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr std::int64_t samples = 4000;

/// A folder that stands for /, of a machine with as much memory as a test wants; and a trainer whose warnings are kept.
class MemoryCheck : public testing::Test {
 protected:
  void SetUp() override { set_system_files(root_.path); }
  void TearDown() override { set_system_files(""); }
  void write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text << "\n";
  }
  void machine(std::int64_t total, std::int64_t available) {
    write("proc/meminfo", str("MemTotal: ", total / 1024, " kB\nMemAvailable: ", available / 1024, " kB"));
  }
  Trainer trainer(TrainerOptions options = {}) {
    seed(3);
    options.threads = 1;  // each has scratch memory
    options.log = [this](const std::string& line) { warnings_.push_back(line); };
    return {nn::Sequential{nn::Dense(16, 64, Activation::relu), nn::Dense(64, 64, Activation::relu), nn::Dense(64, 1)}, loss::mean_squared_error,
            optim::Adam(), options};
  }
  std::string error(Trainer& trainer, std::int64_t batch_size) {
    return error_of([&] { trainer.fit(data_, {.batch_size = batch_size, .verbose = false}); });
  }

  const TemporaryFolder root_;
  const Dataset data_{random({samples, 16}, 1), random({samples, 1}, 2)};
  std::vector<std::string> warnings_;
};

std::int64_t first_number_after(const std::string& text, const std::string& words) {
  const std::size_t at = text.find(words);
  return at == text.npos ? -1 : std::strtoll(text.c_str() + at + words.size(), nullptr, 10);
}

TEST_F(MemoryCheck, AStepThatCannotFitIsAnErrorWithFiguresAndAdvice) {
  NEEDS_CODEGEN();
  machine(4'000'000, 3'900'000);
  Trainer t = trainer();
  const std::string said = error(t, samples);
  EXPECT_THAT(said,
              AllOf(HasSubstr("[fit] this machine has 4.0 MB of memory in all, but a training step on 4000 samples needs "),
                    ContainsRegex(": [0-9.]+ [KMG]B for values between its loops, [0-9.]+ [KMG]B of scratch memory for [0-9]+ threads?, "
                                  "[0-9.]+ [KMG]B of parameters and other states, 272.0 KB of data; use a smaller batch_size, of [0-9]+ at most, or "
                                  "smaller layers or data in pieces \\(a Generator\\)")));
  EXPECT_EQ(t.epoch(), 0);
  const std::int64_t advised = first_number_after(said, "batch_size, of ");
  ASSERT_GT(advised, 0);
  ASSERT_LT(advised, samples);
  EXPECT_EQ(error(t, advised), "");  // as advised, it fits, without a warning
  EXPECT_THAT(warnings_, IsEmpty());
}

TEST_F(MemoryCheck, NamesTheControlGroup) {
  NEEDS_CODEGEN();
  machine(std::int64_t{1} << 40, std::int64_t{1} << 40);
  write("proc/self/cgroup", "0::/job");
  write("sys/fs/cgroup/job/memory.max", "300000");
  write("sys/fs/cgroup/job/memory.current", "100000");
  Trainer t = trainer();
  EXPECT_THAT(error(t, samples),
              AllOf(HasSubstr("[fit] the control group (cgroup) of this process has 300.0 KB of memory in all, but a training step on 4000 samples"),
                    HasSubstr("of data; use smaller layers or data in pieces"), Not(HasSubstr("batch_size"))));  // the data alone is too much
}

TEST_F(MemoryCheck, WarnsOnceWhereLittleWouldBeLeft) {
  NEEDS_CODEGEN();
  machine(std::int64_t{1} << 40, 3'000'000);
  Trainer t = trainer();
  EXPECT_EQ(error(t, samples), "");
  ASSERT_EQ(warnings_.size(), 1u);
  EXPECT_THAT(warnings_[0],
              AllOf(HasSubstr("[fit] memory is scarce, and the system may end this process: of "),
                    HasSubstr(" that it can have now, a training step on 4000 samples needs "), HasSubstr("use a smaller batch_size, of ")));
  EXPECT_EQ(error(t, samples), "");
  EXPECT_EQ(error(t, 10), "");
  EXPECT_EQ(warnings_.size(), 1u);
}

TEST_F(MemoryCheck, IsSilentWhereThereIsEnough) {
  machine(std::int64_t{1} << 40, std::int64_t{1} << 39);
  for (const Mode mode : modes()) {
    Trainer t = trainer({.mode = mode});
    EXPECT_EQ(error(t, samples), "");
  }
  EXPECT_THAT(warnings_, IsEmpty());
}

TEST_F(MemoryCheck, IsSilentWhereNothingIsKnown) {
  Trainer t = trainer({.mode = modes().back()});  // there is no meminfo
  EXPECT_EQ(error(t, samples), "");
  machine(1000, 1000);
  Trainer eager = trainer({.mode = Mode::eager});  // there is no plan
  EXPECT_EQ(error(eager, samples), "");
  EXPECT_THAT(warnings_, IsEmpty());
}

TEST_F(MemoryCheck, AFixedBatchIsNotAdvisedToBeSmaller) {
  NEEDS_CODEGEN();
  machine(4'000'000, 3'900'000);
  Trainer t = trainer({.fixed_batch = samples});
  EXPECT_THAT(error(t, samples), AllOf(HasSubstr("of data; use smaller layers"), Not(HasSubstr("batch_size"))));
}

TEST_F(MemoryCheck, AStepTellsItsMemory) {
  NEEDS_CODEGEN();
  set_system_files("");
  const Parameter w("w", random({8, 256}, 1));
  auto step = compile(
      [&](const Tensor& x) {
        const Tensor y = tanh(matmul(x, w));
        w.assign(w * mean(y));
        return softmax(matmul(y, transpose(y)));
      },
      {.threads = 1, .kinds = {InputKind::fixed}});
  const Tensor x = random({100, 8}, 2);
  const Tensor* in = &x;
  const StepMemory memory = step.core()->memory({&in, 1});
  EXPECT_EQ(memory.states, 8 * 256 * 4);
  EXPECT_GT(memory.arenas, 0);
  EXPECT_EQ(memory.threads, 1);
  EXPECT_EQ(memory.all(), memory.states + memory.arenas + memory.scratch);
  EXPECT_THAT(step.explain(), HasSubstr(str(": ", memory.all(), " bytes; of them ", memory.states, " of states, ", memory.arenas, " of arenas, ",
                                            memory.scratch, " of chunk scratch")));
  EXPECT_EQ(step.compile_count(), 1u);
}

TEST_F(MemoryCheck, AStepNeedsMoreForMoreSamples) {
  NEEDS_CODEGEN();
  set_system_files("");
  Trainer t = trainer();
  EXPECT_EQ(error(t, 32), "");
  const Tensor rows = Tensor::zeros({DType::i32, {32}});
  const std::vector<const Tensor*> in{&data_.x[0].array(), &data_.y[0].array(), &rows};
  EXPECT_GT(t.train_step().memory(in, 1'000'000).arenas, 1000 * t.train_step().memory(in, 32).arenas);
}

}  // namespace
}  // namespace sinter::test::memory_check_test
