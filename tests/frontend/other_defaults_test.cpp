// What summaries say of the defaults of Keras and PyTorch, against those that their signatures have: tests/fixtures/defaults.py.
#include "frontend/nn/other_defaults.h"

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "tests/frontend/helpers.h"

namespace sinter::test::other_defaults_test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

const json& fixture() {
  static const json read = [] {
    std::ifstream file(SINTER_TEST_FIXTURES "/defaults.json");
    return json::parse(file);
  }();
  return read;
}

/// A default as summaries write it.
std::string written(const json& value) {
  if (value.is_boolean()) return Setting("", value.get<bool>()).value;
  if (value.is_number()) return Setting("", value.get<double>()).value;
  return value.is_null() ? "null" : value.get<std::string>();
}

/// Where the other framework has it: a class and its parameter. `as` makes of it what it is called here.
struct Source {
  std::string type, parameter;
  std::string (*as)(const json&) = &written;
};

std::string window(const json& value) { return value.is_null() ? "the window" : "other"; }
std::string none_padded(const json& value) { return value == 0 ? "valid" : "other"; }
std::string kept_share(const json& value) { return str(1 - value.get<double>()); }
std::string first(const json& value) { return written(value[0]); }
std::string second(const json& value) { return written(value[1]); }
std::string by_keras_uniform(const json& value) {
  const json& bounds = fixture()["tried"]["keras uniform"];
  return value == "uniform" ? str("uniform(", bounds[0].get<double>(), ", ", bounds[1].get<double>(), ")") : "other";
}
std::string zero_if_zeros(const json& value) { return value == "Zeros" ? "0" : "other"; }
std::string exactly(const json& value) { return value == "none" ? "no" : "yes"; }

using Sources = std::map<std::pair<std::string, std::string>, Source>;

Sources keras_sources() {
  Sources sources{{{"batch_norm", "momentum"}, {"BatchNormalization", "momentum"}},
                  {{"batch_norm", "epsilon"}, {"BatchNormalization", "epsilon"}},
                  {{"layer_norm", "epsilon"}, {"LayerNormalization", "epsilon"}},
                  {{"group_norm", "epsilon"}, {"GroupNormalization", "epsilon"}},
                  {{"instance_norm", "epsilon"}, {"GroupNormalization", "epsilon"}},
                  {{"instance_norm", "scale"}, {"GroupNormalization", "scale"}},
                  {{"instance_norm", "center"}, {"GroupNormalization", "center"}},
                  {{"upsample", "interpolation"}, {"UpSampling2D", "interpolation"}},
                  {{"embedding", "weight"}, {"Embedding", "embeddings_initializer", by_keras_uniform}},
                  {{"leaky_relu", "slope"}, {"LeakyReLU", "negative_slope"}},
                  {{"elu", "alpha"}, {"ELU", "alpha"}},
                  {{"gelu", "approximate"}, {"gelu", "approximate"}},
                  {{"prelu", "slope"}, {"PReLU", "alpha_initializer", zero_if_zeros}},
                  {{"gru", "reset_after"}, {"GRU", "reset_after"}},
                  {{"lstm", "unit_forget_bias"}, {"LSTM", "unit_forget_bias"}},
                  {{"huber", "delta"}, {"Huber", "delta"}},
                  {{"adagrad", "initial_sum"}, {"Adagrad", "initial_accumulator_value"}}};
  for (const auto& [kind, type] :
       {std::pair{"dense", "Dense"}, {"conv1d", "Conv1D"}, {"conv2d", "Conv2D"}, {"conv2d_transpose", "Conv2DTranspose"}}) {
    sources[{kind, "weight"}] = {type, "kernel_initializer"};
    sources[{kind, "bias"}] = {type, "bias_initializer"};
    sources[{kind, "padding"}] = {type, "padding"};
  }
  for (const auto& [kind, type] : {std::pair{"max_pool1d", "MaxPooling1D"},
                                   {"max_pool2d", "MaxPooling2D"},
                                   {"average_pool1d", "AveragePooling1D"},
                                   {"average_pool2d", "AveragePooling2D"}}) {
    sources[{kind, "strides"}] = {type, "strides", window};
    sources[{kind, "padding"}] = {type, "padding"};
  }
  for (const auto& [kind, type] : {std::pair{"simple_rnn", "SimpleRNN"}, {"gru", "GRU"}, {"lstm", "LSTM"}}) {
    sources[{kind, "activation"}] = {type, "activation"};
    sources[{kind, "recurrent_activation"}] = {type, "recurrent_activation"};
    sources[{kind, "weight"}] = {type, "kernel_initializer"};
    sources[{kind, "recurrent_weight"}] = {type, "recurrent_initializer"};
    sources[{kind, "bias"}] = {type, "bias_initializer"};
  }
  for (const auto& [kind, type] : {std::pair{"sgd", "SGD"},
                                   {"rmsprop", "RMSprop"},
                                   {"adagrad", "Adagrad"},
                                   {"adadelta", "Adadelta"},
                                   {"adam", "Adam"},
                                   {"adamw", "AdamW"},
                                   {"nadam", "Nadam"},
                                   {"lion", "Lion"}}) {
    for (const char* name : {"learning_rate", "momentum", "nesterov", "rho", "epsilon", "amsgrad", "weight_decay"})
      sources[{kind, name}] = {type, name};
    sources[{kind, "beta1"}] = {type, "beta_1"};
    sources[{kind, "beta2"}] = {type, "beta_2"};
  }
  for (const char* suffix : {"", "_from_logits"})
    for (const auto& [loss, type] : {std::pair{"categorical_crossentropy", "CategoricalCrossentropy"},
                                     {"sparse_categorical_crossentropy", "SparseCategoricalCrossentropy"},
                                     {"binary_crossentropy", "BinaryCrossentropy"}})
      sources[{std::string(loss) + suffix, "from_logits"}] = {type, "from_logits"};
  return sources;
}

