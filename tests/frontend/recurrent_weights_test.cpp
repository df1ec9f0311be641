// Weights of recurrent layers from Python: tests/fixtures/recurrent_weights.py wrote the files with the Python libraries.
#include <cmath>

#include "frontend/data/npy.h"
#include "tests/frontend/helpers.h"

namespace sinter::test::recurrent_weights_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using weights::Convention;

const std::string folder = SINTER_TEST_FIXTURES;
const weights::LoadOptions torch{.convention = Convention::pytorch};

void expect_predictions(nn::Sequential model, const std::string& input, const std::string& name) {
  const auto wanted = data::npy(folder + "/" + name + "_y.npy").to_vector<float>(), got = model(data::npy(folder + input)).to_vector<float>();
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], wanted[i], 1e-5 * std::max(1.0f, std::abs(wanted[i]))) << name;
}

/// The error of loading, after which all parameters are as before.
std::string error_of_loading(nn::Sequential model, const weights::StateDict& tensors, const weights::LoadOptions& options) {
  std::vector<std::vector<float>> before;
  for (const Parameter& p : model.parameters()) before.push_back(p.read().to_vector<float>());
  const std::string error = error_of([&] { weights::load_state_dict(model, tensors, options); });
  for (std::size_t i = 0; i < before.size(); ++i) EXPECT_EQ(model.parameters()[i].read().to_vector<float>(), before[i]) << "nothing is assigned";
  return error;
}

std::string error_of_loading(nn::Sequential model, const std::string& file, weights::LoadOptions options = {}) {
  if (file.ends_with(".h5")) options.convention = Convention::keras;
  return error_of_loading(std::move(model), weights::read(folder + file), options);
}

/// The tensors of a file with the value of one replaced, or without it.
weights::StateDict changed(const std::string& file, const std::string& name, const Tensor& value = {}) {
  weights::StateDict tensors = weights::read(folder + file);
  const auto at = std::find_if(tensors.begin(), tensors.end(), [&](const auto& t) { return t.first == name; });
  if (at == tensors.end()) throw UserError("test", "no " + name);
  if (value.defined()) at->second = value;
  else tensors.erase(at);
  return tensors;
}

nn::Sequential gru_of_keras(bool first_resets_after = true, bool second_resets_after = false) {
  return nn::Sequential{nn::GRU(4, 3, {.return_sequences = true, .reset_after = first_resets_after}),
                        nn::GRU(3, 5, {.return_sequences = true, .reset_after = second_resets_after}), nn::GRU(5, 3)};
}

template <class First>
nn::Sequential both_of_keras(const nn::RecurrentOptions& options = {.return_sequences = true}) {
  return nn::Sequential{nn::Embedding(9, 4), nn::Bidirectional(First(4, 3, options)), nn::Bidirectional(nn::GRU(6, 2), nn::Merge::sum),
                        nn::Dense(2, 2)};
}

nn::Sequential gru_of_torch(const nn::RecurrentOptions& options = {.return_sequences = true}) {
  return nn::Sequential{nn::Bidirectional(nn::GRU(4, 3, options)), nn::Bidirectional(nn::GRU(6, 3, options)), nn::Dense(6, 2)};
}

TEST(RecurrentWeights, KerasFilesLoadAndPredict) {
  nn::Sequential gru = gru_of_keras();
  weights::load(gru, folder + "/keras_gru.weights.h5");
  expect_predictions(gru, "/recurrent_x.npy", "keras_gru");
  nn::Sequential lstm{nn::SimpleRNN(4, 3, {.return_sequences = true}), nn::LSTM(3, 5), nn::Dense(5, 2)};
  weights::load(lstm, folder + "/keras_lstm.weights.h5");
  expect_predictions(lstm, "/recurrent_x.npy", "keras_lstm");
  nn::Sequential both = both_of_keras<nn::LSTM>();
  weights::load(both, folder + "/keras_bidirectional.weights.h5");
  expect_predictions(both, "/recurrent_ids.npy", "keras_bidirectional");
}

