// A normalizing flow of affine couplings (RealNVP, Dinh et al. 2017): learns the density of two moons by its exact likelihood, and draws from it.
#include <sinter/sinter.h>

#include <cmath>
#include <iostream>
#include <numbers>

using namespace sinter;

/// Each coupling changes one coordinate by a factor and a shift that depend on the other one, and swaps the two.
struct Flow : nn::Model {
  std::vector<nn::Sequential> couplings;

  explicit Flow(int count) : Model("flow") {
    for (int i = 0; i < count; ++i) {
      couplings.push_back(nn::Sequential{nn::Dense(1, 32, Activation::tanh), nn::Dense(32, 32, Activation::tanh),
                                         nn::Dense(32, 2, Activation::none, {.weight = init::zeros()})});  // at first the identity
      add(couplings.back());
    }
  }

  /// From data to noise, and the logarithm of the determinant of the derivative.
  std::vector<Tensor> forward_all(std::span<const Tensor> in) override {
    Tensor x = in[0], log_determinant(0.0f);
    for (nn::Sequential& coupling : couplings) {
      const std::vector<Tensor> half = split(x, {1, 1}, -1), change = split(coupling(half[0]), {1, 1}, -1);
      const Tensor log_scale = tanh(change[0]);
      x = concat({half[1] * exp(log_scale) + change[1], half[0]}, -1);
      log_determinant += log_scale;
    }
    return {x, log_determinant};
  }

  /// From noise to data.
  Tensor inverse(Tensor x) {
    for (std::size_t i = couplings.size(); i-- > 0;) {
      const std::vector<Tensor> half = split(x, {1, 1}, -1), change = split(couplings[i](half[1]), {1, 1}, -1);
      x = concat({half[1], (half[0] - change[1]) * exp(-tanh(change[0]))}, -1);
    }
    return x;
  }
};

/// n points [n, 2] on two half circles, with noise.
Tensor moons(std::int64_t n) {
  const Tensor angle = init::uniform(0, std::numbers::pi_v<float>)({n, 1});
  const Tensor upper = concat({cos(angle), sin(angle)}, -1), lower = concat({1 - cos(angle), 0.5f - sin(angle)}, -1);
  const Tensor points = where(init::uniform(0, 1)({n, 1}) < 0.5f, upper, lower);
  return points + init::normal(0, 0.1f)({n, 2});
}

int main() {
  seed(1);
  Flow flow(8);
  const std::vector<Parameter> parameters = flow.parameters();
  optim::Adam optimizer({.learning_rate = 2e-3, .common = {.clip = {.global_norm = 1}}});

  const auto log_likelihood = [&](const Tensor& x) {
    const std::vector<Tensor> out = flow.call_all(std::vector{x});
    return out[1] - sum(square(out[0]), {-1}, true) / 2 - std::log(2 * std::numbers::pi_v<float>);
  };
  auto learn = compile([&](const Tensor& x) {
    const Tensor loss = -mean(log_likelihood(x));
    optimizer.update(parameters, grad(loss, parameters));
    return loss;
  });
  auto judge = compile([&](const Tensor& x) { return mean(log_likelihood(x)); });

  const Tensor test = moons(2000);
  const double before = judge(test).item();
  learn.run(moons(10000), {.steps = 4000, .batch = 250});
  const double after = judge(test).item();

  const double error = max(abs(flow.inverse(flow.call_all(std::vector{test})[0]) - test)).item();
  const Tensor drawn = flow.inverse(init::normal(0, 1)({2000, 2}));
  std::cout << "log-likelihood of new points: " << before << " to " << after << "; of points that the flow drew: " << judge(drawn).item()
            << "\ngreatest difference of the inverse of the forward from the identity: " << error << "\n";
  return after > before + 0.8 && error < 1e-3 ? 0 : 1;
}