Sources pytorch_sources() {
  Sources sources{{{"batch_norm", "momentum"}, {"BatchNorm1d", "momentum", kept_share}},
                  {{"batch_norm", "epsilon"}, {"BatchNorm1d", "eps"}},
                  {{"layer_norm", "epsilon"}, {"LayerNorm", "eps"}},
                  {{"group_norm", "epsilon"}, {"GroupNorm", "eps"}},
                  {{"instance_norm", "epsilon"}, {"InstanceNorm2d", "eps"}},
                  {{"instance_norm", "scale"}, {"InstanceNorm2d", "affine"}},
                  {{"instance_norm", "center"}, {"InstanceNorm2d", "affine"}},
                  {{"upsample", "interpolation"}, {"Upsample", "mode"}},
                  {{"leaky_relu", "slope"}, {"LeakyReLU", "negative_slope"}},
                  {{"elu", "alpha"}, {"ELU", "alpha"}},
                  {{"gelu", "approximate"}, {"GELU", "approximate", exactly}},
                  {{"prelu", "slope"}, {"PReLU", "init"}},
                  {{"huber", "delta"}, {"HuberLoss", "delta"}},
                  {{"rmsprop", "rho"}, {"RMSprop", "alpha"}},
                  {{"adagrad", "initial_sum"}, {"Adagrad", "initial_accumulator_value"}}};
  for (const auto& [kind, type] : {std::pair{"conv1d", "Conv1d"}, {"conv2d", "Conv2d"}, {"conv2d_transpose", "ConvTranspose2d"}})
    sources[{kind, "padding"}] = {type, "padding", none_padded};
  for (const auto& [kind, type] :
       {std::pair{"max_pool1d", "MaxPool1d"}, {"max_pool2d", "MaxPool2d"}, {"average_pool1d", "AvgPool1d"}, {"average_pool2d", "AvgPool2d"}}) {
    sources[{kind, "strides"}] = {type, "stride", window};
    sources[{kind, "padding"}] = {type, "padding", none_padded};
    sources[{kind, "counts padding"}] = {type, "count_include_pad"};
  }
  for (const auto& [kind, type] : {std::pair{"sgd", "SGD"},
                                   {"rmsprop", "RMSprop"},
                                   {"adagrad", "Adagrad"},
                                   {"adadelta", "Adadelta"},
                                   {"adam", "Adam"},
                                   {"adamw", "AdamW"},
                                   {"nadam", "NAdam"}}) {
    for (const char* name : {"momentum", "nesterov", "amsgrad", "weight_decay", "momentum_decay"}) sources[{kind, name}] = {type, name};
    sources[{kind, "learning_rate"}] = {type, "lr"};
    sources[{kind, "epsilon"}] = {type, "eps"};
    sources[{kind, "beta1"}] = {type, "betas", first};
    sources[{kind, "beta2"}] = {type, "betas", second};
  }
  sources[{"adadelta", "rho"}] = {"Adadelta", "rho"};
  return sources;
}

/// What no signature says, and what settles it: whether it is so by defaults.json.
using Tried = std::map<std::pair<std::string, std::string>, bool>;

bool is_uniform(const char* layer, const char* weight) {
  const json& spread = fixture()["tried"]["torch spreads"][layer][weight];
  return std::abs(spread[0].get<double>() - 1) < 0.02 && std::abs(spread[1].get<double>() - std::sqrt(1.0 / 3)) < 0.05;
}

Tried pytorch_tried() {
  const json& tried = fixture()["tried"];
  Tried result;
  for (const auto& [kind, layer] :
       {std::pair{"dense", "linear"}, {"conv1d", "conv1d"}, {"conv2d", "conv2d"}, {"conv2d_transpose", "conv_transpose2d"}})
    for (const char* weight : {"weight", "bias"}) result[{kind, weight}] = is_uniform(layer, weight);
  for (const auto& [kind, layer] : {std::pair{"simple_rnn", "rnn"}, {"gru", "gru"}, {"lstm", "lstm"}})
    for (const char* weight : {"weight", "recurrent_weight", "bias"}) result[{kind, weight}] = is_uniform(layer, weight);
  const auto near = [](const json& value, double wanted) { return std::abs(value.get<double>() - wanted) < 0.02; };
  result[{"embedding", "weight"}] = near(tried["torch embedding"][0], 0) && near(tried["torch embedding"][1], 1);
  result[{"batch_norm", "running variance over"}] = near(tried["torch running variance of 0 and 2"], 2);
  result[{"kl_divergence", "mean over"}] = near(tried["torch mean KL divergence over that of samples"], 0.5);  // of two classes
  for (const char* loss : {"categorical_crossentropy", "sparse_categorical_crossentropy"})
    for (const char* suffix : {"", "_from_logits"})  // the mean weight is 2
      result[{std::string(loss) + suffix, "weighted mean over"}] = near(tried["torch weighted cross-entropy over the weighted mean of samples"], 0.5);
  return result;
}