TEST(RecurrentWeights, PyTorchFilesLoadAndPredict) {
  nn::Sequential gru = gru_of_torch();
  const weights::LoadResult result = weights::load(gru, folder + "/torch_gru.safetensors", torch);
  EXPECT_EQ(result.loaded.size(), gru.parameters().size());
  expect_predictions(gru, "/recurrent_x.npy", "torch_gru");
  nn::Sequential lstm{nn::LSTM(4, 3), nn::Dense(3, 2)};
  weights::load(lstm, folder + "/torch_lstm.safetensors", torch);
  expect_predictions(lstm, "/recurrent_x.npy", "torch_lstm");
  const nn::RecurrentOptions relu{.activation = Activation::relu, .return_sequences = true, .use_bias = false};
  nn::RecurrentOptions last = relu;
  last.return_sequences = false;
  nn::Sequential rnn{nn::SimpleRNN(4, 3, relu), nn::SimpleRNN(3, 3, last), nn::Dense(3, 2)};
  weights::load(rnn, folder + "/torch_rnn.safetensors", torch);
  expect_predictions(rnn, "/recurrent_x.npy", "torch_rnn");
}

TEST(RecurrentWeights, PyTorchsModulesAreNamedOnceForAllTheirLevels) {
  nn::Sequential model = gru_of_torch();
  weights::load(model, folder + "/torch_gru.safetensors", {.convention = Convention::pytorch, .layers = {"rnn", "fc"}});
  expect_predictions(model, "/recurrent_x.npy", "torch_gru");
  EXPECT_THAT(error_of_loading(gru_of_torch(), "/torch_gru.safetensors", {.convention = Convention::pytorch, .layers = {"gru", "fc"}}),
              HasSubstr("the file has no layer 'gru'"));
  // Two modules of one shape, whose names do not number them.
  weights::StateDict tensors;
  for (const std::string module : {"decoder", "encoder"})
    for (const auto& [name, tensor] : weights::read(folder + "/torch_lstm.safetensors"))
      if (name.starts_with("rnn.")) tensors.emplace_back(module + name.substr(3), tensor);
  nn::Sequential two{nn::LSTM(4, 3), nn::LSTM(4, 3)};
  EXPECT_THAT(error_of_loading(two, tensors, torch),
              HasSubstr("layers 'decoder' (l0) and 'encoder' (l0) of the file both fit 'lstm_1' and 'lstm_2', and no number in their names tells "
                        "their order; give the layers in the order of the model's, LoadOptions{.layers = {\"decoder\", \"encoder\"}} if it is this"));
  weights::load_state_dict(two, tensors, {.convention = Convention::pytorch, .layers = {"encoder", "decoder"}});
}

/// nn.GRUCell and its like have the tensors of a layer without levels; the state dict of a module alone has names without a path.
TEST(RecurrentWeights, PyTorchsCellsAndLayersAloneLoad) {
  const weights::StateDict file = weights::read(folder + "/torch_lstm.safetensors");
  weights::StateDict alone, cell;
  for (const auto& [name, tensor] : file) {
    if (!name.starts_with("rnn.")) continue;
    alone.emplace_back(name.substr(4), tensor);
    cell.emplace_back("cell." + name.substr(4, name.size() - 4 - 3), tensor);
  }
  nn::LSTM a(4, 3), b(4, 3);
  weights::load_state_dict(a, alone, torch);
  weights::load_state_dict(b, cell, torch);
  const Tensor x = data::npy(folder + "/recurrent_x.npy");
  EXPECT_EQ(a(x).to_vector<float>(), b(x).to_vector<float>());
  nn::Bidirectional both(nn::GRU(4, 3));
  weights::StateDict first;
  for (const auto& [name, tensor] : weights::read(folder + "/torch_gru.safetensors"))
    if (name.starts_with("rnn.") && name.find("_l0") != name.npos) first.emplace_back(name.substr(4), tensor);
  EXPECT_EQ(weights::load_state_dict(both, first, torch).loaded.size(), 8u);
}

