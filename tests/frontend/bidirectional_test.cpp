// Bidirectional layers.
#include "frontend/nn/mask.h"
#include "frontend/nn/recurrent.h"
#include "tests/frontend/helpers.h"
#include "tests/ir/expect_error.h"

namespace sinter::test::bidirectional_test {
namespace {

struct Both {
  std::shared_ptr<nn::Recurrent> forward, backward;
};

template <class Layer>
Both both(std::int64_t inputs, std::int64_t units, nn::RecurrentOptions options) {
  seed(3);
  const auto forward = std::make_shared<Layer>(inputs, units, options);
  return {forward, forward->reversed()};
}

TEST(Bidirectional, MergesBothDirections) {
  const Tensor x = random({3, 6, 4}, 1);
  for (const bool sequences : {false, true})
    for (const Mode mode : modes()) {
      const auto [forward, backward] = both<nn::GRU>(4, 5, {.return_sequences = sequences});
      const Tensor a = (*forward)(x), b = (*backward)(x);
      const std::vector<std::pair<nn::Merge, Tensor>> wanted{
          {nn::Merge::concat, concat({a, b}, -1)}, {nn::Merge::sum, a + b}, {nn::Merge::mean, (a + b) / 2}, {nn::Merge::product, a * b}};
      for (const auto& [merge, y] : wanted) {
        nn::Bidirectional layer(forward, backward, merge);
        auto step = compile([&](const Tensor& x) { return layer(x); }, {.mode = mode});
        const Tensor is = step(x);
        ASSERT_EQ(is.shape(), y.shape());
        const std::vector<float> got = is.to_vector<float>(), should = y.to_vector<float>();
        for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], should[i], 1e-6) << static_cast<int>(merge);
      }
    }
}

TEST(Bidirectional, TheSecondLayerSeesTheSequenceBackwards) {
  const auto [forward, backward] = both<nn::SimpleRNN>(4, 5, {.return_sequences = true});
  EXPECT_NE(Tensor(forward->weight).to_vector<float>(), Tensor(backward->weight).to_vector<float>()) << "it begins with weights of its own";
  for (const auto& [to, from] : {std::pair(backward->weight, forward->weight), {backward->recurrent_weight, forward->recurrent_weight}})
    to.assign(from);
  const Tensor x = random({3, 6, 4}, 1);
  EXPECT_EQ((*backward)(x).to_vector<float>(), flip((*forward)(flip(x, 1)), 1).to_vector<float>());
}

TEST(Bidirectional, ReversedKeepsKindAndOptions) {
  const nn::RecurrentOptions options{.activation = Activation::relu, .return_state = true, .use_bias = true};
  const nn::LSTM lstm(4, 5, options);
  const std::shared_ptr<nn::Recurrent> turned = lstm.reversed();
  EXPECT_EQ(turned->kind(), "lstm");
  EXPECT_EQ(turned->inputs(), 4);
  EXPECT_TRUE(turned->options().reverse);
  EXPECT_TRUE(turned->options().return_state);
  EXPECT_EQ(turned->options().activation, Activation::relu);
  EXPECT_EQ(Tensor(turned->bias).to_vector<float>(), Tensor(lstm.bias).to_vector<float>()) << "the forget gate begins open once";
  EXPECT_FALSE(turned->reversed()->options().reverse);
  EXPECT_EQ(nn::GRU(4, 5, {.reset_after = false}).reversed()->parameters().size(), 3u);
  EXPECT_EQ(nn::SimpleRNN(4, 5).reversed()->kind(), "simple_rnn");
}

TEST(Bidirectional, HasTheParametersOfBoth) {
  nn::Sequential model{nn::Bidirectional(nn::LSTM(3, 2, {.return_sequences = true})), nn::Bidirectional(nn::GRU(4, 2), nn::Merge::sum)};
  std::vector<std::string> names;
  for (const Parameter& parameter : model.parameters()) names.push_back(parameter.name());
  EXPECT_THAT(names,
              ::testing::ElementsAre("bidirectional_1.lstm_1.weight", "bidirectional_1.lstm_1.recurrent_weight", "bidirectional_1.lstm_1.bias",
                                     "bidirectional_1.lstm_2.weight", "bidirectional_1.lstm_2.recurrent_weight", "bidirectional_1.lstm_2.bias",
                                     "bidirectional_2.gru_1.weight", "bidirectional_2.gru_1.recurrent_weight", "bidirectional_2.gru_1.bias",
                                     "bidirectional_2.gru_1.recurrent_bias", "bidirectional_2.gru_2.weight", "bidirectional_2.gru_2.recurrent_weight",
                                     "bidirectional_2.gru_2.bias", "bidirectional_2.gru_2.recurrent_bias"));
  EXPECT_EQ(model(random({3, 6, 3}, 1)).shape(), (Shape{3, 2}));
}

