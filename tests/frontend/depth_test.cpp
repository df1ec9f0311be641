// Graphs so deep that the code of a step is divided into several functions, and operands so many that grouping looks at a part of them.
#include "tests/frontend/helpers.h"

namespace sinter::test::depth_test {
namespace {

constexpr int layers = 70;

/// Training steps of many dense layers: more kernels in one loop, and more loops in one phase, than one function has.
struct Deep {
  std::vector<nn::Dense> list;
  std::vector<Parameter> parameters;
  optim::SGD sgd{{.learning_rate = 1e-3}};

  Deep() {
    seed(7);
    for (int i = 0; i < layers; ++i) list.emplace_back(12, 12, Activation::tanh);
    for (const nn::Dense& layer : list)
      for (const Parameter& p : layer.parameters()) parameters.push_back(p);
  }
  Tensor train(const Tensor& x) {
    Tensor y = x;
    for (nn::Dense& layer : list) y = layer(y) + x;
    const Tensor loss = mean(square(y));
    sgd.update(parameters, grad(loss, parameters));
    return loss;
  }
  std::vector<float> after_steps(int threads) {
    auto step = compile([&](const Tensor& x) { return train(x); }, {.threads = threads, .force = threads > 0});
    std::vector<float> losses;
    for (int i = 0; i < 3; ++i) losses.push_back(static_cast<float>(step(random({100, 12}, 1)).item()));
    const std::vector<float> weights = parameters.front().read().to_vector<float>();
    losses.insert(losses.end(), weights.begin(), weights.end());
    return losses;
  }
};

TEST(Depth, ManyLayersTrainTheSameOnAnyNumberOfThreads) {
  NEEDS_CODEGEN();
  Deep verified, one, two;
  auto step = compile([&](const Tensor& x) { return verified.train(x); });
  const VerifyReport report = step.verify(random({100, 12}, 1));
  EXPECT_TRUE(report.ok()) << report;
  EXPECT_EQ(one.after_steps(1), two.after_steps(3));
}

TEST(Depth, ALongChainIsRight) {
  NEEDS_CODEGEN();
  auto step = compile([](const Tensor& x) {
    Tensor y = x;
    for (int i = 0; i < 400; ++i) y = sin(y * 0.999);
    return y;
  });
  const VerifyReport report = step.verify(random({4, 33}, 1));
  EXPECT_TRUE(report.ok()) << report;
}

}  // namespace
}  // namespace sinter::test::depth_test
