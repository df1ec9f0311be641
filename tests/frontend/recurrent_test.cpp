// SimpleRNN, GRU and LSTM.
#include "frontend/nn/recurrent.h"

#include <cmath>
#include <regex>

#include "tests/frontend/helpers.h"
#include "tests/ir/expect_error.h"

namespace sinter::test::recurrent_test {
namespace {

using ::testing::HasSubstr;

double sigmoid_of(double x) { return 1 / (1 + std::exp(-x)); }

/// Dense row-major values in double.
struct Matrix {
  std::int64_t columns = 0;
  std::vector<double> data;
  explicit Matrix(const Tensor& t) : columns(t.shape().back().factor()) {
    for (const float x : t.to_vector<float>()) data.push_back(x);
  }
  double at(std::int64_t row, std::int64_t column) const { return data[static_cast<std::size_t>(row * columns + column)]; }
};

/// What a layer makes of x [n, length, inputs], as its documentation has it, in double: the outputs of all steps.
std::vector<double> defined(const nn::Recurrent& layer, const std::string& kind, const Tensor& x, const Parameter& recurrent_bias = {}) {
  const std::int64_t n = x.shape()[0].factor(), length = x.shape()[1].factor(), inputs = x.shape()[2].factor(), units = layer.units();
  const Matrix values(reshape(x, {n * length, inputs})), w(layer.weight), u(layer.recurrent_weight);
  const auto bias_of = [](const Parameter& p, std::int64_t i) { return p.defined() ? Matrix(reshape(p, {1, p.type().shape[0]})).at(0, i) : 0.0; };
  std::vector<double> outputs;
  for (std::int64_t sample = 0; sample < n; ++sample) {
    std::vector<double> h(static_cast<std::size_t>(units)), c(h);
    for (std::int64_t t = 0; t < length; ++t) {
      const auto of_x = [&](std::int64_t column) {
        double total = bias_of(layer.bias, column);
        for (std::int64_t i = 0; i < inputs; ++i) total += values.at(sample * length + t, i) * w.at(i, column);
        return total;
      };
      const auto of_h = [&](const std::vector<double>& h, std::int64_t column) {
        double total = bias_of(recurrent_bias, column);
        for (std::int64_t i = 0; i < units; ++i) total += h[static_cast<std::size_t>(i)] * u.at(i, column);
        return total;
      };
      std::vector<double> next(h), reset(h);
      if (kind == "gru")
        for (std::int64_t j = 0; j < units; ++j) reset[static_cast<std::size_t>(j)] *= sigmoid_of(of_x(units + j) + of_h(h, units + j));
      for (std::int64_t j = 0; j < units; ++j) {
        const auto i = static_cast<std::size_t>(j);
        if (kind == "simple_rnn") next[i] = std::tanh(of_x(j) + of_h(h, j));
        if (kind == "lstm") {
          c[i] = sigmoid_of(of_x(units + j) + of_h(h, units + j)) * c[i] +
                 sigmoid_of(of_x(j) + of_h(h, j)) * std::tanh(of_x(2 * units + j) + of_h(h, 2 * units + j));
          next[i] = sigmoid_of(of_x(3 * units + j) + of_h(h, 3 * units + j)) * std::tanh(c[i]);
        }
        if (kind.starts_with("gru")) {
          const double z = sigmoid_of(of_x(j) + of_h(h, j)), r = sigmoid_of(of_x(units + j) + of_h(h, units + j));
          const double inner = kind == "gru" ? of_h(reset, 2 * units + j) : r * of_h(h, 2 * units + j);
          next[i] = z * h[i] + (1 - z) * std::tanh(of_x(2 * units + j) + inner);
        }
      }
      h = next;
      outputs.insert(outputs.end(), h.begin(), h.end());
    }
  }
  return outputs;
}

void expect_near(const Tensor& got, const std::vector<double>& wanted, const std::string& what) {
  const std::vector<float> values = got.to_vector<float>();
  ASSERT_EQ(values.size(), wanted.size()) << what;
  for (std::size_t i = 0; i < values.size(); ++i) ASSERT_NEAR(values[i], wanted[i], 1e-5) << what << " at " << i;
}

const nn::RecurrentOptions all_steps{.return_sequences = true, .bias = init::uniform(-0.5f, 0.5f)};

TEST(Recurrent, LayersComputeTheirFormulas) {
  for (const std::int64_t n : {1, 3, 64})
    for (const std::int64_t length : {1, 2, 20}) {
      const Tensor x = random({n, length, 4}, 1);
      seed(3);
      nn::SimpleRNN simple(4, 5, all_steps);
      nn::LSTM lstm(4, 5, all_steps);
      nn::GRU after(4, 5, all_steps);
      nn::RecurrentOptions options = all_steps;
      options.reset_after = false;
      nn::GRU before(4, 5, options);
      const std::vector<Tensor> eager{simple(x), lstm(x), after(x), before(x)};
      const std::vector<std::vector<double>> wanted{defined(simple, "simple_rnn", x), defined(lstm, "lstm", x),
                                                    defined(after, "gru_reset_after", x, after.recurrent_bias), defined(before, "gru", x)};
      for (std::size_t i = 0; i < eager.size(); ++i) expect_near(eager[i], wanted[i], str("eager layer ", i, " of ", n, " × ", length));
      if (!codegen::is_built()) continue;
      auto step = compile([&](const Tensor& x) { return std::vector{simple(x), lstm(x), after(x), before(x)}; });
      const std::vector<Tensor> compiled = step(x);
      for (std::size_t i = 0; i < compiled.size(); ++i) expect_near(compiled[i], wanted[i], str("compiled layer ", i, " of ", n, " × ", length));
    }
}

TEST(Recurrent, ReturnsSequencesAndStates) {
  seed(3);
  nn::LSTM all(4, 5, {.return_sequences = true, .return_state = true}), last(4, 5);
  EXPECT_EQ(last.state_count(), 2u);
  for (const auto& [to, from] : {std::pair(last.weight, all.weight), {last.recurrent_weight, all.recurrent_weight}, {last.bias, all.bias}})
    to.assign(from);
  const Tensor x = random({3, 6, 4}, 1);
  const std::vector<Tensor> results = all.call_all({&x, 1});
  ASSERT_EQ(results.size(), 3u);
  EXPECT_EQ(results[0].shape(), (Shape{3, 6, 5}));
  EXPECT_EQ(results[1].to_vector<float>(), last(x).to_vector<float>());
  EXPECT_EQ(reshape(slice(results[0], 1, 5, 6), {3, 5}).to_vector<float>(), results[1].to_vector<float>());
  // The second half from the states of the first is the whole.
  const Tensor first = slice(x, 1, 0, 2), second = slice(x, 1, 2, 6);
  const std::vector<Tensor> between = all.call_all({&first, 1});
  const Tensor with_states[] = {second, between[1], between[2]};
  const std::vector<Tensor> end = all.call_all(with_states);
  EXPECT_EQ(end[1].to_vector<float>(), results[1].to_vector<float>());
  EXPECT_EQ(end[2].to_vector<float>(), results[2].to_vector<float>());
  // And so are single steps.
  std::vector<Tensor> states{Tensor::zeros({DType::f32, {3, 5}}), Tensor::zeros({DType::f32, {3, 5}})};
  for (std::int64_t t = 0; t < 6; ++t) states = all.step(reshape(slice(x, 1, t, t + 1), {3, 4}), states);
  EXPECT_EQ(states[0].to_vector<float>(), results[1].to_vector<float>());
}

/// One time step a call, with the states as parameters, gives what the whole sequence gives.
TEST(Recurrent, StepsOfAStreamAreThoseOfTheSequence) {
  for (const Mode mode : modes()) {
    seed(3);
    nn::GRU cell(4, 5, {.return_sequences = true});
    const Tensor x = random({1, 6, 4}, 1);
    const Parameter state("state", Tensor::zeros({DType::f32, {1, 5}}));
    auto live = compile(
        [&](const Tensor& now) {
          const Tensor next = cell.step(now, std::vector<Tensor>{state})[0];
          state.assign(next);
          return next;
        },
        {.mode = mode, .kinds = {InputKind::fixed}});
    const std::vector<float> numbers = x.to_vector<float>(), whole = cell(x).to_vector<float>();
    std::vector<float> out(5);
    for (std::size_t t = 0; t < 6; ++t) {
      live.predict_one(std::span(numbers).subspan(4 * t, 4), out);  // which was never called before
      for (std::size_t i = 0; i < 5; ++i) EXPECT_NEAR(out[i], whole[5 * t + i], 1e-6) << t;
    }
  }
}

TEST(Recurrent, RunsBackwards) {
  seed(3);
  nn::GRU forward(4, 5, {.return_sequences = true}), backward(4, 5, {.return_sequences = true, .reverse = true});
  for (const auto& [to, from] : {std::pair(backward.weight, forward.weight), {backward.recurrent_weight, forward.recurrent_weight}}) to.assign(from);
  const Tensor x = random({3, 6, 4}, 1);
  EXPECT_EQ(backward(x).to_vector<float>(), flip(forward(flip(x, 1)), 1).to_vector<float>());
}

TEST(Recurrent, DropsInTrainingAlone) {
  for (const nn::RecurrentOptions& options : {nn::RecurrentOptions{.dropout = 0.5}, nn::RecurrentOptions{.recurrent_dropout = 0.5}}) {
    seed(3);
    nn::LSTM layer(4, 32, options);
    const Tensor x = random({3, 6, 4}, 1);
    const std::vector<float> whole = layer(x).to_vector<float>();
    EXPECT_EQ(layer(x).to_vector<float>(), whole);
    const nn::TrainingScope training;
    const std::vector<float> first = layer(x).to_vector<float>(), second = layer(x).to_vector<float>();
    EXPECT_NE(first, whole);
    EXPECT_NE(second, first) << "each call has a mask of its own";
  }
}

TEST(Recurrent, ActivationsAndBiasesAreOptions) {
  seed(3);
  nn::GRU layer(2, 3, {.activation = Activation::relu, .recurrent_activation = Activation::hard_sigmoid, .use_bias = false});
  EXPECT_FALSE(layer.bias.defined());
  EXPECT_FALSE(layer.recurrent_bias.defined());
  // One step from 0: (1 - z) relu(x Wh).
  const Tensor x = random({4, 1, 2}, 1), product = matmul(reshape(x, {4, 2}), layer.weight);
  const Tensor wanted = (1 - hard_sigmoid(slice(product, 1, 0, 3))) * relu(slice(product, 1, 6, 9));
  const std::vector<float> is = layer(x).to_vector<float>(), should = wanted.to_vector<float>();
  for (std::size_t i = 0; i < is.size(); ++i) EXPECT_NEAR(is[i], should[i], 1e-6);
}

TEST(Recurrent, PenaltiesAreThoseOfTheirWeights) {
  seed(3);
  nn::GRU layer(2, 3, {.penalty = {.l2 = 0.5f}, .recurrent_penalty = {.l1 = 0.25f}});
  EXPECT_NEAR(layer.penalty().item(), 0.5 * sum(square(layer.weight)).item() + 0.25 * sum(abs(layer.recurrent_weight)).item(), 1e-5);
}

TEST(Recurrent, TheForgetGateBeginsOpen) {
  nn::LSTM open(2, 3), plain(2, 3, {.unit_forget_bias = false});
  EXPECT_THAT(Tensor(open.bias).to_vector<float>(), ::testing::ElementsAre(0, 0, 0, 1, 1, 1, 0, 0, 0, 0, 0, 0));
  EXPECT_THAT(Tensor(plain.bias).to_vector<float>(), ::testing::Each(0));
}

TEST(Recurrent, OneCompileServesEveryLength) {
  NEEDS_CODEGEN();
  seed(3);
  nn::GRU gru(3, 8);
  nn::Dense head(8, 2);
  std::vector<Parameter> parameters = gru.parameters();
  for (const Parameter& p : head.parameters()) parameters.push_back(p);
  optim::SGD sgd({.learning_rate = 0});
  auto train = [&](const Tensor& x, const Tensor& y) {
    const Tensor loss = loss::sparse_categorical_crossentropy_from_logits(head(gru(x)), y);
    sgd.update(parameters, grad(loss, parameters));
    return loss;
  };
  const auto compiled = [&] { return compile(train, Spec::batch(DType::f32, {Spec::any_length, 3}), Spec::batch(DType::i32, {})); };
  auto step = compiled();
  for (const std::int64_t length : {15, 1500, 1}) {
    const Tensor x = random({5, length, 3}, length), y = random_labels(5, 2, 1);
    EXPECT_NEAR(step(x, y).item(), train(x, y).item(), 1e-5) << length;
  }
  EXPECT_EQ(step.compile_count(), 1u);
}

TEST(Recurrent, SameBytesOnAnyNumberOfThreadsAndTarget) {
  NEEDS_CODEGEN();
  seed(5);
  nn::Sequential model{nn::Bidirectional(nn::LSTM(20, 37, {.return_sequences = true})), nn::GRU(74, 33)};
  const std::vector<Parameter> parameters = model.parameters();
  const Tensor x = random({70, 9, 20}, 6);
  const auto bytes = [&](int threads, const char* target) {
    const Environment environment("SINTER_TARGET", target);
    auto step = compile(
        [&](const Tensor& x) {
          std::vector<Tensor> results{model(x)};
          for (const Tensor& gradient : grad(mean(square(results[0])), parameters)) results.push_back(gradient);
          return results;
        },
        {.threads = threads, .force = true});
    std::vector<std::vector<float>> all;
    for (const Tensor& result : step(x)) all.push_back(result.to_vector<float>());
    return all;
  };
  const std::vector<std::vector<float>> one = bytes(1, "x86-64-v3");
  for (const int threads : {2, 3, 4}) {
    EXPECT_EQ(bytes(threads, "x86-64-v3"), one) << threads;
    EXPECT_EQ(bytes(threads, ""), one) << threads;
  }
}

TEST(Recurrent, MemoryGrowsByAsMuchAsExplainSays) {
  NEEDS_CODEGEN();
  nn::LSTM lstm(3, 8);
  auto step =
      compile([&](const Tensor& x) { return grad(mean(square(lstm(x))), lstm.parameters()); }, Spec::batch(DType::f32, {Spec::any_length, 3}));
  const std::string text = step.explain();
  std::smatch said;
  ASSERT_TRUE(std::regex_search(text, said, std::regex("peak memory at N = 1, T = 1: .*\nmemory grows by (\\d+) bytes for each further step of T\n")))
      << text;
  // The arenas that the plan of the memory has for each sample and step.
  std::int64_t planned = 0;
  const std::string plan = text.substr(text.find("\nmemory: "), text.find(" in chunk scratch") - text.find("\nmemory: "));
  const std::regex each("(\\d+) NT");
  for (std::sregex_iterator at(plan.begin(), plan.end(), each), end; at != end; ++at) planned += std::stoll((*at)[1]);
  EXPECT_EQ(std::stoll(said[1]), planned) << text;
  EXPECT_GT(planned, 8 * 4) << "a state for each step";
}

/// Adding up a sequence, which needs memory.
TEST(Recurrent, LearnsWhatNeedsMemory) {
  for (const Mode mode : modes()) {
    seed(4);
    nn::Sequential model{nn::GRU(1, 16, {.return_sequences = true}), nn::LSTM(16, 16), nn::Dense(16, 1)};
    const Tensor x = random({64, 12, 1}, 5, 0, 1), y = mean(x, 1);
    Trainer trainer(model, loss::mean_squared_error, optim::Adam({.learning_rate = 1e-2f}), {.mode = mode});
    double loss = 0;
    for (int i = 0; i < 120; ++i) loss = trainer.train_on_batch(x, y);
    EXPECT_LT(loss, 1e-3);  // the mean of all alone gives 1 / 144
  }
}

TEST(Recurrent, RefusesWhatDoesNotFit) {
  EXPECT_USER_ERROR(nn::GRU(0, 5), "[gru] needs at least 1 input and 1 unit, got 0 and 5");
  EXPECT_USER_ERROR(nn::GRU(4, 5, {.dropout = 1}), "[gru] the rate must be in [0, 1), got 1");
  EXPECT_USER_ERROR(nn::LSTM(4, 5, {.recurrent_dropout = -0.5}), "[lstm] the rate must be in [0, 1), got -0.5");
  EXPECT_USER_ERROR(nn::LSTM(4, 5, {.reset_after = false}), "[lstm] reset_after is an option of GRU");
  EXPECT_USER_ERROR(nn::SimpleRNN(4, 5, {.unit_forget_bias = false}), "[simple_rnn] unit_forget_bias is an option of LSTM");
  nn::GRU layer(4, 5);
  EXPECT_USER_ERROR(layer(random({2, 4}, 1)), "[gru] input must be [N, T, 4], got f32[2,4]; reshape it");
  EXPECT_USER_ERROR(layer(random({2, 3, 6}, 1)), "[gru] input has 6 features but the layer was built for 4");
  const Tensor two[] = {random({2, 3, 4}, 1), random({2, 5}, 2), random({2, 5}, 3)}, wrong[] = {two[0], random({2, 6}, 2)};
  EXPECT_USER_ERROR(layer.call_all(two), "[gru] takes x, or x and 1 state, got 3 tensors");
  EXPECT_USER_ERROR(layer.call_all(wrong), "[gru] state 0 must be f32[2,5], got f32[2,6]");
  EXPECT_USER_ERROR(layer.step(random({2, 4}, 1), {}), "[gru] a step takes 1 state, got 0");
  EXPECT_USER_ERROR(layer.step(two[0], std::span(two).subspan(1, 1)), "[gru] input must be [N, 4], got f32[2,3,4]");
}

}  // namespace
}  // namespace sinter::test::recurrent_test
