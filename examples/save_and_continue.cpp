// One program trains and saves; a second one, without the model's C++ code, predicts and continues training:
//   save_and_continue train FILE
//   save_and_continue continue FILE
#include <sinter/sinter.h>

#include <cmath>
#include <iostream>
#include <string>

using namespace sinter;

namespace {

/// Three noisy concentric rings; the class is the number of the ring.
Dataset rings() {
  std::vector<float> points;
  std::vector<std::int32_t> classes;
  for (int i = 0; i < 600; ++i) {
    const float angle = 0.1f * i, radius = 1 + i % 3 + 0.2f * std::sin(7.0f * i);
    points.insert(points.end(), {radius * std::cos(angle), radius * std::sin(angle)});
    classes.push_back(i % 3);
  }
  return {Tensor(points, {600, 2}), Tensor(classes, {600})};
}

void train(const std::string& file) {
  seed(7);
  nn::Sequential model{nn::Dense(2, 32, Activation::relu), nn::Dense(32, 3)};
  Trainer trainer(model, loss::categorical_crossentropy_from_logits, optim::RMSprop({.learning_rate = 5e-3f}));
  trainer.fit(rings(), {.epochs = 20, .batch_size = 50});
  trainer.save(file);
}

bool go_on(const std::string& file) {
  Trainer trainer = Trainer::load(file);
  const Evaluation before = trainer.evaluate(rings());
  trainer.fit(rings(), {.epochs = 20, .batch_size = 50});
  const Evaluation after = trainer.evaluate(rings());
  std::cout << "epoch " << trainer.epoch() << ": loss " << before.loss << " -> " << after.loss << ", accuracy " << *after.accuracy << "\n";
  std::vector<float> scores(3);
  trainer.predict_one(std::vector<float>{0, 3}, scores);
  std::cout << "a point at radius 3 scores " << scores[0] << ", " << scores[1] << ", " << scores[2] << "\n";
  return after.loss < before.loss && scores[2] > scores[0];
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc == 3 ? argv[1] : "";
  if (what == "train") return train(argv[2]), 0;
  if (what == "continue") return go_on(argv[2]) ? 0 : 1;
  std::cerr << "usage: save_and_continue train|continue FILE\n";
  return 2;
}