TEST(RecurrentWeights, GatesAndBiasesOfPyTorchAreInSintersOrder) {
  std::vector<float> rows(3), other(3);
  for (std::size_t i = 0; i < 3; ++i) rows[i] = static_cast<float>(i + 1), other[i] = static_cast<float>(10 * (i + 1));
  const weights::StateDict tensors{{"rnn.weight_ih_l0", Tensor(rows, {3, 1})},
                                   {"rnn.weight_hh_l0", Tensor(other, {3, 1})},
                                   {"rnn.bias_ih_l0", Tensor(rows, {3})},
                                   {"rnn.bias_hh_l0", Tensor(other, {3})}};
  nn::GRU gru(1, 1);
  weights::load_state_dict(gru, tensors, torch);
  EXPECT_THAT(gru.weight.read().to_vector<float>(), ElementsAre(2, 1, 3));
  EXPECT_THAT(gru.recurrent_weight.read().to_vector<float>(), ElementsAre(20, 10, 30));
  EXPECT_THAT(gru.bias.read().to_vector<float>(), ElementsAre(2, 1, 3));
  EXPECT_THAT(gru.recurrent_bias.read().to_vector<float>(), ElementsAre(20, 10, 30));
  nn::SimpleRNN rnn(1, 3);
  weights::load_state_dict(rnn, {tensors[0], {"rnn.weight_hh_l0", Tensor::zeros({DType::f32, {3, 3}})}, tensors[2], tensors[3]}, torch);
  EXPECT_THAT(rnn.bias.read().to_vector<float>(), ElementsAre(11, 22, 33)) << "the sum of both";
}

TEST(RecurrentWeights, DrawsOfDropoutsAreKept) {
  const nn::RecurrentOptions dropout{.return_sequences = true, .dropout = 0.5, .recurrent_dropout = 0.5};
  nn::Sequential gru = gru_of_torch(dropout);
  EXPECT_THAT(
      weights::load(gru, folder + "/torch_gru.safetensors", torch).kept,
      ElementsAre("bidirectional_1.gru_1.draws", "bidirectional_1.gru_2.draws", "bidirectional_2.gru_1.draws", "bidirectional_2.gru_2.draws"));
  expect_predictions(gru, "/recurrent_x.npy", "torch_gru");
  nn::Sequential both = both_of_keras<nn::LSTM>(dropout);
  EXPECT_EQ(weights::load(both, folder + "/keras_bidirectional.weights.h5").kept.size(), 2u);
  expect_predictions(both, "/recurrent_ids.npy", "keras_bidirectional");
}

TEST(RecurrentWeights, ModelsComeBackToTheBit) {
  const TemporaryFolder temporary;
  const auto network = [] {
    return nn::Sequential{nn::Bidirectional(nn::LSTM(4, 3, {.return_sequences = true})), nn::GRU(6, 5, {.return_sequences = true}),
                          nn::GRU(5, 4, {.return_sequences = true, .dropout = 0.1, .reset_after = false}), nn::SimpleRNN(4, 2)};
  };
  for (const char* name : {"/model.safetensors", "/model.npz"}) {
    nn::Sequential one = network(), other = network();
    weights::save(one, temporary.path + name);
    weights::load(other, temporary.path + name);
    const Tensor x = random({3, 6, 4}, 1);
    EXPECT_EQ(one(x).to_vector<float>(), other(x).to_vector<float>());
  }
}

