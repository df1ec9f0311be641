// Models of recurrent layers against Keras and PyTorch: tests/fixtures/recurrent.py.
#include <cmath>
#include <map>

#include "frontend/data/npz.h"
#include "frontend/nn/mask.h"
#include "frontend/nn/recurrent.h"
#include "tests/frontend/helpers.h"

namespace sinter::test::recurrent_fixture_test {
namespace {

constexpr std::int64_t classes = 3, words = 9;

enum Stream : std::uint32_t { input_stream = 1000, label_stream, length_stream, state_stream };  ///< below are those of parameters

/// Element i of a stream: `hashed` of the script.
std::uint32_t hashed(std::uint32_t stream, std::int64_t i) {
  std::uint32_t h = static_cast<std::uint32_t>(i) * 2654435761u + stream * 2246822519u;
  h = (h ^ (h >> 15)) * 2246822519u;
  h = (h ^ (h >> 13)) * 3266489917u;
  return h ^ (h >> 16);
}

/// Element i of `numbers`: a multiple of 1/64 from -1 to 1.
float number(std::uint32_t stream, std::int64_t i) { return (static_cast<float>(hashed(stream, i) % 129) - 64) / 64; }

Tensor numbers(std::uint32_t stream, const Shape& shape, float factor = 1) {
  std::vector<float> values(static_cast<std::size_t>(shape.elements().factor()));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = factor * number(stream, static_cast<std::int64_t>(i));
  return {values, shape};
}

/// How many sequences of how many steps.
struct Size {
  std::int64_t samples, steps;
};

Tensor labels(const Shape& shape) {
  std::vector<std::int32_t> values;
  for (std::int64_t i = 0; i < shape.elements().factor(); ++i) values.push_back(static_cast<std::int32_t>(hashed(label_stream, i) % classes));
  return {values, shape};
}

Tensor lengths(Size size) {
  std::vector<std::int32_t> values;
  for (std::int64_t n = 0; n < size.samples; ++n) values.push_back(static_cast<std::int32_t>(1 + hashed(length_stream, n) % size.steps));
  return {values, {size.samples}};
}

enum class Padding { none, behind, before, holes };

bool exists(Size size, Padding padding, std::int64_t n, std::int64_t t) {
  const std::int64_t length = 1 + hashed(length_stream, n) % size.steps;
  switch (padding) {
    case Padding::behind:
      return t < length;
    case Padding::before:
      return t >= size.steps - length;
    case Padding::holes:
      return hashed(length_stream, n * size.steps + t) % 3 > 0;
    case Padding::none:
      return true;
  }
  return true;
}

/// Sequences [N, T, count] with 0 in padding.
Tensor features(Size size, std::int64_t count, Padding padding = Padding::none) {
  std::vector<float> values;
  for (std::int64_t n = 0; n < size.samples; ++n)
    for (std::int64_t t = 0; t < size.steps; ++t)
      for (std::int64_t i = 0; i < count; ++i)
        values.push_back(exists(size, padding, n, t) ? number(input_stream, (n * size.steps + t) * count + i) : 0);
  return {values, {size.samples, size.steps, count}};
}

/// Word numbers [N, T], 0 in padding.
Tensor sentences(Size size, Padding padding) {
  std::vector<std::int32_t> values;
  for (std::int64_t n = 0; n < size.samples; ++n)
    for (std::int64_t t = 0; t < size.steps; ++t) {
      const auto word = static_cast<std::int32_t>(1 + hashed(input_stream, n * size.steps + t) % (words - 1));
      values.push_back(exists(size, padding, n, t) ? word : 0);
    }
  return {values, {size.samples, size.steps}};
}

/// Arrays of both files, named framework/case/what.
const std::vector<float>& stored(const std::string& name) {
  static const std::map<std::string, std::vector<float>> arrays = [] {
    std::map<std::string, std::vector<float>> result;
    for (const std::string framework : {"keras", "torch"})
      for (const auto& [name, array] : data::read_npz(str(SINTER_TEST_FIXTURES, "/recurrent_", framework, ".npz"))) {
        const std::span<const float> values = array.values<float>();
        result.emplace(str(framework, "/", name), std::vector<float>(values.begin(), values.end()));
      }
    return result;
  }();
  return arrays.at(name);
}

void expect_close(const std::vector<float>& got, const std::vector<float>& wanted, const std::string& what) {
  ASSERT_EQ(got.size(), wanted.size()) << what;
  for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], wanted[i], 1e-5 * std::max(1.0f, std::abs(wanted[i]))) << what << " " << i;
}

using MakeOptimizer = std::shared_ptr<optim::Optimizer> (*)();

