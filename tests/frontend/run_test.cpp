#include "tests/frontend/helpers.h"

namespace sinter::test::run_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Run, IsTheSameAsCallAfterCall) {
  const Tensor x = random({101, 20}, 1), y = random_labels(101, 7, 2);
  for (const Mode mode : modes())
    for (const std::int64_t batch : {0, 1, 32, 101, 500}) {
      SmallModel one({.mode = mode}), many({.mode = mode});
      const Tensor losses = many.step.run(x, y, {.steps = 9, .batch = batch});
      const std::vector<float> rows = x.to_vector<float>();
      const std::vector<std::int32_t> labels = y.to_vector<std::int32_t>();
      const std::int64_t size = batch == 0 || batch > 101 ? 101 : batch;
      for (std::int64_t step = 0; step < 9; ++step) {
        const std::int64_t begin = step % ((101 + size - 1) / size) * size, end = std::min<std::int64_t>(begin + size, 101);
        const Tensor some(std::vector<float>(rows.begin() + begin * 20, rows.begin() + end * 20), {end - begin, 20}),
            their(std::vector<std::int32_t>(labels.begin() + begin, labels.begin() + end), {end - begin});
        ASSERT_EQ(one.step(some, their).item(), losses.to_vector<float>()[static_cast<std::size_t>(step)]) << "batch " << batch << " step " << step;
      }
      EXPECT_EQ(one.values(), many.values());
    }
}

TEST(Run, GivesEachStepItsLearningRate) {
  const Tensor x = random({64, 20}, 1), y = random_labels(64, 7, 2);
  const std::vector<float> rates{0.1f, 0, 0.01f, 0.001f};
  for (const Mode mode : modes()) {
    SmallModel one({.mode = mode}), many({.mode = mode});
    many.step.run(x, y, {.steps = 4, .batch = 16, .learning_rate = many.optimizer.learning_rate(), .learning_rates = rates});
    const std::vector<float> rows = x.to_vector<float>();
    const std::vector<std::int32_t> labels = y.to_vector<std::int32_t>();
    for (std::int64_t step = 0; step < 4; ++step) {
      one.optimizer.set_learning_rate(rates[static_cast<std::size_t>(step)]);
      const std::int64_t begin = step * 16, end = begin + 16;
      one.step({std::vector<float>(rows.begin() + begin * 20, rows.begin() + end * 20), {16, 20}},
               {std::vector<std::int32_t>(labels.begin() + begin, labels.begin() + end), {16}});
    }
    EXPECT_EQ(one.values(), many.values());
    EXPECT_FLOAT_EQ(static_cast<float>(many.optimizer.learning_rate().read().item()), 0.001f);
  }
}

TEST(Run, ReturnsTheTypesOfTheOutputs) {
  const Tensor x(std::vector<std::int32_t>{16777217, 16777219, 5, 6}, {4});
  for (const Mode mode : modes()) {
    auto step = compile([](const Tensor& t) { return std::tuple(max(t), max(t) > 7, mean(t)); }, {.mode = mode});
    const auto [most, large, average] = step.run(x, {.steps = 2, .batch = 2});
    EXPECT_EQ(most.type(), (Type{DType::i32, {2}}));
    EXPECT_THAT(most.to_vector<std::int32_t>(), ElementsAre(16777219, 6));
    EXPECT_EQ(large.type(), (Type{DType::boolean, {2}}));
    EXPECT_THAT(cast(large, DType::u8).to_vector<std::uint8_t>(), ElementsAre(1, 0));
    EXPECT_THAT(average.to_vector<float>(), ElementsAre(16777218.0f, 5.5f));
  }
}

TEST(Run, TellsWhatIsWrong) {
  SmallModel m({.mode = modes().back()});
  const Tensor x = random({64, 20}, 1), y = random_labels(64, 7, 2);
  const std::vector<float> rates{0.1f, 0.2f};
  EXPECT_THAT(error_of([&] { m.step.run(x, y, {.steps = 0}); }), HasSubstr("run: steps must be at least 1, got 0"));
  EXPECT_THAT(error_of([&] { m.step.run(x, y, {.batch = -1}); }), HasSubstr("run: batch must not be negative, got -1"));
  EXPECT_THAT(error_of([&] { m.step.run(x, y, {.steps = 2, .learning_rates = rates}); }), HasSubstr("learning_rates needs learning_rate"));
  EXPECT_THAT(error_of([&] { m.step.run(x, y, {.steps = 3, .learning_rate = m.optimizer.learning_rate(), .learning_rates = rates}); }),
              HasSubstr("run: learning_rates needs one value per step: 3, got 2"));
  for (const Mode mode : modes()) {
    auto step = compile([](const Tensor& t) { return t * 2; }, {.mode = mode});
    EXPECT_THAT(error_of([&] { step.run(x, {.steps = 2}); }), HasSubstr("run: output 0 is f32["));
  }
}

TEST(Run, SameBytesOnAnyNumberOfThreads) {
  NEEDS_CODEGEN();
  const Tensor x = random({1000, 20}, 1), y = random_labels(1000, 7, 2);
  std::vector<float> first;
  for (const int threads : {1, 2, 3, 4}) {
    SmallModel m({.threads = threads, .force = true});
    m.step.run(x, y, {.steps = 200, .batch = 300});
    if (first.empty()) first = m.values();
    EXPECT_EQ(m.values(), first) << threads << " threads";
  }
}

TEST(Run, StopsAtABadLabelAndSaysWhere) {
  NEEDS_CODEGEN();
  SmallModel m;
  const Tensor x = random({8, 20}, 1);
  EXPECT_THAT(error_of([&] { m.step.run(x, Tensor(std::vector<std::int32_t>{0, 1, 2, 3, 4, 9, 6, 0}, {8}), {.steps = 100, .batch = 2}); }),
              HasSubstr("one_hot: index 9 is outside [0, 7), at [5] of input 'x1'"));
}

TEST(Run, ReturnsScalarsAlone) {
  NEEDS_CODEGEN();
  auto step = compile([](const Tensor& x) { return x * 2; });
  EXPECT_THAT(error_of([&] { step.run(random({4, 2}, 1), {.steps = 2}); }),
              HasSubstr("run: output 0 is f32[N,2]; many steps in a row return only scalars"));
  Parameter other("other", Tensor(1.0f));
  const std::vector<float> rates{1, 2};
  auto loss = compile([](const Tensor& x) { return mean(x); });
  EXPECT_THAT(error_of([&] { loss.run(random({4, 2}, 1), {.steps = 2, .learning_rate = other, .learning_rates = rates}); }),
              HasSubstr("run: the step does not read 'other'"));
}

TEST(Run, CannotBeTraced) {
  NEEDS_CODEGEN();
  SmallModel m;
  const Tensor y = random_labels(8, 7, 2);
  auto outer = compile([&](const Tensor& x) { return m.step.run(x, y, {.steps = 2}); });
  EXPECT_THAT(error_of([&] { outer(random({8, 20}, 1)); }), HasSubstr("run: cannot be traced; call the step once per step"));
}

}  // namespace
}  // namespace sinter::test::run_test
