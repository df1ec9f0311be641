#include "bench/convolutional.h"

#include "bench/network.h"

namespace sinter::bench {

namespace {

std::shared_ptr<nn::Module> lenet() {
  seed(3);
  return nn::share(nn::Sequential{nn::Conv2D(1, 20, {5}), nn::MaxPool2D({2}), nn::Conv2D(20, 50, {5}), nn::MaxPool2D({2}), nn::Flatten(),
                                  nn::Dense(800, 500, nn::Activation::relu), nn::Dense(500, 10)});
}

std::shared_ptr<nn::Module> vgg() {
  seed(3);
  const auto conv = [](std::int64_t channels, std::int64_t features, nn::Activation activation) {
    return nn::Conv2D(channels, features, {3}, activation, {.padding = Padding::same()});
  };
  using enum nn::Activation;
  return nn::share(nn::Sequential{conv(3, 50, relu), conv(50, 50, none), nn::MaxPool2D({2}), nn::ReLU(), nn::Dropout(0.25), conv(50, 100, relu),
                                  conv(100, 100, none), nn::MaxPool2D({2}), nn::ReLU(), nn::Dropout(0.25), nn::Flatten(), nn::Dense(6400, 512, relu),
                                  nn::Dropout(0.5), nn::Dense(512, 10)});
}

std::shared_ptr<nn::Module> series() {
  seed(3);
  return nn::share(nn::Sequential{nn::Conv1D(30, 40, 9, nn::Activation::relu), nn::Conv1D(40, 80, 7, nn::Activation::relu), nn::GlobalAveragePool(),
                                  nn::Dropout(0.3), nn::Dense(80, 1)});
}

std::vector<Batch> image_batches(const Shape& shape, std::uint64_t stream) {
  std::vector<Batch> batches;
  for (std::uint64_t i = 0; i < 4; ++i) batches.push_back({uniform(shape, 0, 1, stream + i), labels(shape[0].factor(), 10, stream + 10 + i)});
  return batches;
}

}  // namespace

std::vector<Job> lenet_step(const RunSettings& settings) {
  return training("lenet_b64", lenet(), loss::sparse_categorical_crossentropy_from_logits,
                  std::make_shared<optim::SGD>(optim::SGDOptions{.learning_rate = 0.01, .momentum = 0.9}), image_batches({64, 28, 28, 1}, 70),
                  settings);
}

std::vector<Job> lenet_inference(std::int64_t batch, const RunSettings& settings) {
  return inference("lenet_infer", lenet(), {uniform({batch, 28, 28, 1}, 0, 1, 75)}, settings);
}

std::vector<Job> vgg_step(const RunSettings& settings) {
  return training("vgg_b64", vgg(), loss::sparse_categorical_crossentropy_from_logits,
                  std::make_shared<optim::SGD>(optim::SGDOptions{.learning_rate = 0.01, .momentum = 0.9}), image_batches({64, 32, 32, 3}, 80),
                  settings);
}

std::vector<Job> vgg_inference(std::int64_t batch, const RunSettings& settings) {
  return inference("vgg_infer", vgg(), {uniform({batch, 32, 32, 3}, 0, 1, 85)}, settings);
}

std::vector<Job> conv1d_step(std::int64_t length, const RunSettings& settings) {
  std::vector<Batch> batches;
  for (std::uint64_t i = 0; i < (length > 10000 ? 1 : 4); ++i) batches.push_back({uniform({32, length, 30}, 0, 1, 90 + i), labels(32, 2, 95 + i)});
  return training("conv1d", series(), loss::binary_crossentropy_from_logits, std::make_shared<optim::Adam>(optim::AdamOptions{.learning_rate = 1e-4}),
                  std::move(batches), settings);
}

}  // namespace sinter::bench
