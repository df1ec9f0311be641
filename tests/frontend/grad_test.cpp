#include <array>
#include <cmath>

#include "frontend/core/custom_gradient.h"
#include "runtime/buffer.h"
#include "tests/frontend/helpers.h"

namespace sinter::test::grad_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Grad, OfAProduct) {
  const Parameter w("w", Tensor({2, 3}, {2}));
  const Tensor x({5, 7}, {2});
  const std::vector<Tensor> g = grad(sum(w * x * w), std::vector{w});
  EXPECT_THAT(g[0].to_vector<float>(), ElementsAre(20, 42));
}

TEST(Grad, UndoesBroadcasting) {
  const Parameter b("b", Tensor({1, 2}, {2}));
  const std::vector<Tensor> g = grad(sum(Tensor({1, 2, 3, 4, 5, 6}, {3, 2}) * b), std::vector{b});
  EXPECT_THAT(g[0].to_vector<float>(), ElementsAre(9, 12));
}

TEST(Grad, StopsAtDetachAndAssign) {
  const Parameter w("w", Tensor(3.0f));
  const Tensor y = square(w);
  EXPECT_EQ(grad(y.detach() * w, std::vector{w})[0].item(), 9);
  w.assign(y);
  EXPECT_EQ(grad(square(w), std::vector{w})[0].item(), 18);
}

// ---- by tensors ----

/// sum(w x³), d = 3 w x².
Tensor cubes(const Tensor& x, const Parameter& w) { return sum(x * x * x * w); }

TEST(Grad, ByInputsAndByWhatWasComputedOnTheWay) {
  const Parameter w("w", Tensor({1, 2}, {2}));
  const Tensor data({1, 2, 3, 4}, {2, 2});
  const Tensor x = watch(data);
  EXPECT_THAT(grad(cubes(x, w), {x})[0].to_vector<float>(), ElementsAre(3, 24, 27, 96));
  const Tensor h = x * w;
  EXPECT_THAT(grad(sum(square(h)), {h})[0].to_vector<float>(), ElementsAre(2, 8, 6, 16));
  for (const Mode mode : modes()) {
    auto step = compile(
        [&](const Tensor& in) {
          const Tensor half = in * 0.5;
          const std::vector<Tensor> g = grad(cubes(half, w), {in, half, w});
          return std::tuple(g[0], g[1], g[2]);
        },
        {.mode = mode});
    const auto [by_input, by_half, by_w] = step(data * 2);
    EXPECT_THAT(by_input.to_vector<float>(), ElementsAre(1.5, 12, 13.5, 48));
    EXPECT_THAT(by_half.to_vector<float>(), ElementsAre(3, 24, 27, 96));
    EXPECT_THAT(by_w.to_vector<float>(), ElementsAre(28, 72));
  }
}

TEST(Grad, OfGradients) {
  const Parameter w("w", Tensor({1, 2}, {2}));
  const Tensor x = watch(Tensor({2, 3}, {2}));
  const Tensor first = grad(sum(exp(w * x)), {x})[0];  // w exp(w x)
  const std::vector<Tensor> second = grad(sum(first), {x, w});
  for (std::size_t i = 0; i < 2; ++i) {
    const double a = i + 1.0, b = i + 2.0;
    EXPECT_NEAR(second[0].to_vector<float>()[i], a * a * std::exp(a * b), 1e-3 * std::exp(a * b));
    EXPECT_NEAR(second[1].to_vector<float>()[i], (1 + a * b) * std::exp(a * b), 1e-3 * std::exp(a * b));
  }
  const Tensor third = grad(sum(second[0]), {x})[0];
  EXPECT_NEAR(third.to_vector<float>()[1], 8 * std::exp(6.0), 1e-3 * std::exp(6.0));
}

/// A gradient penalty, in which the first gradient is by the input and the second by the weights.
struct Penalized {
  nn::Sequential critic{nn::Dense(3, 8, Activation::tanh), nn::Dense(8, 1)};
  std::vector<Parameter> parameters = critic.parameters();
  optim::SGD optimizer{{.learning_rate = 0.1}};
  Step<Tensor(Tensor)> step;
  explicit Penalized(Mode mode) {
    step = compile(
        [this](const Tensor& x) {
          const Tensor slope = grad(sum(critic(x)), {x})[0];
          const Tensor loss = mean(square(sqrt(sum(square(slope), {-1}) + 1e-6) - 1));
          optimizer.update(parameters, grad(loss, parameters, {.allow_unused = true}));
          return loss;
        },
        {.mode = mode});
  }
};

