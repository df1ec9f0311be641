// What tests of the language's functions share: a function is right eagerly, compiled and in double, and so is its gradient.
#pragma once

#include "tests/frontend/helpers.h"

namespace sinter::test {

using Verb = std::function<Tensor(const Tensor& x, const std::vector<Tensor>& others)>;

/// `f` of a batch x [N, ...] and others. Its gradients by all of them are the slopes of a loss, by differences that are exact but for rounding where
/// f is of second degree in each number; and a compiled step of all that agrees with eager and with double.
inline void expect_right(const Verb& f, const Tensor& x, const std::vector<Tensor>& others = {}) {
  std::vector<Parameter> parameters{{"scale", random(x.shape().erase(0, 1), 50, 0.5, 1.5)}};
  for (const Tensor& other : others) parameters.emplace_back(str("other_", parameters.size()), other);
  const auto loss = [&](const Tensor& batch) {
    const std::vector<Tensor> values(parameters.begin() + 1, parameters.end());
    return mean(square(f(batch * parameters[0], values)));
  };
  const std::vector<Tensor> gradients = grad(loss(x), parameters);
  for (std::size_t p = 0; p < parameters.size(); ++p) {
    const std::vector<float> values = parameters[p].read().to_vector<float>(), slopes = gradients[p].to_vector<float>();
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto loss_at = [&](float moved) {
        std::vector<float> other = values;
        other[i] += moved;
        parameters[p].assign(Tensor(other, parameters[p].shape()));
        return loss(x).item();
      };
      constexpr float h = 0x1p-4f;
      const double slope = (8 * (loss_at(h) - loss_at(-h)) - (loss_at(2 * h) - loss_at(-2 * h))) / (12 * static_cast<double>(h));
      EXPECT_NEAR(slopes[i], slope, 2e-4 * (1 + std::abs(slope))) << parameters[p].name() << " " << i;
    }
    parameters[p].assign(Tensor(values, parameters[p].shape()));
  }
  if (codegen::is_built()) {
    std::vector<Parameter> results;
    for (std::size_t p = 0; p < parameters.size(); ++p) results.emplace_back(str("gradient_", p), Tensor::zeros(parameters[p].type()), false);
    auto step = compile([&](const Tensor& batch) {
      const Tensor value = loss(batch);
      const std::vector<Tensor> slopes = grad(value, parameters);
      for (std::size_t p = 0; p < parameters.size(); ++p) results[p].assign(slopes[p]);
      return value;
    });
    const VerifyReport report = step.verify(x);
    EXPECT_TRUE(report.ok()) << report;
    EXPECT_NEAR(step(x).item(), loss(x).item(), 1e-5 * (1 + loss(x).item()));
  }
}

}  // namespace sinter::test
