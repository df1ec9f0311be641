// Passes that are switched off by name: what is trained is the same.
#include <regex>

#include "passes/pipeline.h"
#include "tests/frontend/helpers.h"

namespace sinter::test::passes_off_test {
namespace {

/// A model with what the passes look for: convolutions with bias, relu and pool, a loop over time, long rows and a softmax before a logarithm.
struct Everything : nn::Module {
  nn::Conv2D conv{2, 5, {3, 3}, Activation::none, {.padding = Padding::same()}};
  nn::GRU gru{20, 6};
  nn::Dense hidden{6, 7, Activation::sigmoid}, out{7, 4, Activation::softmax};
  Everything() : Module("everything") {
    add(conv);
    add(gru);
    add(hidden);
    add(out);
  }
  Tensor forward(const Tensor& x) override {
    const Tensor pooled = max_pool2d(relu(conv(x)), {2, 2});  // [N, 4, 4, 5]
    return out(hidden(gru(reshape(pooled, {-1, 4, 20}))));
  }
};

/// Losses of six steps on the same data, the last batch smaller, with these passes off.
std::vector<double> losses_without(const std::vector<std::string>& passes) {
  seed(4);
  Everything model;
  Trainer trainer(model, loss::categorical_crossentropy, optim::Adam({.learning_rate = 0.01f}), {.without = passes});
  const Dataset data{random({11, 8, 8, 2}, 1), random_labels(11, 4, 2)};
  std::vector<double> losses;
  for (const EpochResult& epoch : trainer.fit(data, {.epochs = 3, .batch_size = 6, .verbose = false})) losses.push_back(epoch.loss);
  return losses;
}

TEST(PassesOff, TrainsTheSameWithoutAnyOneOfThePasses) {
  NEEDS_CODEGEN();
  const std::vector<double> all = losses_without({});
  for (const std::string& pass : passes::optional_pass_names()) {
    const std::vector<double> some = losses_without({pass});
    ASSERT_EQ(some.size(), all.size());
    for (std::size_t i = 0; i < all.size(); ++i) EXPECT_NEAR(some[i], all[i], 1e-5) << "without " << pass << ", epoch " << i + 1;
  }
  const std::vector<double> none = losses_without(passes::optional_pass_names());
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_NEAR(none[i], all[i], 1e-5) << "without all, epoch " << i + 1;
}

/// A training step of a model on (x, y), without these passes.
template <class F>
auto training_step(const nn::Module& model, const F& loss_of, const std::vector<std::string>& without) {
  const auto optimizer = std::make_shared<optim::SGD>();
  return compile(
      [parameters = model.parameters(), loss_of, optimizer](const Tensor& x, const Tensor& y) {
        const Tensor loss = loss_of(x, y);
        optimizer->update(parameters, grad(loss, parameters));
        return loss;
      },
      {.without = without});
}

TEST(PassesOff, EachStepIsVerified) {
  NEEDS_CODEGEN();
  for (const std::string& pass : passes::optional_pass_names()) {
    Everything model;
    auto step = training_step(model, [&](const Tensor& x, const Tensor& y) { return loss::categorical_crossentropy(model(x), y); }, {pass});
    const VerifyReport report = step.verify(random({5, 8, 8, 2}, 2), random_labels(5, 4, 3));
    EXPECT_TRUE(report.ok()) << "without " << pass << "\n" << report;
  }
}

TEST(PassesOff, GradientsThatNothingNeedsAreComputedAndStored) {
  NEEDS_CODEGEN();
  const auto explained = [](const std::vector<std::string>& passes) {
    nn::Dense layer(6, 5);
    const std::vector<Parameter> parameters = layer.parameters();
    optim::SGD optimizer;
    auto step = compile(
        [&](const Tensor& x) {
          const Tensor loss = mean(square(layer(x)));
          optimizer.update(parameters, grad(loss, parameters));
          return loss;
        },
        {.without = passes});
    (void)step(random({4, 6}, 1));
    return step.explain();
  };
  const std::regex product(R"(kernel \d+: matmul[^\n]*-> node)");
  const auto products = [&](const std::string& text) {
    return std::distance(std::sregex_iterator(text.begin(), text.end(), product), std::sregex_iterator());
  };
  const std::string all = explained({}), some = explained({"dead_gradients"});
  // That of the input, a product, and that of the number of samples.
  EXPECT_THAT(some, ::testing::HasSubstr("kept 2 gradients that nothing needs"));
  EXPECT_EQ(products(some), products(all) + 1) << all << some;
}

/// The gradient of labels [N] is that of [N, 1] in the same memory, which nothing else reads.
TEST(PassesOff, AGradientThatNothingNeedsIsAView) {
  NEEDS_CODEGEN();
  nn::Dense layer(8, 1);
  auto step =
      training_step(layer, [&](const Tensor& x, const Tensor& y) { return loss::binary_crossentropy_from_logits(layer(x), y); }, {"dead_gradients"});
  const VerifyReport report = step.verify(random({5, 8}, 1), random_labels(5, 2, 2));
  EXPECT_TRUE(report.ok()) << report;
}

TEST(PassesOff, TheEnvironmentSwitchesMoreOff) {
  NEEDS_CODEGEN();
  const Environment without("SINTER_WITHOUT", "group,fold_bias");
  auto step = compile([](const Tensor& x) { return exp(x) + x; }, {.without = {"simplify"}});
  (void)step(random({3, 2}, 1));
  for (const char* pass : {"group", "fold_bias", "simplify"})
    EXPECT_THAT(step.explain(), ::testing::ContainsRegex(std::string("  ") + pass + " [^\n]*switched off"));
  EXPECT_THAT(step.explain(), ::testing::Not(::testing::ContainsRegex("  constant_fold [^\n]*switched off")));
}

TEST(PassesOff, AnUnknownPassIsAnErrorOfTheFirstCall) {
  NEEDS_CODEGEN();
  auto step = compile([](const Tensor& x) { return exp(x); }, {.without = {"fuse"}});
  EXPECT_THAT(error_of([&] { (void)step(random({3, 2}, 1)); }),
              ::testing::StartsWith("[without] there is no pass 'fuse'; name one of dead_gradients, "));
}

}  // namespace
}  // namespace sinter::test::passes_off_test
