// Each activation as a layer is the function of its name.
#include "tests/frontend/helpers.h"

namespace sinter::test::activation_layer_test {
namespace {

using ::testing::HasSubstr;

TEST(ActivationLayer, IsTheFunctionOfItsName) {
  const std::vector<std::pair<std::shared_ptr<nn::Module>, std::function<Tensor(const Tensor&)>>> layers{
      {std::make_shared<nn::Sigmoid>(), [](const Tensor& x) { return sigmoid(x); }},
      {std::make_shared<nn::Tanh>(), [](const Tensor& x) { return tanh(x); }},
      {std::make_shared<nn::ReLU>(), [](const Tensor& x) { return relu(x); }},
      {std::make_shared<nn::Softmax>(), [](const Tensor& x) { return softmax(x); }},
      {std::make_shared<nn::LogSoftmax>(), [](const Tensor& x) { return log_softmax(x); }},
      {std::make_shared<nn::SELU>(), [](const Tensor& x) { return selu(x); }},
      {std::make_shared<nn::Softplus>(), [](const Tensor& x) { return softplus(x); }},
      {std::make_shared<nn::Softsign>(), [](const Tensor& x) { return softsign(x); }},
      {std::make_shared<nn::SiLU>(), [](const Tensor& x) { return silu(x); }},
      {std::make_shared<nn::Mish>(), [](const Tensor& x) { return mish(x); }},
      {std::make_shared<nn::ReLU6>(), [](const Tensor& x) { return relu6(x); }},
      {std::make_shared<nn::HardSigmoid>(), [](const Tensor& x) { return hard_sigmoid(x); }},
      {std::make_shared<nn::HardSiLU>(), [](const Tensor& x) { return hard_silu(x); }},
      {std::make_shared<nn::HardTanh>(), [](const Tensor& x) { return hard_tanh(x); }},
      {std::make_shared<nn::Exponential>(), [](const Tensor& x) { return exp(x); }},
      {std::make_shared<nn::LeakyReLU>(0.3f), [](const Tensor& x) { return leaky_relu(x, 0.3f); }},
      {std::make_shared<nn::ELU>(0.5f), [](const Tensor& x) { return elu(x, 0.5f); }},
      {std::make_shared<nn::GELU>(), [](const Tensor& x) { return gelu(x); }},
      {std::make_shared<nn::GELU>(true), [](const Tensor& x) { return gelu(x, true); }},
      {std::make_shared<nn::ActivationLayer>(Activation::softsign), [](const Tensor& x) { return softsign(x); }},
      {std::make_shared<nn::PReLU>(), [](const Tensor& x) { return leaky_relu(x, 0.25f); }},
  };
  const Tensor x = random({3, 2, 5}, 1, -8, 8);
  for (const auto& [layer, function] : layers) EXPECT_EQ((*layer)(x).to_vector<float>(), function(x).to_vector<float>()) << layer->kind();
}

TEST(ActivationLayer, PReLULearnsASlopeAFeature) {
  nn::PReLU layer(2, 0.5f);
  EXPECT_EQ(layer.weight.name(), "weight");
  const Tensor x({1, -2, -3, 4}, {2, 2});
  EXPECT_EQ(layer(x).to_vector<float>(), (std::vector<float>{1, -1, -1.5f, 4}));
  EXPECT_EQ(grad(sum(layer(x)), {layer.weight})[0].to_vector<float>(), (std::vector<float>{-3, -2}));
  EXPECT_THAT(error_of([&] { layer(random({2, 3}, 1)); }),
              HasSubstr("[prelu] input must be [batch, ..., 2], got f32[2,3]; the layer was built for 2 features"));
  EXPECT_THAT(error_of([] { (void)nn::PReLU{0}; }), HasSubstr("[PReLU] needs at least 1 feature, got 0"));
  EXPECT_THAT(error_of([] { (void)nn::LeakyReLU{INFINITY}; }), HasSubstr("[LeakyReLU] the slope must be finite, got inf"));
}

TEST(Share, MakesACopyThatSharesItsParameters) {
  nn::Dense dense(2, 3);
  const std::shared_ptr<nn::Module> copy = nn::share(dense);
  EXPECT_EQ(copy->parameters(), dense.parameters());
  EXPECT_EQ((*copy)(random({4, 2}, 1)).to_vector<float>(), dense(random({4, 2}, 1)).to_vector<float>());
}

}  // namespace
}  // namespace sinter::test::activation_layer_test
