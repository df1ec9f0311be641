// Predicts in four threads while the model trains: each thread has a clone, which always uses one complete published version of the weights.
#include <sinter/sinter.h>

#include <atomic>
#include <cmath>
#include <iostream>
#include <thread>

using namespace sinter;

int main() {
  seed(1);
  nn::Sequential model{nn::Dense(2, 32, Activation::relu), nn::Dense(32, 2)};
  Trainer trainer(model, loss::sparse_categorical_crossentropy_from_logits, optim::Adam({.learning_rate = 1e-2f}));
  auto predict = compile([&](const Tensor& x) { return softmax(model(x)); });
  predict(Tensor::zeros({DType::f32, {1, 2}}));  // compiled once, for all clones

  // Is a point inside of the circle that halves the square?
  const Tensor x = init::uniform(-1, 1)({4000, 2});
  const Dataset data{x, cast(sum(square(x), {-1}) < 0.64f, DType::i32)};

  struct Served {
    std::int64_t requests = 0;
    bool valid = true;   // all probabilities summed to 1
    bool right = false;  // the last answer
  };
  std::atomic<bool> training = true;
  std::vector<Served> served(4);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < served.size(); ++t)
    threads.emplace_back([&training, &mine = served[t], t, own = predict.clone()]() mutable {
      std::vector<float> point{0.1f * static_cast<float>(t), 0.2f}, probabilities(2);
      for (bool last = false; !last;) {
        last = !training;  // the last request comes after training
        own.predict_one(point, probabilities);
        mine.right = probabilities[1] > probabilities[0];
        mine.valid = mine.valid && std::abs(probabilities[0] + probabilities[1] - 1) < 1e-5f;
        ++mine.requests;
      }
    });

  trainer.fit(data, {.epochs = 30, .verbose = false, .on_epoch = [&](const EpochResult&) { model.publish(); }});
  training = false;
  for (std::thread& thread : threads) thread.join();

  bool good = true;
  std::int64_t requests = 0;
  for (const Served& one : served) good = good && one.valid && one.right, requests += one.requests;
  std::cout << requests << " requests served while training; accuracy " << 100 * *trainer.evaluate(data).accuracy << " %, "
            << (good ? "every answer was a distribution, and the last one right" : "WRONG ANSWERS") << "\n";
  return good && *trainer.evaluate(data).accuracy > 0.95 ? 0 : 1;
}