std::shared_ptr<optim::Optimizer> sgd() { return std::make_shared<optim::SGD>(optim::SGDOptions{.learning_rate = 0.5}); }
std::shared_ptr<optim::Optimizer> momentum() { return std::make_shared<optim::SGD>(optim::SGDOptions{.learning_rate = 0.2, .momentum = 0.8}); }
std::shared_ptr<optim::Optimizer> slower() { return std::make_shared<optim::SGD>(optim::SGDOptions{.learning_rate = 0.1, .momentum = 0.8}); }
std::shared_ptr<optim::Optimizer> rmsprop() {
  return std::make_shared<optim::RMSprop>(optim::RMSpropOptions{.learning_rate = 0.03, .epsilon = 1e-2});
}
std::shared_ptr<optim::Optimizer> adam() { return std::make_shared<optim::Adam>(optim::AdamOptions{.learning_rate = 0.03, .epsilon = 1e-3}); }

/// Logits [N, T, classes] as [N · T, classes], and labels [N, T] as [N · T].
Tensor each_step(const Tensor& x, bool logits) {
  const Dim count = x.dim(0) * x.dim(1);
  return reshape(x, logits ? std::vector<Dim>{count, classes} : std::vector{count});
}

/// Trains a model on one batch and compares. `logits` makes [N, classes], or [N, T, classes], of the inputs, the first of which is x [N, T, ...].
template <class Logits, class... Inputs>
void train(const std::string& name, MakeOptimizer make, const std::vector<Parameter>& parameters, const Logits& logits, const Tensor& x,
           const Inputs&... further) {
  for (const Mode mode : modes()) {
    const std::string what = str(name, mode == Mode::eager ? ", eager" : ", compiled");
    for (std::size_t k = 0; k < parameters.size(); ++k)
      parameters[k].assign(numbers(static_cast<std::uint32_t>(k), parameters[k].type().shape, 0.5f));
    const std::shared_ptr<optim::Optimizer> optimizer = make();
    auto step = compile(
        [&](const Tensor& y, const Tensor& x, const Inputs&... further) {
          const Tensor scores = logits(x, further...);
          const bool several = scores.rank() == 3;
          const Tensor loss =
              loss::sparse_categorical_crossentropy_from_logits(several ? each_step(scores, true) : scores, several ? each_step(y, false) : y);
          optimizer->update(parameters, grad(loss, parameters));
          return std::vector{loss, scores};
        },
        {.mode = mode});
    const std::vector<float>&losses = stored(name + "/losses"), &last = stored(name + "/logits");
    const std::int64_t samples = x.shape()[0].factor(), count = static_cast<std::int64_t>(last.size()) / classes;
    const Tensor y = labels(count == samples ? Shape{samples} : Shape{samples, count / samples});
    std::vector<float> got;
    for (std::size_t i = 0; i < losses.size(); ++i) got.push_back(static_cast<float>(step(y, x, further...)[0].item()));
    expect_close(got, losses, what + ": loss");
    const std::vector<Tensor> after = step(y, x, further...);  // the next step's logits are those after the last one
    expect_close(after[1].to_vector<float>(), last, what + ": logit");
  }
}

/// The same for layers one after the other.
template <class... Layers>
void check(const std::string& name, MakeOptimizer make, const Tensor& x, const Layers&... layers) {
  nn::Sequential model(layers...);
  train(name, make, model.trainable_parameters(), [&](const Tensor& x) { return model(x); }, x);
}

/// The same for sequences of `lengths`, which the step takes as an input.
template <class... Layers>
void check_packed(const std::string& name, MakeOptimizer make, Size size, const Layers&... layers) {
  nn::Sequential model(layers...);
  const auto logits = [&](const Tensor& x, const Tensor& lengths) { return model(nn::with_mask(x, nn::sequence_mask(lengths, x.dim(1)))); };
  train(name, make, model.trainable_parameters(), logits, features(size, 4), lengths(size));
}

std::vector<Parameter> parameters_of(const std::vector<const nn::Module*>& modules) {
  std::vector<Parameter> all;
  for (const nn::Module* module : modules)
    for (const Parameter& parameter : module->parameters()) all.push_back(parameter);
  return all;
}

nn::Dense head(std::int64_t inputs) { return {inputs, classes}; }

const nn::RecurrentOptions sequences{.return_sequences = true};

TEST(RecurrentFixture, GRUOfKeras) {
  check("keras/gru", sgd, features({3, 7}, 4), nn::GRU(4, 5), head(5));
  check("keras/gru_one_sample", momentum, features({1, 30}, 3), nn::GRU(3, 8), head(8));
  check("keras/gru_one_step", rmsprop, features({64, 1}, 8), nn::GRU(8, 12), head(12));
  check("keras/gru_long", momentum, features({3, 200}, 3), nn::GRU(3, 6), head(6));
  check("keras/gru_without_bias", momentum, features({3, 7}, 6), nn::GRU(6, 9, {.use_bias = false}), head(9));
}

