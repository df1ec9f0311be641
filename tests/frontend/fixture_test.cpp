// Whole models against an independent implementation: tests/fixtures/make.py.
#include <cmath>

#include "tests/frontend/helpers.h"

namespace sinter::test::fixture_test {
namespace {

const std::string folder = SINTER_TEST_FIXTURES;

struct Case {
  const char* name;
  Loss loss;
  Activation last;
  std::shared_ptr<optim::Optimizer> optimizer;
  float l2;
};

void expect_close(const std::vector<float>& got, const std::vector<float>& wanted, const std::string& what) {
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i)
    ASSERT_NEAR(got[i], wanted[i], 2e-5 * std::max(1.0f, std::abs(wanted[i]))) << what << ", element " << i;
}

void run(Case c, Mode mode) {
  nn::Sequential model{nn::Dense(12, 9, Activation::sigmoid), nn::Dense(9, 5, c.last)};
  const std::vector<Parameter> parameters = model.parameters();
  parameters[0].assign(data::npy(folder + "/w1.npy"));
  parameters[2].assign(data::npy(folder + "/w2.npy"));
  auto step = compile(
      [&](const Tensor& x, const Tensor& y) {
        Tensor loss = c.loss(model(x), y);
        if (c.l2 > 0) loss = loss + loss::l2(c.l2, {parameters[0]});
        c.optimizer->update(parameters, grad(loss, parameters));
        return loss;
      },
      {.mode = mode});
  const Tensor x = data::npy(folder + "/x.npy"), labels = data::npy(folder + "/labels.npy");
  std::vector<float> losses;
  for (int i = 0; i < 20; ++i) losses.push_back(static_cast<float>(step(x, labels).item()));
  expect_close(losses, data::npy(str(folder, "/", c.name, "_losses.npy")).to_vector<float>(), "losses");
  for (std::size_t i = 0; i < parameters.size(); ++i)
    expect_close(parameters[i].read().to_vector<float>(), data::npy(str(folder, "/", c.name, "_p", i, ".npy")).to_vector<float>(),
                 parameters[i].name());
}

TEST(Fixture, SigmoidCrossentropyRMSpropL2) {
  for (const Mode mode : modes())
    run({"probabilities_rmsprop", loss::categorical_crossentropy, Activation::sigmoid,
         std::make_shared<optim::RMSprop>(optim::RMSpropOptions{.learning_rate = 1e-2f}), 0.01f},
        mode);
}

TEST(Fixture, LogitsMomentum) {
  for (const Mode mode : modes())
    run({"logits_sgd", loss::sparse_categorical_crossentropy_from_logits, Activation::none,
         std::make_shared<optim::SGD>(optim::SGDOptions{.learning_rate = 0.1f, .momentum = 0.9f}), 0},
        mode);
}

TEST(Fixture, SquaredErrorRMSprop) {
  const auto loss = [](const Tensor& prediction, const Tensor& y) { return loss::mean_squared_error(prediction, one_hot(y, 5)); };
  for (const Mode mode : modes())
    run({"square_rmsprop", loss, Activation::sigmoid, std::make_shared<optim::RMSprop>(optim::RMSpropOptions{.learning_rate = 1e-2f}), 0}, mode);
}

}  // namespace
}  // namespace sinter::test::fixture_test