TEST(Grad, OfGradientsIsTheSameCompiledAndEagerly) {
  NEEDS_CODEGEN();
  const Tensor x = random({16, 3}, 1);
  std::vector<std::vector<float>> values;
  for (const Mode mode : modes()) {
    seed(3);
    Penalized model(mode);
    float before = 0, after = 0;
    for (int i = 0; i < 20; ++i) {
      after = static_cast<float>(model.step(x).item());
      if (i == 0) before = after;
    }
    EXPECT_LT(after, 0.5 * before);
    values.push_back(model.parameters[0].read().to_vector<float>());
    const VerifyReport report = model.step.verify(x);
    EXPECT_TRUE(report.ok()) << report;
    EXPECT_GT(model.step.time(x).eager_seconds, 0);
  }
  for (std::size_t i = 0; i < values[0].size(); ++i) EXPECT_NEAR(values[0][i], values[1][i], 1e-4);
}

// ---- frozen parameters ----

TEST(Grad, OfFrozenParametersIsZeroAndOptimizersLeaveThem) {
  for (const Mode mode : modes()) {
    Parameter w("w", Tensor({1, 2}, {2})), b("b", Tensor(3.0f));
    const std::vector<Parameter> parameters{w, b};
    optim::AdamW optimizer{{.learning_rate = 0.1}};
    std::vector<Tensor> last;
    auto step = compile(
        [&](const Tensor& x) {
          const Tensor loss = mean(square(x * w + b));
          last = grad(loss, parameters);
          optimizer.update(parameters, last);
          return last[0];
        },
        {.mode = mode});
    const Tensor x({1, 1, 2, 2}, {2, 2});
    w.set_trainable(false);
    EXPECT_THAT(step(x).to_vector<float>(), ElementsAre(0, 0));
    EXPECT_THAT(w.read().to_vector<float>(), ElementsAre(1, 2));
    EXPECT_NE(b.read().item(), 3);
    w.set_trainable(true);
    b.set_trainable(false);
    const double kept = b.read().item();
    EXPECT_NE(step(x).to_vector<float>()[0], 0);
    EXPECT_NE(w.read().to_vector<float>()[0], 1);
    EXPECT_EQ(b.read().item(), kept);
    w.set_trainable(false);
    const std::vector<float> both = w.read().to_vector<float>();
    EXPECT_THAT(step(x).to_vector<float>(), ElementsAre(0, 0)) << "all frozen";
    EXPECT_EQ(w.read().to_vector<float>(), both);
    EXPECT_EQ(b.read().item(), kept);
    b.set_trainable(true);
    step(x);
    EXPECT_EQ(step.compile_count(), mode == Mode::graph ? 3u : 0u) << "what was frozen before is compiled already";
  }
}

// ---- functions that are not made of ops ----

/// x³ by hand.
Tensor cube(const Tensor& x) {
  std::vector<float> data = x.to_vector<float>();
  for (float& v : data) v = v * v * v;
  return with_gradient({&x, 1}, {Tensor(data, x.shape())}, [](auto in, auto, auto dy) { return std::vector{dy[0] * 3 * in[0] * in[0]}; })[0];
}

/// (exp(a) b, exp(a) + b), whose rule uses a result.
std::vector<Tensor> exponentials(const Tensor& a, const Tensor& b) {
  const Tensor e = exp(a.detach());
  return with_gradient(std::array{a, b}, {e * b.detach(), e + b.detach(), e},
                       [](auto in, auto out, auto dy) { return std::vector{(dy[0] * in[1] + dy[1] + dy[2]) * out[2], dy[0] * out[2] + dy[1]}; });
}

TEST(CustomGradient, ChainsWithOpsAndHasGradientsItself) {
  const Parameter w("w", Tensor({1, 2}, {2}));
  // (2 w³ + w)³: d = 3 (2 w³ + w)² (6 w² + 1)
  const auto f = [&] { return sum(cube(2 * cube(w) + w)); };
  const Tensor first = grad(f(), {w})[0];
  EXPECT_THAT(first.to_vector<float>(), ElementsAre(3 * 9 * 7, 3 * 324 * 25));
  // 6 (2 w³ + w) (6 w² + 1)² + 3 (2 w³ + w)² 12 w
  const Tensor second = grad(sum(first), {w})[0];
  EXPECT_THAT(second.to_vector<float>(), ElementsAre(6 * 3 * 49 + 3 * 9 * 12, 6 * 18 * 625 + 3 * 324 * 24));
}