TEST(RecurrentFixture, GRUThatResetsBeforeOfKeras) {
  const nn::RecurrentOptions before{.reset_after = false};
  check("keras/gru_reset_before", rmsprop, features({3, 7}, 4), nn::GRU(4, 5, before), head(5));
  check("keras/gru_reset_before_one_step", sgd, features({64, 1}, 5), nn::GRU(5, 4, before), head(4));
  check("keras/gru_reset_before_long", momentum, features({1, 200}, 3), nn::GRU(3, 7, before), head(7));
}

TEST(RecurrentFixture, LSTMOfKeras) {
  check("keras/lstm", momentum, features({3, 7}, 4), nn::LSTM(4, 5), head(5));
  check("keras/lstm_one_sample_one_step", sgd, features({1, 1}, 3), nn::LSTM(3, 4), head(4));
  check("keras/lstm_large_batch", rmsprop, features({64, 30}, 5), nn::LSTM(5, 8), head(8));
  check("keras/lstm_long", momentum, features({64, 200}, 4), nn::LSTM(4, 8), head(8));
  check("keras/lstm_relu", slower, features({3, 30}, 4), nn::LSTM(4, 6, {.activation = Activation::relu}), head(6));
}

TEST(RecurrentFixture, SimpleRNNOfKeras) {
  check("keras/simple_rnn", sgd, features({3, 7}, 4), nn::SimpleRNN(4, 5), head(5));
  check("keras/simple_rnn_long", sgd, features({1, 200}, 3), nn::SimpleRNN(3, 6), head(6));
  check("keras/simple_rnn_each_step", momentum, features({3, 30}, 3), nn::SimpleRNN(3, 9, sequences), head(9));
}

TEST(RecurrentFixture, StackedLayersOfKeras) {
  const nn::RecurrentOptions before{.return_sequences = true, .reset_after = false};
  check("keras/stacked", rmsprop, features({3, 30}, 4), nn::LSTM(4, 6, sequences), nn::GRU(6, 5), head(5));
  check("keras/stacked_three", rmsprop, features({3, 7}, 5), nn::SimpleRNN(5, 6, sequences), nn::GRU(6, 5, before), nn::LSTM(5, 7), head(7));
}

TEST(RecurrentFixture, BidirectionalLayersOfKeras) {
  using enum nn::Merge;
  check("keras/bidirectional_concat", momentum, features({3, 30}, 4), nn::Bidirectional(nn::LSTM(4, 6)), head(12));
  check("keras/bidirectional_sum", rmsprop, features({3, 7}, 4), nn::Bidirectional(nn::GRU(4, 5), sum), head(5));
  check("keras/bidirectional_mean", momentum, features({64, 7}, 4), nn::Bidirectional(nn::GRU(4, 5, {.reset_after = false}), mean), head(5));
  check("keras/bidirectional_product", momentum, features({3, 30}, 4), nn::Bidirectional(nn::GRU(4, 5), product), head(5));
  check("keras/bidirectional_stacked", rmsprop, features({64, 7}, 4), nn::Bidirectional(nn::SimpleRNN(4, 4, sequences)),
        nn::Bidirectional(nn::LSTM(8, 5, sequences), sum), nn::Flatten(), head(35));
}

TEST(RecurrentFixture, BackwardsLayersOfKeras) {
  check("keras/backwards", momentum, features({3, 7}, 4), nn::LSTM(4, 5, {.reverse = true}), head(5));
  check("keras/backwards_stacked", rmsprop, features({3, 30}, 4), nn::GRU(4, 5, {.return_sequences = true, .reverse = true}),
        nn::LSTM(5, 4, {.reverse = true}), head(4));
}

TEST(RecurrentFixture, MasksOfWordsOfKeras) {
  const auto embedding = [] { return nn::Embedding(words, 4, {.mask_zero = true}); };
  const nn::RecurrentOptions before{.return_sequences = true, .reset_after = false};
  check("keras/masked_behind", momentum, sentences({3, 7}, Padding::behind), embedding(), nn::LSTM(4, 5), head(5));
  check("keras/masked_before", momentum, sentences({64, 30}, Padding::before), embedding(), nn::GRU(4, 5), head(5));
  check("keras/masked_holes", slower, sentences({3, 30}, Padding::holes), embedding(), nn::GRU(4, 5, before), nn::Dropout(0), nn::SimpleRNN(5, 6),
        head(6));
  check("keras/masked_long", momentum, sentences({3, 200}, Padding::behind), embedding(), nn::GRU(4, 5), head(5));
  check("keras/masked_bidirectional", slower, sentences({3, 30}, Padding::behind), embedding(), nn::Bidirectional(nn::GRU(4, 4, sequences)),
        nn::Bidirectional(nn::LSTM(8, 5), nn::Merge::sum), head(5));
  check("keras/masked_mean", momentum, sentences({3, 7}, Padding::behind), embedding(), nn::LSTM(4, 5, sequences), nn::GlobalAveragePool(), head(5));
}

