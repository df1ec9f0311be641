// A physics-informed network: u(x, t) learns to solve the heat equation u_t = a u_xx without data, by gradients with respect to its inputs.
// On 0 <= x <= 1 with u = 0 at both ends and u(x, 0) = sin(pi x), the solution is exp(-a pi² t) sin(pi x).
#include <sinter/sinter.h>

#include <iostream>
#include <numbers>

using namespace sinter;

constexpr float pi = std::numbers::pi_v<float>, a = 0.1f;

int main() {
  seed(1);
  nn::Sequential u{nn::Dense(2, 32, Activation::tanh), nn::Dense(32, 32, Activation::tanh), nn::Dense(32, 1)};
  const std::vector<Parameter> parameters = u.parameters();
  optim::Adam optimizer({.learning_rate = 3e-3f});

  auto step = compile([&](const Tensor& x, const Tensor& t, const Tensor& start, const Tensor& end) {
    const Tensor value = u(concat({x, t}, -1));
    const Tensor by_x = grad(sum(value), {x})[0], by_t = grad(sum(value), {t})[0];
    const Tensor by_xx = grad(sum(by_x), {x})[0];
    const Tensor residual = mean(square(by_t - a * by_xx));
    // The conditions: at t = 0, and at x = 0 and 1.
    const Tensor initial = mean(square(u(concat({start, start * 0}, -1)) - sin(pi * start)));
    const Tensor left = mean(square(u(concat({end * 0, end}, -1)))), right = mean(square(u(concat({end * 0 + 1, end}, -1))));
    const Tensor loss = residual + 10 * (initial + left + right);
    optimizer.update(parameters, grad(loss, parameters));
    return loss;
  });

  const auto points = [](std::int64_t n) { return init::uniform(0, 1)({n, 1}); };
  for (int i = 1; i <= 3000; ++i) {
    if (i == 2000) optimizer.set_learning_rate(5e-4f);
    const double loss = step(points(128), points(128), points(128), points(128)).item();
    if (i % 1000 == 0) std::cout << "step " << i << ": loss " << loss << "\n";
  }

  const Tensor x = points(1000), t = points(1000);
  const Tensor solution = exp(-a * pi * pi * t) * sin(pi * x);
  const double error = max(abs(u(concat({x, t}, -1)) - solution)).item();
  std::cout << "greatest error " << error << " of values up to 1\n" << step.verify(points(16), points(16), points(16), points(16));
  return error < 0.03 ? 0 : 1;
}