TEST(RecurrentWeights, WhatDoesNotFitAKerasFileIsNamed) {
  const std::string gru = "/keras_gru.weights.h5", both = "/keras_bidirectional.weights.h5";
  const weights::LoadOptions keras{.convention = Convention::keras};
  EXPECT_THAT(
      error_of_loading(gru_of_keras(false), gru),
      HasSubstr("[load] layer 'gru_1' has reset_after = false, but layer 'gru/cell' of the file has a bias [2,9]; build it with reset_after = "
                "true"));
  EXPECT_THAT(error_of_loading(gru_of_keras(true, true), gru),
              HasSubstr("[load] layer 'gru_2' has reset_after = true, but layer 'gru_1/cell' of the file has a bias [15]; build it with reset_after "
                        "= false"));
  EXPECT_THAT(error_of_loading(gru_of_keras(), changed(gru, "gru_1/cell/1"), keras),
              HasSubstr("[load] layer 'gru_2' needs '1', which layer 'gru_1/cell' of the file lacks"));
  EXPECT_THAT(error_of_loading(gru_of_keras(), changed(gru, "gru/cell/2", Tensor::zeros({DType::f32, {3, 9}})), keras),
              HasSubstr("[load] layer 'gru_1' has bias [9], but layer 'gru/cell' of the file has [3,9]"));
  EXPECT_THAT(error_of_loading(gru_of_keras(), changed(gru, "gru/cell/0", Tensor::zeros({DType::f32, {5, 9}})), keras),
              HasSubstr("[load] layer 'gru_1' has weight [4,9], but layer 'gru/cell' of the file has [5,9]"));
  EXPECT_THAT(error_of_loading(nn::Sequential{nn::GRU(4, 3), nn::GRU(3, 5, {.reset_after = false})}, gru),
              HasSubstr("[load] the file has 3 layers like 'gru/cell', the model 2"));
  EXPECT_THAT(error_of_loading(nn::Sequential{nn::GRU(4, 3, {.use_bias = false})}, gru),
              HasSubstr("[load] layer 'gru_1' has 2 weights, layer 'gru/cell' of the file 3; build it with the options of that layer"));
  EXPECT_THAT(error_of_loading(nn::Sequential{nn::LSTM(4, 3)}, gru),
              HasSubstr("[load] layer 'lstm_1' is the model's lstm number 1, but the file has 0"));
  EXPECT_THAT(error_of_loading(nn::Sequential{nn::Bidirectional(nn::GRU(4, 3))}, gru),
              HasSubstr("[load] layer 'bidirectional_1.gru_1' is the model's bidirectional number 1, but the file has 0"));
  EXPECT_THAT(error_of_loading(both_of_keras<nn::GRU>(), both),
              HasSubstr("[load] layer 'bidirectional_1.gru_1' is of kind gru, but layer 'bidirectional/forward_layer/cell' of the file of kind lstm, "
                        "by its recurrent weight [3,12]"));
  EXPECT_THAT(error_of_loading(nn::Sequential{nn::Embedding(9, 4), nn::LSTM(4, 3), nn::Dense(2, 2)}, both),
              HasSubstr("[load] layer 'lstm_1' is the model's lstm number 1, but the file has 0"));
  EXPECT_THAT(error_of_loading(nn::Sequential{nn::Dense(2, 2)}, {{"gru/cell/cells/0", random({1}, 1)}}, keras),
              HasSubstr("the file has weights of a layer 'gru/cell/cells', and layers of that name cannot be imported"));
}