TEST(RecurrentFixture, MasksOfFeaturesOfKeras) {
  check("keras/masked_backwards", momentum, features({3, 30}, 4, Padding::behind), nn::Masking(), nn::LSTM(4, 5, {.reverse = true}), head(5));
  check("keras/masked_features", rmsprop, features({64, 7}, 4, Padding::before), nn::Masking(), nn::SimpleRNN(4, 5, sequences), nn::LSTM(5, 5),
        head(5));
  check("keras/masked_outputs", momentum, features({3, 7}, 4, Padding::holes), nn::Masking(), nn::GRU(4, 5, sequences), nn::Flatten(), head(35));
}

TEST(RecurrentFixture, DecoderOfKeras) {
  nn::LSTM encoder(4, 5, {.return_state = true}), decoder(4, 5, sequences);
  nn::Dense last = head(5);
  const auto logits = [&](const Tensor& x) {
    std::vector<Tensor> in = encoder.call_all({&x, 1});
    in[0] = x;
    return last(decoder.call_all(in)[0]);
  };
  train("keras/decoder", momentum, parameters_of({&encoder, &decoder, &last}), logits, features({3, 7}, 4));
}

TEST(RecurrentFixture, LayersOfPyTorch) {
  check("torch/gru", adam, features({64, 30}, 4), nn::GRU(4, 6), head(6));
  check("torch/gru_one_step", momentum, features({64, 1}, 5), nn::GRU(5, 8), head(8));
  check("torch/gru_long", momentum, features({1, 200}, 3), nn::GRU(3, 6), head(6));
  check("torch/gru_long_large_batch", adam, features({64, 200}, 4), nn::GRU(4, 8), head(8));
  check("torch/lstm", momentum, features({64, 7}, 5), nn::LSTM(5, 7), head(7));
  check("torch/lstm_one_sample_one_step", momentum, features({1, 1}, 3), nn::LSTM(3, 4), head(4));
  check("torch/lstm_long", adam, features({1, 200}, 3), nn::LSTM(3, 6), head(6));
  check("torch/rnn", momentum, features({64, 7}, 6), nn::SimpleRNN(6, 9), head(9));
  check("torch/rnn_relu", slower, features({3, 30}, 4), nn::SimpleRNN(4, 6, {.activation = Activation::relu}), head(6));
}

TEST(RecurrentFixture, StackedAndBidirectionalLayersOfPyTorch) {
  check("torch/stacked", adam, features({3, 30}, 4), nn::LSTM(4, 5, sequences), nn::LSTM(5, 5), head(5));
  check("torch/bidirectional", momentum, features({3, 30}, 4), nn::Bidirectional(nn::GRU(4, 5, sequences)), nn::Bidirectional(nn::GRU(10, 5)),
        head(10));
}

TEST(RecurrentFixture, PackedSequencesOfPyTorch) {
  check_packed("torch/packed_gru", momentum, {64, 30}, nn::GRU(4, 5), head(5));
  check_packed("torch/packed_lstm", adam, {3, 7}, nn::LSTM(4, 6), head(6));
  check_packed("torch/packed_bidirectional", momentum, {64, 30}, nn::Bidirectional(nn::GRU(4, 4, sequences)), nn::Bidirectional(nn::GRU(8, 4)),
               head(8));
  check_packed("torch/packed_long", adam, {3, 200}, nn::SimpleRNN(4, 6), head(6));
}

TEST(RecurrentFixture, StatesOfPyTorch) {
  nn::LSTM layer(4, 5, sequences);
  nn::Dense last = head(5);
  const auto logits = [&](const Tensor& x, const Tensor& h, const Tensor& c) {
    const Tensor in[] = {x, h, c};
    return last(layer.call_all(in)[0]);
  };
  train("torch/states", momentum, parameters_of({&layer, &last}), logits, features({3, 30}, 4), numbers(state_stream, {3, 5}),
        numbers(state_stream + 1, {3, 5}));
}

}  // namespace
}  // namespace sinter::test::recurrent_fixture_test
