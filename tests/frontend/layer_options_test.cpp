// Layers: their options, every activation through one, the pools of series, and what they refuse.
#include <algorithm>
#include <cmath>

#include "tests/frontend/mistakes.h"

namespace sinter::test::layer_options_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// What each activation is, in double.
double activated(nn::Activation activation, double x) {
  const double softplus = std::log1p(std::exp(x));
  switch (activation) {
    case nn::Activation::none:
      return x;
    case nn::Activation::sigmoid:
      return 1 / (1 + std::exp(-x));
    case nn::Activation::tanh:
      return std::tanh(x);
    case nn::Activation::relu:
      return std::max(x, 0.0);
    case nn::Activation::softmax:
      return 1;  // of a single number
    case nn::Activation::leaky_relu:
      return x > 0 ? x : 0.01 * x;
    case nn::Activation::elu:
      return x > 0 ? x : std::expm1(x);
    case nn::Activation::selu:
      return 1.0507009873554805 * (x > 0 ? x : 1.6732632423543772 * std::expm1(x));
    case nn::Activation::gelu:
      return x / 2 * (1 + std::erf(x / std::sqrt(2.0)));
    case nn::Activation::softplus:
      return softplus;
    case nn::Activation::softsign:
      return x / (1 + std::abs(x));
    case nn::Activation::silu:
      return x / (1 + std::exp(-x));
    case nn::Activation::mish:
      return x * std::tanh(softplus);
    case nn::Activation::relu6:
      return std::clamp(x, 0.0, 6.0);
    case nn::Activation::hard_sigmoid:
      return std::clamp(x + 3, 0.0, 6.0) / 6;
    case nn::Activation::hard_silu:
      return x * std::clamp(x + 3, 0.0, 6.0) / 6;
    case nn::Activation::hard_tanh:
      return std::clamp(x, -1.0, 1.0);
    case nn::Activation::exponential:
      return std::exp(x);
  }
  return NAN;
}

TEST(Activation, EachOneThroughALayer) {
  const Tensor x({-7, -2.5f, -0.5f, 0, 0.25f, 1, 4, 8}, {8, 1});
  const std::vector<float> in = x.to_vector<float>();
  for (int i = 0; i <= static_cast<int>(nn::Activation::exponential); ++i) {
    const auto activation = static_cast<nn::Activation>(i);
    const std::string name(nn::name(activation));
    EXPECT_EQ(nn::parse_activation(name), activation);
    nn::Dense layer(1, 1, activation, {.weight = init::ones(), .bias = init::zeros()});
    const std::vector<float> alone = nn::activate(activation, x).to_vector<float>();
    for (const Mode mode : modes()) {
      const std::vector<float> out = compile([&](const Tensor& t) { return layer(t); }, {.mode = mode})(x).to_vector<float>();
      for (std::size_t k = 0; k < in.size(); ++k) {
        const double wanted = activated(activation, static_cast<double>(in[k]));
        EXPECT_NEAR(out[k], wanted, 1e-6 * std::max(1.0, std::abs(wanted))) << name << " of " << in[k];
        EXPECT_NEAR(alone[k], out[k], 1e-6 * std::max(1.0, std::abs(wanted))) << name << " of " << in[k];
      }
    }
  }
}

TEST(Pool, OfSeries) {
  const Tensor x({1, 10, 4, 20, 2, 30, 8, 0, 5, 5}, {1, 5, 2});
  for (const Mode mode : modes()) {
    const auto run = [&](nn::Module& layer) { return compile([&](const Tensor& t) { return layer(t); }, {.mode = mode})(x); };
    nn::MaxPool1D greatest(2);
    nn::AveragePool1D average(2), strided(3, {.strides = {1}, .padding = Padding::same()});
    EXPECT_THAT(run(greatest).to_vector<float>(), ElementsAre(4, 20, 8, 30)) << "the fifth place has no window";
    EXPECT_THAT(run(average).to_vector<float>(), ElementsAre(2.5f, 15, 5, 15));
    EXPECT_EQ(run(strided).shape(), Shape({1, 5, 2}));
    EXPECT_EQ(greatest.kind(), "max_pool1d");
    EXPECT_EQ(average.kind(), "average_pool1d");
  }
}