/// What is known of the other framework by its formula, as docs/reference.md and the fixtures of optimizers and losses have it.
const std::vector<std::pair<std::string, std::string>> keras_formulas{
    {"rmsprop", "epsilon_outside"}, {"average_pool1d", "counts padding"}, {"average_pool2d", "counts padding"}, {"kl_divergence", "mean over"}};
const std::vector<std::pair<std::string, std::string>> pytorch_formulas{{"rmsprop", "epsilon_outside"},
                                                                        {"simple_rnn", "activation"},
                                                                        {"gru", "activation"},
                                                                        {"lstm", "activation"},
                                                                        {"gru", "recurrent_activation"},
                                                                        {"lstm", "recurrent_activation"},
                                                                        {"gru", "reset_after"},
                                                                        {"lstm", "unit_forget_bias"},
                                                                        {"categorical_crossentropy", "from_logits"},
                                                                        {"categorical_crossentropy_from_logits", "from_logits"},
                                                                        {"sparse_categorical_crossentropy", "from_logits"},
                                                                        {"sparse_categorical_crossentropy_from_logits", "from_logits"}};

std::string without_note(std::string_view text) { return std::string(text.substr(0, text.find(" ("))); }

TEST(OtherDefaults, AreThoseOfTheVersionsThatTheySay) {
  EXPECT_EQ(fixture()["versions"]["keras"], nn::keras_version);
  EXPECT_EQ(fixture()["versions"]["torch"], nn::pytorch_version);
}

TEST(OtherDefaults, EachIsTheOtherFrameworks) {
  Sources keras = keras_sources(), pytorch = pytorch_sources();
  Tried pytorch_trials = pytorch_tried(), keras_trials;
  keras_trials[{"batch_norm", "running variance over"}] = fixture()["tried"]["keras running variance of 0 and 2"] == 1.0;
  for (const char* loss : {"categorical_crossentropy", "sparse_categorical_crossentropy"})
    for (const char* suffix : {"", "_from_logits"})
      keras_trials[{std::string(loss) + suffix, "weighted mean over"}] =
          fixture()["tried"]["keras weighted cross-entropy over the weighted mean of samples"] == 1.0;
  const auto check = [](std::string_view said, const std::pair<std::string, std::string>& key, const json& all, const Sources& sources,
                        const Tried& tried, const auto& formulas) {
    SCOPED_TRACE(key.first + " " + key.second);
    const auto trial = tried.find(key);
    const auto source = sources.find(key);
    if (trial != tried.end()) {
      EXPECT_TRUE(trial->second);
      EXPECT_NE(said, "");
    } else if (source != sources.end() && all.at(source->second.type).contains(source->second.parameter)) {
      EXPECT_EQ(without_note(said), source->second.as(all[source->second.type][source->second.parameter]));
    } else if (said != "") {
      EXPECT_THAT(formulas, testing::Contains(key)) << "nothing checks that it is " << said;
    }
  };
  EXPECT_GT(nn::all_other_defaults().size(), 80u);
  for (const nn::OtherDefault& one : nn::all_other_defaults()) {
    const std::pair<std::string, std::string> key{one.of, one.setting};
    check(one.keras, key, fixture()["keras"], keras, keras_trials, keras_formulas);
    check(one.pytorch, key, fixture()["torch"], pytorch, pytorch_trials, pytorch_formulas);
  }
}

TEST(OtherDefaults, OnlyDifferencesAreSaid) {
  EXPECT_EQ(nn::other_defaults("batch_norm", {{"momentum", 0.9}, {"epsilon", 1e-5}}), "Keras: momentum 0.99, epsilon 0.001");
  EXPECT_EQ(nn::other_defaults("batch_norm", {{"momentum", 0.99}, {"epsilon", 1e-3}}), "PyTorch: momentum 0.9 (its momentum 0.1), epsilon 1e-05");
  EXPECT_EQ(nn::other_defaults("instance_norm", nn::InstanceNorm(2).settings()),
            "Keras: epsilon 0.001 (GroupNormalization of groups=-1); PyTorch: scale no (affine=False), center no (affine=False)");
  EXPECT_EQ(nn::other_defaults("elu", {{"alpha", 1}}), "");
  EXPECT_EQ(nn::other_defaults("of my own", {{"alpha", 2}}), "");
  EXPECT_EQ(nn::other_defaults("dense", {{"bias", "none"}}), "");  // there is none to begin in another way
}

}  // namespace
}  // namespace sinter::test::other_defaults_test
