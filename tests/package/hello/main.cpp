#include <sinter/sinter.h>

#include <cmath>
#include <iostream>

using namespace sinter;

int main() {
  const Tensor x({0, 1, 2, 3}, {4, 1}), y({1, 3, 5, 7}, {4, 1});  // y = 2 x + 1
  nn::Sequential model{nn::Dense(1, 1)};
  Trainer trainer(model, loss::mean_squared_error, optim::Adam({.learning_rate = 0.1}));
  trainer.fit({x, y}, {.epochs = 300, .verbose = false});
  const Tensor prediction = trainer.predict(Tensor({10}, {1, 1}));
  std::cout << prediction << "\n";
  return std::abs(prediction.item() - 21) < 0.1 ? 0 : 1;
}