TEST(RecurrentWeights, WhatDoesNotFitAPyTorchFileIsNamed) {
  const std::string gru = "/torch_gru.safetensors", lstm = "/torch_lstm.safetensors", rnn = "/torch_rnn.safetensors";
  const auto with = [](auto layer) { return nn::Sequential{layer, nn::Dense(3, 2)}; };
  EXPECT_THAT(error_of_loading(gru_of_torch({.return_sequences = true, .reset_after = false}), gru, torch),
              HasSubstr("[load] layer 'bidirectional_1.gru_1' has reset_after = false, but PyTorch's GRU resets after the recurrent weight; build it "
                        "with reset_after = true"));
  EXPECT_THAT(
      error_of_loading(with(nn::GRU(4, 3)), lstm, torch),
      HasSubstr("[load] layer 'gru_1' is of kind gru, but layer 'rnn' (l0) of the file of kind lstm, by its recurrent weight [3,12]; name the "
                "file's layers in the order of the model's in LoadOptions::layers"));
  EXPECT_THAT(error_of_loading(with(nn::LSTM(4, 3)), changed(lstm, "rnn.weight_hh_l0"), torch),
              HasSubstr("[load] layer 'lstm_1' needs 'weight_hh_l0', which layer 'rnn' (l0) of the file lacks; the nearest is 'weight_ih_l0'"));
  EXPECT_THAT(error_of_loading(with(nn::LSTM(4, 3)), changed(lstm, "rnn.bias_hh_l0"), torch),
              HasSubstr("[load] layer 'lstm_1' needs 'bias_hh_l0', which layer 'rnn' (l0) of the file lacks"))
      << "the bias is the sum of two";
  EXPECT_THAT(error_of_loading(with(nn::LSTM(4, 3)), changed(lstm, "rnn.bias_hh_l0", Tensor::zeros({DType::f32, {1}})), torch),
              HasSubstr("[load] layer 'lstm_1' has bias [12], but layer 'rnn' (l0) of the file has [1]"));
  EXPECT_THAT(error_of_loading(with(nn::LSTM(5, 3)), lstm, torch),
              HasSubstr("[load] layer 'lstm_1' has weight [5,12], but layer 'rnn' (l0) of the file has [4,12]"));
  EXPECT_THAT(error_of_loading(with(nn::LSTM(4, 3, {.use_bias = false})), lstm, torch),
              HasSubstr("[load] layer 'lstm_1' has 2 weights, layer 'rnn' (l0) of the file 4; build it with the options of that layer"));
  EXPECT_THAT(error_of_loading(with(nn::SimpleRNN(4, 3, {.use_bias = false})), rnn, torch),
              HasSubstr("[load] the model has 2 layers with weights, the file has 3, each level and direction of a recurrent one counted; name those "
                        "to take, in order, in LoadOptions::layers"));
  const nn::RecurrentOptions plain{.return_sequences = true, .use_bias = false};
  EXPECT_THAT(error_of_loading(nn::Sequential{nn::Bidirectional(nn::SimpleRNN(4, 3, plain)), nn::Dense(6, 2)}, rnn, torch),
              HasSubstr("[load] layer 'bidirectional_1.simple_rnn_2' is the second one of a Bidirectional, but layer 'rnn' (l1) of the file runs "
                        "forwards"));
}

/// Shapes alone would fit: a layer in both directions is no stack of two.
TEST(RecurrentWeights, DirectionsAreNotLevels) {
  const Tensor square = random({9, 3}, 1), row = random({9}, 2);
  weights::StateDict tensors;
  for (const std::string end : {"_l0", "_l0_reverse"})
    for (const auto& [name, tensor] : {std::pair{"rnn.weight_ih", square}, {"rnn.weight_hh", square}, {"rnn.bias_ih", row}, {"rnn.bias_hh", row}})
      tensors.emplace_back(name + end, tensor);
  nn::Sequential both{nn::Bidirectional(nn::GRU(3, 3))}, stack{nn::GRU(3, 3, {.return_sequences = true}), nn::GRU(3, 3)};
  weights::load_state_dict(both, tensors, torch);
  EXPECT_THAT(error_of_loading(stack, tensors, torch),
              HasSubstr("[load] layer 'gru_2' is not the second one of a Bidirectional, but layer 'rnn' (l0_reverse) of the file runs backwards"));
}

/// A dense layer after them has their features, whatever convolution is in front.
TEST(RecurrentWeights, NeedNoShapeOfAnImage) {
  nn::Sequential model{nn::Conv1D(4, 2, 3, Activation::none, {.padding = Padding::same()}), nn::LSTM(2, 3, {.return_sequences = true}), nn::Flatten(),
                       nn::Dense(18, 2)};
  const weights::StateDict tensors{{"0.weight", random({2, 4, 3}, 1)},     {"0.bias", random({2}, 2)},        {"1.weight_ih_l0", random({12, 2}, 3)},
                                   {"1.weight_hh_l0", random({12, 3}, 4)}, {"1.bias_ih_l0", random({12}, 5)}, {"1.bias_hh_l0", random({12}, 6)},
                                   {"2.weight", random({2, 18}, 7)},       {"2.bias", random({2}, 8)}};
  EXPECT_EQ(weights::load_state_dict(model, tensors, torch).loaded.size(), model.parameters().size());
}

}  // namespace
}  // namespace sinter::test::recurrent_weights_test
