// Numbers that are not finite in steps of one's own: where they are born.
#include <cmath>

#include "frontend/core/finite.h"
#include "tests/frontend/helpers.h"

namespace sinter::test::non_finite_step_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

/// Gradient descent on the mean of sqrt(w x), whose gradient is infinite where that is 0.
struct Roots {
  Parameter w{"w", Tensor({1, 2, 3}, {3})};
  Step<Tensor(Tensor)> step;
  explicit Roots(Mode mode)
      : step(compile(
            [this](const Tensor& x) {
              const Tensor loss = mean(sqrt(w * x));
              w.assign(w - 0.125 * grad(loss, {w})[0]);
              return loss;
            },
            {.name = "roots", .mode = mode})) {}
};

TEST(FindNonFinite, NamesTheGradientInWhichANumberIsBorn) {
  for (const Mode mode : modes()) {
    Roots roots(mode);
    roots.step.find_non_finite();
    const Tensor sound = Tensor::filled({DType::f32, {2, 3}}, 1), bad({1, 1, 1, 0, 1, 1}, {2, 3});
    roots.step(sound);
    const auto before = roots.w.read().to_vector<float>();
    const std::string text = error_of([&] { roots.step(bad); });
    EXPECT_THAT(text, AllOf(HasSubstr("[non_finite_step_test.cpp:"), HasSubstr("the gradient of sqrt: "),
                            HasSubstr(" makes inf at [1, 0] of f32[2,3]"), HasSubstr(", in a call of 'roots'; all states are as before that call")))
        << text;
    EXPECT_EQ(roots.w.read().to_vector<float>(), before);
    roots.step(sound);
    EXPECT_NE(roots.w.read().to_vector<float>(), before) << "training goes on";
    roots.step.core()->set_find_non_finite(false);
    roots.step(bad);
    EXPECT_TRUE(first_non_finite(roots.w).has_value()) << "nobody looks any more";
  }
}

TEST(FindNonFinite, IsAnOptionOfTheStepAndLooksAtResultsOnly) {
  for (const Mode mode : modes()) {
    auto step = compile([](const Tensor& x) { return where(x > 0.0f, log(maximum(x, 0)), 0); }, {.mode = mode, .find_non_finite = true});
    EXPECT_EQ(step(Tensor({1, -1}, {2})).to_vector<float>(), (std::vector<float>{0, 0})) << "log(0) reaches no result";
    EXPECT_THAT(error_of([&] { step(Tensor({1, INFINITY}, {2})); }), HasSubstr("[x0] the input holds inf at [1] of f32[2], in a call of 'step'"));
  }
}

TEST(FindNonFinite, RunGoesStepByStep) {
  for (const Mode mode : modes()) {
    Roots roots(mode), alone(mode);
    roots.step.find_non_finite();
    const Tensor data({1, 1, 1, 1, 2, 3, 0, 1, 1}, {3, 3});
    const auto losses = roots.step.run(data, {.steps = 2, .batch = 1}).to_vector<float>();
    EXPECT_EQ(alone.step.run(data, {.steps = 2, .batch = 1}).to_vector<float>(), losses);
    EXPECT_EQ(alone.w.read().to_vector<float>(), roots.w.read().to_vector<float>());
    EXPECT_THAT(error_of([&] { roots.step.run(data, {.steps = 3, .batch = 1}); }), HasSubstr("the gradient of sqrt: "));
    EXPECT_FALSE(first_non_finite(roots.w).has_value());
  }
}

}  // namespace
}  // namespace sinter::test::non_finite_step_test
