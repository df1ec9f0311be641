// A contextual bandit: visitors arrive in batches of 1 to 16, an advertisement is chosen for each, and only clicks on the chosen one are observed.
// The same compiled step is used for all batch sizes.
#include <sinter/sinter.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <random>

using namespace sinter;

constexpr std::int64_t features = 6, arms = 4;

int main() {
  seed(1);
  std::mt19937 random(7);
  std::uniform_real_distribution<float> uniform(0, 1);
  nn::Sequential model{nn::Dense(features, 32, Activation::tanh), nn::Dense(32, arms)};
  const std::vector<Parameter> parameters = model.parameters();
  optim::Adam optimizer({.learning_rate = 5e-3f});

  auto predict = compile([&](const Tensor& visitors) { return sigmoid(model(visitors)); });  // the chance of a click, by arm
  auto learn = compile([&](const Tensor& visitors, const Tensor& chosen, const Tensor& clicked) {
    const Tensor logit = take_along(model(visitors), chosen);  // [N, 1]: of the chosen arm alone
    const Tensor loss = loss::binary_crossentropy_from_logits(logit, clicked);
    optimizer.update(parameters, grad(loss, parameters));
    return loss;
  });

  // How likely a visitor clicks on an arm: known to the simulation, not to the model.
  const std::vector<float> taste = init::normal(0, 1)({features, arms}).to_vector<float>();
  const auto chance = [&](std::span<const float> visitor, std::int64_t arm) {
    float sum = 0;
    for (std::int64_t f = 0; f < features; ++f) sum += visitor[static_cast<std::size_t>(f)] * taste[static_cast<std::size_t>(f * arms + arm)];
    return 1 / (1 + std::exp(-2 * sum));
  };

  double clicks = 0, best = 0, visitors_seen = 0;
  for (int round = 0; round < 3000; ++round) {
    const std::int64_t group = 1 + round % 16;
    const Tensor visitors = init::normal(0, 1)({group, features});
    const std::vector<float> x = visitors.to_vector<float>();
    std::vector<std::int32_t> chosen = argmax(predict(visitors)).to_vector<std::int32_t>();
    std::vector<float> clicked;
    for (std::int64_t i = 0; i < group; ++i) {
      std::int32_t& arm = chosen[static_cast<std::size_t>(i)];
      if (uniform(random) < 0.05f) arm = static_cast<std::int32_t>(uniform(random) * arms);  // explore
      const auto visitor = std::span(x).subspan(static_cast<std::size_t>(i * features), features);
      clicked.push_back(uniform(random) < chance(visitor, arm) ? 1.0f : 0.0f);
      if (round < 2000) continue;  // judged on the last 1000 groups
      float most = 0;
      for (std::int64_t a = 0; a < arms; ++a) most = std::max(most, chance(visitor, a));
      clicks += static_cast<double>(clicked.back()), best += static_cast<double>(most), ++visitors_seen;
    }
    learn(visitors, Tensor(chosen, {group, 1}), Tensor(clicked, {group, 1}));
  }
  std::cout << "clicks: " << 100 * clicks / visitors_seen << " % of " << visitors_seen
            << " visitors; always the best arm: " << 100 * best / visitors_seen << " %\ncompiled " << predict.compile_count() + learn.compile_count()
            << " functions for 16 group sizes\n";
  return clicks > 0.85 * best ? 0 : 1;
}