TEST(CustomGradient, OfSeveralResults) {
  const Parameter a("a", Tensor(1.0f)), b("b", Tensor(2.0f));
  const std::vector<Tensor> y = exponentials(a, square(b));
  const double e = std::exp(1.0);
  const std::vector<Tensor> g = grad(y[0] * 3 + square(y[1]), {a, b});  // 3 e b² + (e + b²)²
  EXPECT_NEAR(g[0].item(), 3 * e * 4 + 2 * (e + 4) * e, 1e-4);
  EXPECT_NEAR(g[1].item(), 6 * e * 2 + 4 * 2 * (e + 4), 1e-4);
  EXPECT_NEAR(grad(g[1], {a})[0].item(), 6 * e * 2 + 4 * 2 * e, 1e-3);
  EXPECT_NEAR(grad(y[0], {a, b})[0].item(), 4 * e, 1e-4);
  EXPECT_FALSE(exponentials(Tensor(1.0f), Tensor(2.0f))[0].record()) << "constants need no record";
}

TEST(GradErrors, SayWhatIsMissing) {
  const Parameter w("w", Tensor({1, 2}, {2})), unused("unused", Tensor(1.0f));
  EXPECT_THAT(error_of([&] { grad(w * 2.0f, std::vector{w}); }), HasSubstr("grad needs a scalar f32 loss, got f32[2]; take its mean or sum first"));
  EXPECT_THAT(error_of([&] { grad(sum(w), std::vector{w, unused}); }), HasSubstr("the loss does not depend on parameter 'unused'"));
  EXPECT_THAT(error_of([&] { grad(Tensor(1.0f), std::vector{w}); }), HasSubstr("was not computed from trainable parameters or watched tensors"));
  const Tensor x({1, 2}, {2}), seen = watch(x);
  EXPECT_THAT(error_of([&] { grad(sum(seen * x), {seen, x}); }), HasSubstr("tensor 1, f32[2], is a constant in this computation"));
  EXPECT_THAT(error_of([&] { grad(sum(w), {seen}); }), HasSubstr("the loss does not depend on tensor 0, f32[2]"));
  EXPECT_THAT(grad(sum(w), {seen}, {.allow_unused = true})[0].to_vector<float>(), ElementsAre(0, 0));
  EXPECT_THAT(error_of([&] { grad(sum(w), {random_labels(2, 3, 1)}); }), HasSubstr("tensor 0 is i32[2], and only f32 tensors have gradients"));
  EXPECT_THAT(error_of([&] { watch(random_labels(2, 3, 1)); }), HasSubstr("watch: only f32 tensors have gradients, got i32[2]; cast it first"));
  EXPECT_THAT(error_of([&] { watch({}); }), HasSubstr("watch: the tensor was never set"));
  EXPECT_EQ(grad(sum(w), std::vector{w, unused}, {.allow_unused = true})[1].item(), 0);
}

TEST(Grad, DeepRecordsNeedNoStack) {
  const Parameter w("w", Tensor(1.0f));
  Tensor y = w;
  for (int i = 0; i < 200000; ++i) y = y + 0.0f;
  y = {};  // frees the chain
  Tensor z = w;
  for (int i = 0; i < 20000; ++i) z = z + 0.0f;
  EXPECT_EQ(grad(z, std::vector{w})[0].item(), 1);
}

TEST(Grad, TenThousandEagerStepsRunInFlatMemory) {
  const Parameter w("w", random({8, 4}, 1)), b("b", random({4}, 2));
  const std::vector<Parameter> parameters{w, b};
  optim::RMSprop optimizer;
  const Tensor x = random({16, 8}, 3), y = random({16, 4}, 4);
  const auto step = [&] { optimizer.update(parameters, grad(loss::mean_squared_error(sigmoid(matmul(x, w) + b), y), parameters)); };
  for (int i = 0; i < 10; ++i) step();
  const auto before = runtime::memory_use();
  for (int i = 0; i < 10000; ++i) step();
  const auto after = runtime::memory_use();
  EXPECT_EQ(after.live, before.live);
  EXPECT_EQ(after.pooled, before.pooled);
}

}  // namespace
}  // namespace sinter::test::grad_test
