// A recommender of two towers: users and films become vectors, whose product is high for the films that a user watches. The negatives of a user are
// the films of the others in the batch (Yi et al. 2019).
#include <sinter/sinter.h>

#include <cmath>
#include <iostream>
#include <limits>
#include <random>

using namespace sinter;

constexpr std::int64_t users = 500, films = 400, features = 16, batch = 256;

/// The vectors of users and films, side by side: [N, 2 features].
struct Towers : nn::Model {
  nn::Embedding user{users, features, {.weight = init::normal(0, 0.1f)}}, film{films, features, {.weight = init::normal(0, 0.1f)}};
  Towers() : Model("towers") { add(user), add(film); }
  std::vector<Tensor> forward_all(std::span<const Tensor> in) override { return {concat({user(in[0]), film(in[1])}, -1)}; }
};

/// The film of each user should have the highest score in its row of [batch, batch].
Tensor in_batch(const Tensor& pairs, const Tensor&) {
  const Tensor scores = matmul(slice(pairs, -1, 0, features), slice(pairs, -1, features, 2 * features), false, true);
  return loss::categorical_crossentropy_from_logits(scores, cast(iota({batch}), DType::i32));
}

int main() {
  seed(1);
  std::mt19937 random(7);

  // A user watches 21 films, more likely those of a kind that fits the user's taste. The last one is held out.
  const auto normal = init::normal(0, 1);
  const Tensor taste = normal({users, 4}), kind = normal({films, 4}), liking = exp(2 * matmul(taste, kind, false, true));
  std::vector<float> chance = liking.to_vector<float>(), watched(chance.size(), 0);
  std::vector<std::int32_t> user, film, held_out;
  for (std::int32_t u = 0; u < users; ++u) {
    const auto begin = chance.begin() + u * films;
    for (int i = 0; i < 21; ++i) {
      const auto f = std::discrete_distribution<std::int32_t>(begin, begin + films)(random);
      begin[f] = 0;  // nobody watches a film twice
      if (i == 20) held_out.push_back(f);
      else user.push_back(u), film.push_back(f), watched[static_cast<std::size_t>(u * films + f)] = 1;
    }
  }
  const auto n = static_cast<std::int64_t>(user.size());
  const Dataset data{{Tensor(user, {n}), Tensor(film, {n})}, Tensor::zeros({DType::f32, {n, 1}})};

  Towers model;
  // The share of users whose held-out film is among the 20 best of those that they have not watched.
  const auto recall = [&] {
    const Tensor scores = matmul(model.user.parameters()[0], model.film.parameters()[0], false, true);
    const Tensor candidates = where(Tensor(watched, {users, films}) > 0, -std::numeric_limits<float>::infinity(), scores);
    const Tensor hits = top_k(candidates, 20).indices == Tensor(held_out, {users, 1});
    return sum(hits).item() / static_cast<double>(users);
  };
  const double before = recall();
  Trainer trainer(model, Loss(in_batch), optim::Adam({.learning_rate = 5e-3}), {.fixed_batch = batch});
  const auto epochs = trainer.fit(data, {.epochs = 30, .batch_size = batch, .verbose = false});
  const double after = recall();
  std::cout << "loss " << epochs.front().loss << " to " << epochs.back().loss << ", of chance " << std::log(batch) << "\nrecall@20 " << before
            << " to " << after << ", of chance " << 20.0 / (films - 20) << "\n";
  return after > 4 * 20.0 / (films - 20) ? 0 : 1;
}
