// A variational autoencoder (Kingma and Welling 2014): learns to write images of bright spots as 4 numbers, and to draw images from such numbers.
#include <sinter/sinter.h>

#include <iostream>

using namespace sinter;

constexpr std::int64_t side = 12, pixels = side * side, latent = 4;

/// n images [n, pixels] of a bright spot, of random place and size.
Tensor spots(std::int64_t n) {
  const Tensor number = cast(iota({pixels}), DType::f32), row = floor(number / side), column = number - row * side;
  const auto random = [&](float low, float high) { return init::uniform(low, high)({n, 1}); };
  const Tensor place_1 = random(2, side - 3), place_2 = random(2, side - 3), size = random(1, 2);
  return exp(-(square(row - place_1) + square(column - place_2)) / (2 * square(size)));
}

int main() {
  seed(1);
  nn::Sequential encoder{nn::Dense(pixels, 64, Activation::relu), nn::Dense(64, 2 * latent)};
  nn::Sequential decoder{nn::Dense(latent, 64, Activation::relu), nn::Dense(64, pixels)};
  encoder.set_name("encoder");
  decoder.set_name("decoder");
  std::vector<Parameter> parameters = encoder.parameters();
  for (const Parameter& parameter : decoder.parameters()) parameters.push_back(parameter);
  optim::Adam optimizer({.learning_rate = 2e-3});

  // How often noise was drawn: the random numbers of a step are a function of this counter.
  const Parameter draws("draws", Tensor::zeros({DType::u32, {}}), false);

  // The two parts of the loss, per image: the reconstruction's cross-entropy, and the divergence of the code from a standard normal distribution.
  const auto losses = [&](const Tensor& x) {
    const Tensor code = encoder(x);
    const Tensor mu = slice(code, -1, 0, latent), log_variance = slice(code, -1, latent, 2 * latent);
    const Tensor noise = random_normal(mu.shape(), draws, 1);
    draws.assign(draws + 1);
    const Tensor logits = decoder(mu + exp(log_variance / 2) * noise);
    const Tensor reconstruction = pixels * loss::binary_crossentropy_from_logits(logits, x);
    const Tensor divergence = mean(sum(exp(log_variance) + square(mu) - 1 - log_variance, {-1})) / 2;
    return std::pair(reconstruction, divergence);
  };
  auto learn = compile([&](const Tensor& x) {
    const auto [reconstruction, divergence] = losses(x);
    const Tensor loss = reconstruction + divergence;
    optimizer.update(parameters, grad(loss, parameters));
    return loss;
  });
  auto judge = compile(losses);

  const Tensor train = spots(4096), test = spots(1000);
  // A perfect reconstruction's cross-entropy is not 0, because pixels are grey: it is their entropy.
  const double entropy = pixels * loss::binary_crossentropy(test, test).item();
  const auto report = [&](const char* when) {
    const auto [reconstruction, divergence] = judge(test);
    std::cout << when << "reconstruction " << reconstruction.item() - entropy << " above the least, KL " << divergence.item() << "\n";
    return std::pair(reconstruction.item() - entropy, divergence.item());
  };
  const auto [reconstruction_before, divergence_before] = report("before: ");
  learn.run(train, {.steps = 3000, .batch = 128});
  const auto [reconstruction, divergence] = report("after:  ");

  // One image from the prior.
  const std::vector<float> image = sigmoid(decoder(init::normal(0, 1)({1, latent}))).to_vector<float>();
  for (std::int64_t i = 0; i < pixels; ++i)
    std::cout << " .:*#"[static_cast<int>(4.99f * image[static_cast<std::size_t>(i)])] << (i % side == side - 1 ? "\n" : " ");
  return reconstruction + divergence < 0.25 * (reconstruction_before + divergence_before) && divergence > 2 ? 0 : 1;
}
