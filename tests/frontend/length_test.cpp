// Steps whose inputs have a length that each call decides.
#include "tests/frontend/helpers.h"
#include "tests/frontend/mistakes.h"

namespace sinter::test::length_test {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t features = 12, classes = 5;

/// Classifies sequences [N, T, features] by the mean of what a dense layer makes of their steps, weighted by a softmax over the steps.
struct Classifier {
  nn::Dense each, last;
  optim::Adam adam{{.learning_rate = 1e-2f}};
  std::vector<Parameter> parameters;

  Classifier() : each((seed(5), nn::Dense(features, 16, Activation::tanh))), last(16, classes), parameters(each.parameters()) {
    for (const Parameter& p : last.parameters()) parameters.push_back(p);
  }
  Tensor train(const Tensor& x, const Tensor& y) {
    const Tensor steps = each(x), weights = softmax(mean(steps, -1));
    const Tensor scores = last(sum(steps * reshape(weights, {x.shape()[0], x.shape()[1], 1}), 1) + mean(steps, 1));
    const Tensor loss = loss::categorical_crossentropy(softmax(scores), y);
    adam.update(parameters, grad(loss, parameters));
    return loss;
  }
};

Spec sequences() { return Spec::batch(DType::f32, {Spec::any_length, features}); }

TEST(Length, OneCompileForEveryLength) {
  NEEDS_CODEGEN();
  Classifier m, fixed;
  const auto one = [&](const Tensor& x, const Tensor& y) { return m.train(x, y); };
  const auto other = [&](const Tensor& x, const Tensor& y) { return fixed.train(x, y); };
  auto step = compile(one, sequences(), Spec::batch(DType::i32, {}));
  auto wanted = compile(other, {.mode = Mode::eager});
  for (const std::int64_t t : {7, 64, 1000, 1, 13})
    for (const std::int64_t n : {1, 6, 32}) {
      const Tensor x = random({n, t, features}, t), y = random_labels(n, classes, n);
      const VerifyReport report = step.verify(x, y);
      EXPECT_TRUE(report.ok()) << report << "N = " << n << ", T = " << t;
      EXPECT_NEAR(step(x, y).item(), wanted(x, y).item(), 2e-5) << "N = " << n << ", T = " << t;
    }
  EXPECT_EQ(step.compile_count(), 1u);
  EXPECT_THAT(step.explain(), HasSubstr("f32[N,T,12]"));
}

TEST(Length, RowsOfTElementsGoInAndOut) {
  NEEDS_CODEGEN();
  auto step = compile([](const Tensor& x) { return std::pair(x * 2 - mean(x, 1, true), transpose(x)); }, Spec::batch(DType::f32, {Spec::any_length}));
  for (const std::int64_t t : {1, 3, 16, 33, 100}) {
    const Tensor x = random({4, t}, t);
    EXPECT_TRUE(step.verify(x).ok()) << "T = " << t;
    const auto [moved, turned] = step(x);
    EXPECT_EQ(moved.shape(), Shape({4, t}));
    EXPECT_EQ(turned.to_vector<float>(), transpose(x).to_vector<float>());
  }
  EXPECT_EQ(step.compile_count(), 1u);
}

TEST(Length, SoftmaxOverTheSteps) {
  NEEDS_CODEGEN();
  const auto both = [](const Tensor& x) { return std::pair(softmax(x), log_softmax(x * 50)); };
  auto step = compile(both, Spec::batch(DType::f32, {3, Spec::any_length}));
  for (const std::int64_t t : {1, 5, 40}) {
    const Tensor x = random({2, 3, t}, t, -3, 3);
    EXPECT_TRUE(step.verify(x).ok()) << "T = " << t;
    const auto wanted = both(x), got = step(x);
    const auto near = [](const Tensor& a, const Tensor& b) { return max(abs(a - b)).item() < 1e-5f; };
    EXPECT_TRUE(near(got.first, wanted.first) && near(got.second, wanted.second)) << "T = " << t;
  }
}

TEST(Length, SameBytesOnAnyNumberOfThreads) {
  NEEDS_CODEGEN();
  std::vector<float> first;
  for (const int threads : {1, 2, 3, 4}) {
    Classifier m;
    auto step = compile([&](const Tensor& x, const Tensor& y) { return m.train(x, y); }, {.threads = threads, .force = true}, sequences(),
                        Spec::batch(DType::i32, {}));
    for (const std::int64_t t : {200, 31, 640}) step(random({48, t, features}, t), random_labels(48, classes, t));
    const std::vector<float> values = m.parameters[0].read().to_vector<float>();
    if (first.empty()) first = values;
    EXPECT_EQ(values, first) << threads << " threads";
  }
}

/// Register tiles end behind the rows of a matrix, in memory that no other chunk has.
TEST(Length, MatricesOfEachStepAreMultiplied) {
  NEEDS_CODEGEN();
  const auto gram = [](const Tensor& x) { return relu(matmul(x, permute(x, {0, 1, 3, 2})) - 0.5f); };
  for (const char* checked : {"0", "1"}) {
    const Environment environment("SINTER_CHECKED", checked);
    auto step = compile(gram, {.threads = 3, .force = true}, Spec::batch(DType::f32, {Spec::any_length, 5, 2}));
    for (const std::int64_t n : {1, 3, 64})
      for (const std::int64_t t : {1, 7}) {
        const Tensor x = random({n, t, 5, 2}, n + t);
        EXPECT_TRUE(step.verify(x).ok()) << "N = " << n << ", T = " << t << ", checked " << checked;
      }
  }
}

TEST(Length, IsKeptInAFile) {
  NEEDS_CODEGEN();
  const TemporaryFolder folder;
  const std::string path = folder.path + "/step.sinter";
  auto step = compile([](const Tensor& x) { return max(x * x, 1); }, {.name = "squares"}, sequences());
  step.save(path);
  for (const Mode mode : modes()) {
    const auto loaded = load_step(path, {.mode = mode});
    for (const std::int64_t t : {3, 50}) {
      const Tensor x = random({2, t, features}, t);
      EXPECT_EQ(loaded->call(std::array{&x})[0].to_vector<float>(), step(x).to_vector<float>());
    }
    const Tensor flat = random({2, 30}, 1);
    EXPECT_THAT(error_of([&] { loaded->call(std::array{&flat}); }), HasSubstr("[squares] input 'x0' must be f32[N,T,12], got f32["));
  }
}

TEST(LengthErrors, SayWhatIsWrong) {
  NEEDS_CODEGEN();
  auto pair = compile([](const Tensor& x, const Tensor& y) { return sum(x, 1) + sum(y, 1); }, {.name = "pair"}, sequences(), sequences());
  expect_errors({
      {"[pair] inputs 'x0' and 'x1' have 5 and 6 steps; all inputs of a call need the same length, pad the shorter ones",
       [&] { pair(random({2, 5, features}, 1), random({2, 6, features}, 2)); }},
      {"[pair] input 'x0' has no steps", [&] { pair(Tensor::zeros({DType::f32, {2, 0, features}}), random({2, 6, features}, 2)); }},
      {"[spec] only batch inputs may have any_length; a table or a fixed input has numbers", [] { Spec::fixed(DType::f32, {3, Spec::any_length}); }},
      {"[spec] only batch inputs may have any_length; a table or a fixed input has numbers", [] { Spec::table(DType::f32, {Spec::any_length}); }},
      {"at most one length per shape, got [N,T,T]; sum over T first, or declare a fixed length",
       [] { Spec::batch(DType::f32, {Spec::any_length, Spec::any_length}); }},
      {"T must be one of the leading axes, got f32[N,T,3] and f32[N,3,T]",
       [] { compile([](const Tensor& x) { return matmul(x, transpose(x)); }, Spec::batch(DType::f32, {Spec::any_length, 3})); }},
      {"T against 4; equal dimensions or 1 are needed",
       [] { compile([](const Tensor& x) { return x + Tensor::zeros({DType::f32, {4, features}}); }, sequences()); }},
  });
}

}  // namespace
}  // namespace sinter::test::length_test
