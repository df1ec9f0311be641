// The perceptron of article P: two programs in Keras and one in NumPy, on Sinter.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "bench/published/published.h"

namespace sinter::published {

/// References A (784-70-30-10, L2 or none) and B (five layers): what Keras's user writes, with Trainer.
void keras_references(const RunSettings& settings, const Images& images, Report& report);

/// The data as the NumPy program has it: training and test set joined, each pixel standardized over all samples, shuffled, and the last 10,000 (a
/// seventh) set aside as the test set.
struct Standardized {
  Tensor train_x, train_y, test_x, test_y;  ///< f32 [samples, 784], i32 [samples]
};
Standardized standardize(const Images& images);

/// What an epoch of the NumPy program prints.
struct ProgramEpoch {
  double rate = 0;                    ///< learning rate
  double average = 0;                 ///< accuracy "batch averaged": 1 - mean |output - one-hot|
  double cost = 0;                    ///< of the last batch
  double penalty = 0;                 ///< its regularization part
  double shuffling = 0, batches = 0;  ///< seconds
};

/// What the predictions of a set give.
struct ProgramPrediction {
  double cost = 0, accuracy = 0, seconds = 0;
};

struct ProgramOptions {
  std::int64_t batch = 500;
  Mode mode = Mode::graph;
  int threads = 2;
  bool input_gradient = false;  ///< also compute the gradient of the images, which nobody needs, and sum it, so that it is not left out
};

/// The NumPy program: 784-70-30-10, sigmoid on all layers, ten binary losses summed over outputs and batch, (0.01 / 2) sum w² beside that sum, and a
/// rate that epoch e divides by 1 + 1e-6 e.
class Program {
 public:
  Program(const Standardized& data, ProgramOptions options);
  ~Program();

  ProgramEpoch epoch();
  /// All samples of a set in one sweep.
  ProgramPrediction predict(const Tensor& x, const Tensor& y);
  /// Forward alone.
  double forward_seconds(const Tensor& x);
  /// mean |w| of each layer, biases included, as the program's matrices have them.
  std::vector<double> mean_weights() const;
  double penalty() const;
  std::int64_t parameter_count() const;
  /// The compiled training step's graph, as text: what a pass changed, if it was switched on.
  std::string graph() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Trains the NumPy program and measures it; then measure by measure, by batch size, and its products and copies alone.
void numpy_program(const RunSettings& settings, const Images& images, Report& report);

}  // namespace sinter::published
