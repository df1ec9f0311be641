// Deep Q-learning (Mnih et al. 2015) with a replay buffer and a target network: learns to balance a pole on a cart.
#include <sinter/sinter.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iostream>
#include <numeric>
#include <random>

using namespace sinter;

/// The cart-pole of Barto, Sutton and Anderson (1983), as in Gym: the place and speed of the cart, the angle of the pole and its speed.
using State = std::array<float, 4>;
bool fallen(const State& s) { return std::abs(s[0]) > 2.4f || std::abs(s[2]) > 0.2095f; }
State push(const State& s, std::int32_t right) {  // the state 0.02 s later
  const float sine = std::sin(s[2]), cosine = std::cos(s[2]), force = ((right ? 10 : -10) + 0.05f * s[3] * s[3] * sine) / 1.1f;
  const float turn = (9.8f * sine - cosine * force) / (0.5f * (4 / 3.0f - 0.1f * cosine * cosine / 1.1f));
  const float pull = force - 0.05f * turn * cosine / 1.1f;
  return {s[0] + 0.02f * s[1], s[1] + 0.02f * pull, s[2] + 0.02f * s[3], s[3] + 0.02f * turn};
}

struct Transition {
  State before, after;
  std::int32_t action;
};

int main() {
  seed(1);
  std::mt19937 random(7);
  const auto uniform = [&](float low, float high) { return std::uniform_real_distribution<float>(low, high)(random); };
  const auto network = [] { return nn::Sequential{nn::Dense(4, 64, Activation::relu), nn::Dense(64, 64, Activation::relu), nn::Dense(64, 2)}; };
  nn::Sequential model = network(), target = network();  // the value of either action
  weights::load_state_dict(target, weights::state_dict(model));
  const std::vector<Parameter> ours = model.parameters(), theirs = target.parameters();
  optim::Adam optimizer;

  auto values = compile([&](const Tensor& state) { return model(state); });
  auto learn = compile([&](const Tensor& before, const Tensor& action, const Tensor& after, const Tensor& alive) {
    const Tensor choice = argmax(model(after), -1, true);                       // of the model, but valued by the target network
    const Tensor goal = 1 + 0.98f * alive * take_along(target(after), choice);  // the reward of each step is 1
    const Tensor loss = loss::huber(1)(take_along(model(before), action), goal);
    optimizer.update(ours, grad(loss, ours));
    for (std::size_t i = 0; i < ours.size(); ++i) theirs[i].assign(0.99f * theirs[i] + 0.01f * ours[i]);  // follows slowly
    return loss;
  });

  std::vector<Transition> memory(20000);  // the last ones
  std::vector<int> lengths = {0};         // of the episodes, at most 200 steps each
  State state{};
  for (std::size_t step = 0; step < 40000; ++step) {
    std::array<float, 2> value;
    values.predict_one(state, value);
    const bool explore = uniform(0, 1) < std::max(0.02f, 1 - static_cast<float>(step) / 5000);
    const std::int32_t action = explore ? uniform(0, 1) < 0.5f : value[1] > value[0];
    const Transition seen{state, push(state, action), action};
    memory[step % memory.size()] = seen;
    state = seen.after;
    if (++lengths.back() == 200 || fallen(state)) {
      for (float& number : state) number = uniform(-0.05f, 0.05f);
      lengths.push_back(0);
    }

    optimizer.set_learning_rate(1e-3 * (1 - static_cast<double>(step) / 40000));
    std::vector<float> before, after, alive;
    std::vector<std::int32_t> chosen;
    for (int i = 0; i < 64; ++i) {
      const Transition& one = memory[random() % std::min<std::size_t>(step + 1, memory.size())];
      before.insert(before.end(), one.before.begin(), one.before.end());
      after.insert(after.end(), one.after.begin(), one.after.end());
      alive.push_back(!fallen(one.after)), chosen.push_back(one.action);
    }
    learn(Tensor(before, {64, 4}), Tensor(chosen, {64, 1}), Tensor(after, {64, 4}), Tensor(alive, {64, 1}));
  }
  const double first = std::accumulate(lengths.begin(), lengths.begin() + 20, 0) / 20.0;
  const double last = std::accumulate(lengths.end() - 21, lengths.end() - 1, 0) / 20.0;  // the last episode is not over
  std::cout << "steps until the pole falls, of 200: " << first << " in the first 20 episodes, " << last << " in the last 20\n";
  return last > 3 * first ? 0 : 1;
}
