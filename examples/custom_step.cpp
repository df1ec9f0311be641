// A custom training step with explicit gradients, which is then verified, timed and explained.
#include <sinter/sinter.h>

#include <iostream>

using namespace sinter;

int main() {
  seed(1);
  nn::Sequential model{nn::Dense(2, 16, Activation::tanh), nn::Dense(16, 2)};
  const std::vector<Parameter> parameters = model.parameters();
  optim::SGD optimizer({.learning_rate = 0.5f, .momentum = 0.9f});

  auto step = compile([&](const Tensor& x, const Tensor& y) {
    const Tensor logits = model(x);
    const Tensor loss = loss::sparse_categorical_crossentropy_from_logits(logits, y);
    std::vector<Tensor> gradients = grad(loss, parameters);
    for (Tensor& g : gradients) g = clip(g, -1, 1);  // custom code between gradient and update
    optimizer.update(parameters, gradients);
    const Tensor accuracy = mean(argmax(logits) == y);
    return std::pair(loss, accuracy);
  });

  // Exclusive or of two signs: not linearly separable.
  std::vector<float> points;
  std::vector<std::int32_t> classes;
  for (int i = 0; i < 256; ++i) {
    const float a = (i % 16 - 7.5f) / 8, b = (i / 16 - 7.5f) / 8;
    points.insert(points.end(), {a, b});
    classes.push_back((a > 0) != (b > 0));
  }
  const Tensor x(points, {256, 2}), y(classes, {256});

  double accuracy = 0;
  for (int i = 0; i < 300; ++i) accuracy = step(x, y).second.item();
  std::cout << "accuracy after 300 steps: " << accuracy << "\n";
  const VerifyReport report = step.verify(x, y);
  std::cout << report << step.time(x, y) << step.explain();
  return report.ok() && accuracy > 0.98 ? 0 : 1;
}