TEST(LayerOptions, AreThoseThatWereGiven) {
  nn::Conv2D convolution(1, 2, {1}, Activation::none, {.weight = init::constant(3), .bias = init::constant(5), .penalty = {.l2 = 0.5f}});
  EXPECT_THAT(convolution(Tensor({1, 2}, {1, 1, 2, 1})).to_vector<float>(), ElementsAre(8, 8, 11, 11));
  EXPECT_EQ(convolution.penalty().item(), 0.5 * 2 * 9);
  EXPECT_EQ(convolution.bias.shape(), Shape({2}));
  nn::Conv2D plain(1, 2, {1}, Activation::none, {.weight = init::ones(), .use_bias = false});
  EXPECT_FALSE(plain.bias.defined());
  EXPECT_EQ(plain.weight.shape(), Shape({1, 1, 1, 2}));

  nn::BatchNorm norm(3, {.scale = false, .center = false}), shifted(3, {.scale = false});
  EXPECT_FALSE(norm.gamma.defined());
  EXPECT_FALSE(norm.beta.defined());
  EXPECT_FALSE(shifted.gamma.defined());
  shifted.beta.assign(Tensor({1, 2, 3}, {3}));
  const Tensor x = random({4, 3}, 1);
  const auto y = norm(x).to_vector<float>(), z = shifted(x).to_vector<float>();
  for (std::size_t i = 0; i < y.size(); ++i) EXPECT_NEAR(z[i], y[i] + static_cast<float>(i % 3 + 1), 1e-6);

  nn::LayerNorm layer(3, {.scale = false, .center = false}), centered(3, {.scale = false});
  EXPECT_FALSE(layer.gamma.defined());
  EXPECT_FALSE(layer.beta.defined());
  centered.beta.assign(Tensor({1, 2, 3}, {3}));
  const auto p = layer(x).to_vector<float>(), q = centered(x).to_vector<float>();
  for (std::size_t i = 0; i < p.size(); ++i) EXPECT_NEAR(q[i], p[i] + static_cast<float>(i % 3 + 1), 1e-6);
}

TEST(LayerOptions, DependOnTraining) {
  EXPECT_FALSE(nn::is_training());
  {
    const nn::TrainingScope outer;
    EXPECT_TRUE(nn::is_training());
    {
      const nn::TrainingScope inner;
    }
    EXPECT_TRUE(nn::is_training());
  }
  EXPECT_FALSE(nn::is_training());
}

TEST(LayerParameters, AreListed) {
  nn::Sequential model{nn::Dense(2, 3), nn::Dropout(0.5), nn::Dense(3, 1)};
  std::vector<std::string> found;
  for (const nn::LayerParameters& layer : model.layers()) found.push_back(layer.kind + " " + layer.path + str(" ", layer.parameters.size()));
  EXPECT_THAT(found, ElementsAre("dense dense_1 2", "dropout dropout_1 1", "dense dense_2 2"));
  const Type inputs[] = {{DType::f32, {Dim::batch(), 2}}};
  EXPECT_EQ(model.summary_all(inputs), model.summary(inputs[0]));
}

TEST(LayerParameters, AreGivenAndTaken) {
  nn::Sequential one{nn::Dense(2, 3)}, other{nn::Dense(2, 3)};
  const weights::StateDict tensors = weights::state_dict(one);
  ASSERT_EQ(tensors.size(), 2u);
  EXPECT_EQ(tensors[0].first, "dense_1.weight");
  weights::load_state_dict(other, tensors);
  EXPECT_EQ(other.parameters()[0].read().to_vector<float>(), one.parameters()[0].read().to_vector<float>());
  const auto load = [&](weights::StateDict from, weights::Convention convention) {
    weights::load_state_dict(other, from, {.convention = convention});
  };
  const Tensor w = random({2, 3}, 1), b = random({3}, 2);
  using weights::Convention;
  expect_errors(
      {{"[load] layer 'dense_1' needs 'bias', which layer 'fc' of the file lacks", [&] { load({{"fc.weight", transpose(w)}}, Convention::pytorch); }},
       {"[load] layer 'dense_1' has 2 weights, layer 'dense' of the file 3",
        [&] { load({{"dense/0", w}, {"dense/1", b}, {"dense/2", b}}, Convention::keras); }},
       {"[load] the file has 2 layers like 'dense', the model 1",
        [&] { load({{"dense/0", w}, {"dense/1", b}, {"dense_1/0", w}, {"dense_1/1", b}}, Convention::keras); }}});
}

