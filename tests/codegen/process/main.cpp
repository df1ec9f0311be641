// Compiles and runs one training step of the network of the benchmark mlp_b500, and prints as JSON what the object cache had for it.
#include <iostream>
#include <nlohmann/json.hpp>

#include <sinter/sinter.h>

int main() {
  using namespace sinter;
  constexpr std::int64_t batch = 500;
  std::vector<float> pixels(batch * 784), classes(batch * 10);
  for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<float>(i * 7919 % 1000) / 1000;
  for (std::size_t i = 0; i < batch; ++i) classes[i * 10 + i * 7 % 10] = 1;
  nn::Sequential model{nn::Dense(784, 70, Activation::sigmoid), nn::Dense(70, 30, Activation::sigmoid), nn::Dense(30, 10, Activation::sigmoid)};
  const std::vector<Parameter> parameters = model.parameters();
  optim::RMSprop optimizer({.learning_rate = 1e-3f});
  nlohmann::json result{{"log", nlohmann::json::array()}};
  auto step = compile(
      [&](const Tensor& x, const Tensor& y) {
        const Tensor loss = loss::categorical_crossentropy(model(x), y) + loss::l2(0.01f, {parameters[0], parameters[2]});
        optimizer.update(parameters, grad(loss, parameters));
        return loss;
      },
      {.log = [&](const std::string& line) { result["log"].push_back(line); }});
  try {
    result["loss"] = step(Tensor(pixels, {batch, 784}), Tensor(classes, {batch, 10})).item();
    const CacheStatistics cache = cache_statistics();
    result.update({{"hits", cache.hits}, {"misses", cache.misses}, {"written", cache.written}, {"rejected", cache.rejected}});
    result["explain"] = step.explain();
  } catch (const Error& error) {
    result["error"] = error.what();
  }
  std::cout << result << "\n";
}
