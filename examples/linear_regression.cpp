// Fits y = w x + b by full-batch gradient descent, eagerly and compiled, and compares the result with the closed-form solution.
#include <sinter/sinter.h>

#include <cmath>
#include <cstdio>

using namespace sinter;

int main() {
  constexpr int samples = 1000, steps = 2000;
  std::vector<float> xs(samples), ys(samples);
  double sx = 0, sy = 0, sxx = 0, sxy = 0;
  for (int i = 0; i < samples; ++i) {
    xs[i] = 2.0f * i / samples - 1;
    ys[i] = 3 * xs[i] + 2 + 0.1f * std::sin(37.0f * i);  // a line with deterministic noise
    sx += xs[i], sy += ys[i], sxx += xs[i] * xs[i], sxy += xs[i] * ys[i];
  }
  const double best_w = (samples * sxy - sx * sy) / (samples * sxx - sx * sx), best_b = (sy - best_w * sx) / samples;
  const Tensor x(xs, {samples}), y(ys, {samples});

  int failures = 0;
  for (const Mode mode : {Mode::eager, Mode::graph}) {
    Parameter w("w", Tensor(0.0f)), b("b", Tensor(0.0f));
    const std::vector<Parameter> parameters{w, b};
    optim::SGD optimizer({.learning_rate = 0.05f});
    auto step = compile(
        [&](const Tensor& x, const Tensor& y) {
          const Tensor loss = loss::mean_squared_error(w * x + b, y);
          optimizer.update(parameters, grad(loss, parameters));
          return loss;
        },
        {.mode = mode});
    for (int i = 0; i < steps; ++i) step(x, y);
    const double w_error = w.read().item() - best_w, b_error = b.read().item() - best_b;
    std::printf("%s: w = %.5f, b = %.5f; closed form %.5f, %.5f\n", mode == Mode::eager ? "eager" : "graph", w.read().item(), b.read().item(), best_w,
                best_b);
    failures += std::abs(w_error) > 1e-3 || std::abs(b_error) > 1e-3;
  }
  return failures;
}
