// One LeNet written at three levels of Sinter: on tensor ops, of layers with a training loop of one's own, and for a Trainer. The fourth level, the
// command line, predicts with the file that the Trainer saves. bench/published/run counts the lines of each between the marks.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "bench/published/published.h"

namespace sinter::published {

/// In what the article's programs differ.
struct LeNet {
  std::string name;
  std::int64_t first, second;  ///< filters of 5 × 5
  Padding padding;
  std::int64_t flat, hidden;  ///< numbers behind the second pool; units of the dense layer
  double pool_dropout, dropout;
  std::function<std::shared_ptr<optim::Optimizer>()> make_optimizer;
  std::int64_t batch;
};

/// What a level's program can do, on images [N, 784] and class numbers [N].
struct Level {
  std::string name;
  bool takes_bytes;                ///< images u8, which its step scales; else f32 in [0, 1]
  std::vector<Parameter> weights;  ///< in the same order on each level
  std::function<void(const Tensor& x, const Tensor& y)> train;
  std::function<Tensor(const Tensor& x)> predict;  ///< probabilities
  std::function<void(std::span<const float> in, std::span<float> out)> predict_one;
  std::function<Tensor(const Tensor& x)> predict_eagerly;  ///< line by line
};

Level tensor_ops_level(const LeNet& net, int threads);
Level layers_level(const LeNet& net, int threads);
/// The trainer is the caller's, who fits it and saves it.
Trainer lenet_trainer(const LeNet& net, int threads);
Level trainer_level(Trainer& trainer);

}  // namespace sinter::published