TEST(DropoutOptions, DropsByCounterAndStream) {
  seed(5);
  const std::uint64_t first = init::next_stream(), second = init::next_stream();
  EXPECT_NE(first, second);
  seed(5);
  EXPECT_EQ(init::next_stream(), first) << "streams follow from the seed";
  const Parameter draws("draws", Tensor::zeros({DType::u32, {}}), false);
  const Tensor x = Tensor::filled({DType::f32, {20, 3}}, 1), once = nn::drop(x, {20, 1}, draws, first, 0.5);
  const std::vector<float> kept = once.to_vector<float>();
  for (std::size_t i = 0; i < kept.size(); i += 3) EXPECT_TRUE(kept[i] == kept[i + 1] && kept[i] == kept[i + 2]) << "one number a row decides";
  EXPECT_THAT(kept, testing::Each(testing::AnyOf(0.0f, 2.0f)));
  EXPECT_THAT(error_of([] { nn::require_rate("Noise", -0.5); }), HasSubstr("[Noise] the rate must be in [0, 1), got -0.5"));
}

TEST(LayerErrors, OfConstruction) {
  using namespace nn;
  expect_errors({{"[kernel] must be height and width, or one number for both, got 3 numbers", [] { Conv2D(1, 1, {1, 2, 3}); }},
                 {"[conv2d] needs at least 1 channel and 1 feature, got 0 and 1", [] { Conv2D(0, 1, {1}); }},
                 {"[conv1d] strides and dilations must be at least 1, got 0", [] { Conv1D(1, 1, 1, Activation::none, {.strides = {0}}); }},
                 {"[Embedding] needs at least 1 entry and 1 feature, got 0 and 3", [] { Embedding(0, 3); }},
                 {"[init] uniform needs low <= high, got 2 and 1", [] { init::uniform(2, 1); }},
                 {"[init] the deviation must be at least 0, got -1", [] { init::normal(0, -1); }},
                 {"[init] initializers that scale with the fans need a weight [..., in, out], got [3]", [] { init::glorot_uniform()({3}); }},
                 {"[l2] needs at least one parameter", [] { loss::l2(1, {}); }},
                 {"[ZeroPadding] needs a number of elements for each axis, or one for all", [] { ZeroPadding({}); }},
                 {"[ZeroPadding] the padding must be at least 0, got -1", [] { ZeroPadding({-1}); }},
                 {"[Sequential] needs at least one layer", [] { Sequential(std::vector<std::shared_ptr<Module>>{}); }},
                 {"[sequential] layer 1 is null", [] { Sequential(std::vector<std::shared_ptr<Module>>{nullptr}); }},
                 {"[activation] there is no activation number 99", [] { activate(static_cast<nn::Activation>(99), Tensor(1.0f)); }},
                 {"there is no activation 'rleu'; the nearest is 'relu'", [] { parse_activation("rleu"); }}});
}

/// A model that gives two outputs.
struct Twice : nn::Model {
  Twice() : Model("twice") {}
  std::vector<Tensor> forward_all(std::span<const Tensor> in) override { return {in[0], in[0]}; }
};

TEST(LayerErrors, OfInputs) {
  const Tensor flat = random({2, 3}, 1), image = random({2, 4, 4, 3}, 2);
  nn::Conv2D planes(3, 1, {3});
  nn::Conv1D lines(3, 1, 3);
  nn::GlobalMaxPool pool;
  nn::ZeroPadding border({1, 1, 1});
  nn::Flatten flatten;
  nn::Reshape shape({3});
  Twice twice;
  expect_errors({{"[conv2d] input must be [batch, height, width, channels], got f32[2,3]", [&] { planes(flat); }},
                 {"[conv1d] input must be [batch, length, channels], got f32[2,4,4,3]", [&] { lines(image); }},
                 {"[global_max_pool] input must be [batch, height, width, channels] or [batch, length, channels], got f32[2,3]", [&] { pool(flat); }},
                 {"[zero_padding] has padding for 3 axes, but the input is f32[2,4,4,3]", [&] { border(image); }},
                 {"[flatten] input must be [batch, ...], got f32[]", [&] { flatten(Tensor(1.0f)); }},
                 {"[reshape] input must be [batch, ...], got f32[]", [&] { shape(Tensor(1.0f)); }},
                 {"[twice] gives 2 outputs; call it with call_all", [&] { twice(flat); }},
                 {"[categorical_crossentropy] predictions must be [batch, ..., classes], got f32[2]",
                  [&] { loss::categorical_crossentropy(random({2}, 1), random_labels(2, 2, 1)); }}});
}

}  // namespace
}  // namespace sinter::test::layer_options_test