TEST(Bidirectional, TakesAndReturnsStatesOfBoth) {
  const auto [forward, backward] = both<nn::LSTM>(4, 5, {.return_state = true});
  nn::Bidirectional layer(forward, backward);
  const Tensor x = random({3, 6, 4}, 1);
  const Tensor in[] = {x, random({3, 5}, 2), random({3, 5}, 3), random({3, 5}, 4), random({3, 5}, 5)};
  const std::vector<Tensor> out = layer.call_all(in);
  ASSERT_EQ(out.size(), 5u);
  const Tensor of_backward[] = {x, in[3], in[4]};
  const std::vector<Tensor> a = forward->call_all(std::span(in).first(3)), b = backward->call_all(of_backward);
  EXPECT_EQ(out[1].to_vector<float>(), a[1].to_vector<float>());
  EXPECT_EQ(out[2].to_vector<float>(), a[2].to_vector<float>());
  EXPECT_EQ(out[3].to_vector<float>(), b[1].to_vector<float>());
  EXPECT_EQ(out[4].to_vector<float>(), b[2].to_vector<float>());
}

TEST(Bidirectional, MasksServeBothDirections) {
  seed(3);
  nn::Bidirectional layer(nn::LSTM(2, 3, {.return_sequences = true}));
  const Tensor x = random({2, 5, 2}, 1), mask = nn::sequence_mask(Tensor(std::vector<std::int32_t>{5, 2}, {2}), 5);
  const Tensor y = layer(nn::with_mask(x, mask));
  EXPECT_EQ(nn::mask_of(y).to_vector<std::uint8_t>(), mask.to_vector<std::uint8_t>());
  const Tensor second = slice(slice(x, 0, 1, 2), 1, 0, 2), is = slice(slice(y, 0, 1, 2), 1, 0, 2);
  const std::vector<float> got = is.to_vector<float>(), alone = layer(second).to_vector<float>();
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], alone[i], 1e-6);
}

TEST(Bidirectional, RefusesLayersThatDoNotMatch) {
  using nn::Merge;
  const auto layer = [](std::int64_t units, nn::RecurrentOptions options) { return std::make_shared<nn::GRU>(4, units, options); };
  EXPECT_USER_ERROR(nn::Bidirectional(nullptr, layer(5, {})), "[bidirectional] needs two layers, got a null pointer");
  EXPECT_USER_ERROR(nn::Bidirectional(layer(5, {}), layer(5, {})),
                    "[bidirectional] its first layer runs forwards and its second backwards; give the second alone .reverse = true");
  EXPECT_USER_ERROR(nn::Bidirectional(nn::GRU(4, 5, {.reverse = true})),
                    "[bidirectional] its first layer runs forwards and its second backwards; give the second alone .reverse = true");
  EXPECT_USER_ERROR(nn::Bidirectional(layer(5, {}), layer(5, {.return_sequences = true, .reverse = true})),
                    "[bidirectional] its layers return different things; give both the same return_sequences and return_state");
  EXPECT_USER_ERROR(nn::Bidirectional(layer(5, {}), layer(6, {.reverse = true}), Merge::mean),
                    "[bidirectional] its layers have 5 and 6 units, which only Merge::concat can merge");
  nn::Bidirectional both(nn::GRU(4, 5));
  const Tensor two[] = {random({2, 3, 4}, 1), random({2, 5}, 2)};
  EXPECT_USER_ERROR(both.call_all(two), "[bidirectional] takes x, or x and 2 states, got 2 tensors");
}

}  // namespace
}  // namespace sinter::test::bidirectional_test
