// Trains an autoencoder on card transactions, nearly all of them legitimate, and saves it together with a stream of new transactions for fraud_score.
#include <sinter/sinter.h>

#include <cmath>
#include <fstream>
#include <iostream>
#include <random>

using namespace sinter;

namespace {

constexpr std::int64_t features = 30;

/// Generated transactions: 30 amounts, counts and times that depend on six hidden variables (the card holder's habits) and noise. In a fraud some of
/// them depend on other values of these variables, so each number by itself looks normal.
class Transactions {
 public:
  explicit Transactions(unsigned seed) : random_(seed) {
    std::mt19937 fixed(1);  // the same mixing matrix for every stream
    for (float& w : mixing_) w = static_cast<float>(normal(fixed));
  }

  std::vector<float> next(bool fraud) {
    std::vector<float> x = explained(), other = explained();
    for (std::int64_t f = 0; f < features; ++f) {
      const auto i = static_cast<std::size_t>(f);
      if (fraud && f % 3 == 0) x[i] = other[i];
      x[i] = (x[i] + 0.3f * static_cast<float>(normal(random_))) * static_cast<float>(1 + f) + 5;  // each feature has a different scale
    }
    return x;
  }

 private:
  // Box-Muller, because distributions differ between standard libraries.
  static double uniform(std::mt19937& random) { return (random() + 0.5) / 4294967296.0; }
  static double normal(std::mt19937& random) {
    const double radius = std::sqrt(-2 * std::log(uniform(random)));
    return radius * std::cos(2 * M_PI * uniform(random));
  }

  std::vector<float> explained() {
    float habit[6];
    for (float& h : habit) h = static_cast<float>(normal(random_));
    std::vector<float> x(features);
    for (std::size_t f = 0; f < x.size(); ++f)
      for (std::size_t h = 0; h < 6; ++h) x[f] += mixing_[f * 6 + h] * std::tanh(habit[h]);
    return x;
  }

  std::mt19937 random_;
  float mixing_[features * 6];
};

/// Maps raw transactions [N, 30] to their reconstruction errors [N, 1]: transactions that are unlike most of the training data score high.
struct FraudScore : nn::Module {
  Parameter mean, deviation;
  nn::Sequential autoencoder{nn::Dense(features, 14, nn::Activation::tanh), nn::Dense(14, 7, nn::Activation::relu),
                             nn::Dense(7, 14, nn::Activation::tanh), nn::Dense(14, features)};

  explicit FraudScore(const Tensor& data) : Module("fraud_score") {
    mean = add_state("mean", sinter::mean(data, {0}));
    deviation = add_state("deviation", sqrt(variance(data, {0})));
    add(autoencoder);
  }
  Tensor forward(const Tensor& x) override {
    const Tensor z = (x - mean) / deviation;
    return sinter::mean(square(autoencoder(z) - z), {-1}, true);
  }
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: fraud_train MODEL.sinter STREAM.csv\n";
    return 2;
  }
  try {
    constexpr std::int64_t samples = 20000, stream_length = 5000;
    Transactions past(2);
    std::vector<float> all;
    for (std::int64_t i = 0; i < samples; ++i) {
      const std::vector<float> x = past.next(i % 500 == 0);  // the training data contains some frauds
      all.insert(all.end(), x.begin(), x.end());
    }
    const Tensor x(all, {samples, features});

    seed(1);
    FraudScore model(x);
    Trainer trainer(model, loss::mean_absolute_error, optim::Adam({.learning_rate = 3e-3}));  // minimizes the score itself
    const Dataset data{x, Tensor::zeros({DType::f32, {samples, 1}})};
    trainer.fit(data, {.epochs = 10, .batch_size = 100, .validation_split = 0.1, .schedule = schedule::cosine(3e-3)});
    trainer.save(argv[1]);

    std::ofstream stream(argv[2]);
    Transactions future(3);
    for (std::int64_t i = 0; i < stream_length; ++i) {
      const bool fraud = i % 50 == 7;
      for (const float value : future.next(fraud)) stream << value << ",";
      stream << fraud << "\n";
    }
    if (!stream.flush()) throw UserError(argv[2], "could not be written");
    std::cout << "saved " << argv[1] << "; " << stream_length << " transactions in " << argv[2] << "\n";
  } catch (const Error& error) {
    std::cerr << "error: " << error.what() << "\n";
    return 1;
  }
}
