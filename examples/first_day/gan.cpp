// A generative adversarial network with two optimizers: a generator learns to place points on a circle of radius 1. The critic has a gradient penalty
// at real points (R1, Mescheder et al. 2018): the gradient with respect to an input is differentiated again.
#include <sinter/sinter.h>

#include <cmath>
#include <iostream>
#include <numbers>

using namespace sinter;

/// n points on the circle.
Tensor circle(std::int64_t n) {
  const Tensor angle = init::uniform(0, 2 * std::numbers::pi_v<float>)({n, 1});
  return concat({cos(angle), sin(angle)}, -1);
}

int main() {
  seed(1);
  const nn::DenseOptions he{.weight = init::he_normal()};
  nn::Sequential generator{nn::Dense(4, 64, Activation::relu, he), nn::Dense(64, 64, Activation::relu, he), nn::Dense(64, 2)};
  nn::Sequential critic{nn::Dense(2, 64), nn::LeakyReLU(0.2f), nn::Dense(64, 64), nn::LeakyReLU(0.2f), nn::Dense(64, 1)};
  const std::vector<Parameter> theirs = generator.parameters(), ours = critic.parameters();
  optim::Adam generator_optimizer({.learning_rate = 1e-3f, .beta1 = 0.5f}), critic_optimizer({.learning_rate = 1e-3f, .beta1 = 0.5f});

  const auto loss_if = [](const Tensor& logits, float answer) {  // when the critic should have said `answer`
    return loss::binary_crossentropy_from_logits(logits, logits.detach() * 0 + answer);
  };

  // One function plays both moves. A gradient by `ours` leaves the generator alone: no detach is needed.
  auto play = compile([&](const Tensor& real, const Tensor& noise) {
    const Tensor fake = generator(noise);
    const Tensor judged = critic(real), slope = grad(sum(judged), {real})[0];
    const Tensor critic_loss = loss_if(judged, 1) + loss_if(critic(fake), 0) + 0.1f * mean(sum(square(slope), {-1}));
    const Tensor generator_loss = loss_if(critic(fake), 1);
    const std::vector<Tensor> critic_gradients = grad(critic_loss, ours);
    generator_optimizer.update(theirs, grad(generator_loss, theirs));
    critic_optimizer.update(ours, critic_gradients);
    return std::pair(critic_loss, generator_loss);
  });

  const auto normal = init::normal(0, 1);
  for (int step = 1; step <= 3000; ++step) {
    const auto [critic_loss, generator_loss] = play(circle(128), normal({128, 4}));
    if (step % 1000 == 0) std::cout << "step " << step << ": critic " << critic_loss.item() << ", generator " << generator_loss.item() << "\n";
  }

  const Tensor points = generator(normal({2000, 4}));
  const Tensor radius = sqrt(sum(square(points), {-1}));
  const double mean_radius = mean(radius).item(), spread = std::sqrt(variance(radius).item());
  const double left = mean(cast(slice(points, -1, 0, 1) < 0, DType::f32)).item();
  std::cout << "radius " << mean_radius << " +- " << spread << ", " << 100 * left << " % of the points on the left\n";
  return std::abs(mean_radius - 1) < 0.15 && spread < 0.3 && std::abs(left - 0.5) < 0.2 ? 0 : 1;
}
