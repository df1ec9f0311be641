// The layers of a PyTorch file are matched by what their names say of their order, or not at all.
#include "tests/frontend/mistakes.h"

namespace sinter::test::layer_order_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

weights::StateDict torch(const std::vector<std::string>& layers) {
  weights::StateDict tensors;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    tensors.emplace_back(layers[i] + ".weight", Tensor::filled({DType::f32, {4, 4}}, static_cast<double>(i)));
    tensors.emplace_back(layers[i] + ".bias", Tensor::filled({DType::f32, {4}}, static_cast<double>(i)));
  }
  return tensors;
}

std::vector<float> loaded(const std::vector<std::string>& layers, weights::LoadOptions options = {}) {
  nn::Sequential model;
  for (std::size_t i = 0; i < layers.size(); ++i) model += nn::Dense(4, 4);
  options.convention = weights::Convention::pytorch;
  weights::load_state_dict(model, torch(layers), options);
  std::vector<float> biases;
  for (std::size_t i = 0; i < layers.size(); ++i) biases.push_back(model.parameter(str("dense_", i + 1, ".bias")).read().to_vector<float>()[0]);
  return biases;
}

TEST(LayerOrder, ThatNamesDoNotTellMustBeSaid) {
  EXPECT_THAT(error_of([] { loaded({"encoder", "decoder"}); }),
              AllOf(HasSubstr("layers 'decoder' and 'encoder' of the file both fit 'dense_1' and 'dense_2'"),
                    HasSubstr(".layers = {\"decoder\", \"encoder\"}")));
  EXPECT_THAT(error_of([] { loaded({"stem", "body", "head"}); }), HasSubstr(".layers = {\"body\", \"head\", \"stem\"}"));
  EXPECT_THAT(error_of([] { loaded({"encoder.0", "encoder.1", "decoder.0"}); }), HasSubstr("LoadOptions"));
  EXPECT_THAT(error_of([] { loaded({"q_proj", "k_proj", "v_proj"}); }), HasSubstr("LoadOptions"));
  EXPECT_EQ(loaded({"encoder", "decoder"}, {.layers = {"encoder", "decoder"}}), (std::vector<float>{0, 1}));
}

TEST(LayerOrder, IsThatOfNumbersInNames) {
  EXPECT_EQ(loaded({"fc1", "fc2", "fc10"}), (std::vector<float>{0, 1, 2}));
  EXPECT_EQ(loaded({"0", "2", "11"}), (std::vector<float>{0, 1, 2}));
  EXPECT_EQ(loaded({"layer1.0.fc2", "layer1.1.fc1", "layer2.0.fc1"}), (std::vector<float>{0, 1, 2}));
}

/// Names that tell nothing are no matter where shapes do.
TEST(LayerOrder, IsThatOfShapes) {
  nn::Sequential model{nn::Dense(2, 3), nn::Dense(3, 2)};
  const weights::StateDict tensors{{"encoder.weight", random({3, 2}, 1)},
                                   {"encoder.bias", random({3}, 2)},
                                   {"decoder.weight", random({2, 3}, 3)},
                                   {"decoder.bias", random({2}, 4)}};
  weights::load_state_dict(model, tensors, {.convention = weights::Convention::pytorch});
  EXPECT_EQ(model.parameter("dense_1.bias").read().to_vector<float>(), tensors[1].second.to_vector<float>());
}

}  // namespace
}  // namespace sinter::test::layer_order_test
