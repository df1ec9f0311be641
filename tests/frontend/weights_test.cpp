// Weights from and for Python: tests/fixtures/weights.py wrote the files with the Python libraries.
#include <bit>
#include <cmath>
#include <filesystem>

#include "frontend/data/npz.h"
#include "frontend/data/safetensors.h"
#include "tests/frontend/helpers.h"
#include "tests/support/bytes.h"

namespace sinter::test::weights_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

const std::string folder = SINTER_TEST_FIXTURES;

Tensor find(const weights::StateDict& tensors, const std::string& name) {
  for (const auto& [own, tensor] : tensors)
    if (own == name) return tensor;
  throw UserError("test", "no " + name);
}

void expect_types(const weights::StateDict& tensors) {
  EXPECT_THAT(find(tensors, "i").to_vector<std::int32_t>(), ElementsAre(-3, 7));
  EXPECT_THAT(find(tensors, "u").to_vector<std::uint32_t>(), ElementsAre(1u, 4000000000u));
  EXPECT_THAT(find(tensors, "bytes").to_vector<std::uint8_t>(), ElementsAre(1, 255));
  EXPECT_EQ(find(tensors, "truth").type(), (Type{DType::boolean, {3}}));
  EXPECT_THAT(find(tensors, "double").to_vector<float>(), ElementsAre(0.1f, -2.5f));
  EXPECT_THAT(find(tensors, "long").to_vector<std::int32_t>(), ElementsAre(5, -6));
}

nn::Sequential network(double epsilon) {
  return nn::Sequential{nn::Dense(12, 9, nn::Activation::relu),
                        nn::BatchNorm(9, {.epsilon = epsilon}),
                        nn::Dropout(0.5),
                        nn::Dense(9, 5),
                        nn::LayerNorm(5, {.epsilon = epsilon}),
                        nn::Dense(5, 3, nn::Activation::none, {.use_bias = false})};
}

void expect_predictions(const Tensor& got, const std::string& file) {
  const auto wanted = data::npy(folder + file).to_vector<float>(), values = got.to_vector<float>();
  ASSERT_EQ(values.size(), wanted.size());
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(values[i], wanted[i], 1e-5 * std::max(1.0f, std::abs(wanted[i])));
}

TEST(Safetensors, ReadsAndWritesWhatPythonDoes) {
  const TemporaryFolder temporary;
  const std::string file = folder + "/plain.safetensors", copy = temporary.path + "/copy.safetensors";
  weights::write(copy, weights::read(file));
  EXPECT_EQ(read_bytes(copy), read_bytes(file));
  const auto types = weights::read(folder + "/types.safetensors");
  expect_types(types);
  EXPECT_THAT(find(types, "half").to_vector<float>(), ElementsAre(1.5f, -0.0999755859375f, 5.9604645e-8f, INFINITY));
  EXPECT_THAT(find(weights::read(folder + "/bfloat.safetensors"), "bfloat").to_vector<float>(), ElementsAre(1.5f, -3.0f));
}

TEST(Npz, ReadsAndWritesWhatPythonDoes) {
  const TemporaryFolder temporary;
  const std::string copy = temporary.path + "/copy.npz";
  const auto plain = weights::read(folder + "/plain.npz"), same = weights::read(folder + "/plain.safetensors");
  ASSERT_EQ(plain.size(), same.size());
  weights::write(copy, plain);
  for (const auto& [name, tensor] : same)
    for (const auto& from : {plain, weights::read(copy)}) {
      EXPECT_EQ(find(from, name).shape(), tensor.shape());
      EXPECT_EQ(find(from, name).to_vector<float>(), tensor.to_vector<float>());
    }
  const auto types = weights::read(folder + "/types.npz");
  expect_types(types);
  EXPECT_EQ(sum(find(types, "zeros")).item(), 0);
}

TEST(Weights, ModelsComeBackToTheBit) {
  const TemporaryFolder temporary;
  for (const char* name : {"/model.safetensors", "/model.npz"}) {
    nn::Sequential one = network(1e-5), other = network(1e-5);
    weights::save(one, temporary.path + name);
    EXPECT_NE(one.parameters()[0].read().to_vector<float>(), other.parameters()[0].read().to_vector<float>());
    weights::load(other, temporary.path + name);
    const Tensor x = random({5, 12}, 1);
    EXPECT_EQ(one(x).to_vector<float>(), other(x).to_vector<float>());
  }
}

TEST(Weights, KerasFilesLoadAndPredict) {
  nn::Sequential dense = network(1e-3);
  weights::load(dense, folder + "/keras_dense.weights.h5");
  expect_predictions(dense(data::npy(folder + "/weights_x.npy")), "/keras_dense_y.npy");
  nn::Sequential words{nn::Embedding(20, 6), nn::Lambda([](const Tensor& x) { return mean(x, {1}); }), nn::Dense(6, 2)};
  weights::load(words, folder + "/keras_words.weights.h5");
  expect_predictions(words(data::npy(folder + "/weights_ids.npy")), "/keras_words_y.npy");
}

TEST(Weights, PyTorchFilesLoadAndPredict) {
  nn::Sequential model = network(1e-5);
  weights::load(model, folder + "/torch.safetensors", {.convention = weights::Convention::pytorch});
  expect_predictions(model(data::npy(folder + "/weights_x.npy")), "/torch_y.npy");
  nn::Sequential named = network(1e-5);
  weights::load(named, folder + "/torch.safetensors", {.convention = weights::Convention::pytorch, .layers = {"0", "2", "3", "4", "5"}});
  EXPECT_EQ(named.parameters()[0].read().to_vector<float>(), model.parameters()[0].read().to_vector<float>());
}

nn::Sequential image_network(Padding first, PoolOptions pool, double epsilon, std::int64_t features) {
  return nn::Sequential{nn::Conv2D(2, 6, {3}, nn::Activation::relu, {.strides = {2}, .padding = std::move(first)}),
                        nn::BatchNorm(6, {.epsilon = epsilon}),
                        nn::MaxPool2D({2}, std::move(pool)),
                        nn::Conv2DTranspose(6, 4, {3, 2}, nn::Activation::none, {.strides = {2}}),
                        nn::AveragePool2D({2, 1}, {.padding = epsilon > 1e-4 ? Padding::same() : Padding::around({1, 0})}),
                        nn::Conv2D(4, 4, {2, 1}, nn::Activation::none, {.groups = 2}),
                        nn::Flatten(),
                        nn::Dense(features, 3)};
}

TEST(Weights, ImageNetworksOfKerasAndPyTorchLoadAndPredict) {
  const Tensor x = data::npy(folder + "/image_x.npy");
  nn::Sequential keras = image_network(Padding::same(), {.padding = Padding::same()}, 1e-3, 48);
  weights::load(keras, folder + "/keras_image.weights.h5");
  expect_predictions(keras(x), "/keras_image_y.npy");
  nn::Sequential torch = image_network(Padding::around({1, 1}), {}, 1e-5, 32);
  const weights::LoadOptions options{.convention = weights::Convention::pytorch, .flattened = {{"dense_1", {2, 4, 4}}}};
  weights::load(torch, folder + "/torch_image.safetensors", options);
  expect_predictions(torch(x), "/torch_image_y.npy");
  weights::LoadOptions wrong = options;
  wrong.flattened[0].second = {3, 3, 3};
  EXPECT_THAT(error_of([&] { weights::load(torch, folder + "/torch_image.safetensors", wrong); }),
              HasSubstr("the image that layer 'dense_1' has flattened must be [H, W, C] of "));
}

/// Of group and instance normalizations, which Keras's files give one name: tests/fixtures/image_layers.py wrote them.
TEST(Weights, GroupNormsOfKeras3And2LoadAndPredict) {
  for (const char* file : {"/keras_norms.weights.h5", "/keras2_norms.h5"}) {
    SCOPED_TRACE(file);
    nn::Sequential model{nn::Conv2D(2, 6, {3}),
                         nn::GroupNorm(3, 6, {.epsilon = 1e-3}),
                         nn::LayerNorm(6, {.epsilon = 1e-3}),
                         nn::Upsample({2, 3}, Interpolation::bilinear),
                         nn::InstanceNorm(6, {.epsilon = 1e-3}),
                         nn::GroupNorm(2, 6, {.epsilon = 1e-3}),
                         nn::AdaptiveAveragePool2D({3, 4}),
                         nn::Flatten(),
                         nn::Dense(72, 3)};
    weights::load(model, folder + file);
    expect_predictions(model(data::npy(folder + "/image_x.npy")), "/keras_norms_y.npy");
    nn::Sequential other{nn::Conv2D(2, 6, {3}), nn::GroupNorm(3, 6), nn::LayerNorm(6), nn::LayerNorm(6), nn::GroupNorm(2, 6), nn::Dense(72, 3)};
    EXPECT_THAT(error_of([&] { weights::load(other, folder + file); }),
                HasSubstr("layer 'layer_norm_2' is the model's layer_normalization number 2, but the file has 1"));
  }
}

TEST(Weights, GroupNormsOfPyTorchLoadAndPredict) {
  nn::Sequential model{nn::Conv2D(2, 6, {3}),
                       nn::GroupNorm(3, 6),
                       nn::Upsample({2}),
                       nn::InstanceNorm(6),
                       nn::InstanceNorm(6, {.scale = false, .center = false}),
                       nn::AdaptiveMaxPool2D({4, 3}),
                       nn::Flatten(),
                       nn::Dense(72, 3)};
  weights::load(model, folder + "/torch_norms.safetensors", {.convention = weights::Convention::pytorch, .flattened = {{"dense_1", {4, 3, 6}}}});
  expect_predictions(model(data::npy(folder + "/image_x.npy")), "/torch_norms_y.npy");
}

/// Names of PyTorch, in the order of the alphabet: norms before convolutions.
weights::StateDict torch_convolutions() {
  weights::StateDict tensors;
  for (const int i : {1, 2})
    for (const auto& [name, value] : {std::pair{"weight", 1.0}, {"bias", 2.0}, {"running_mean", 3.0}, {"running_var", 4.0}})
      tensors.emplace_back(str("bn", i, ".", name), Tensor::filled({DType::f32, {4}}, value + 10 * i));
  tensors.emplace_back("conv1.weight", random({4, 3, 3, 3}, 1));
  tensors.emplace_back("conv2.weight", random({4, 4, 3, 3}, 2));
  tensors.emplace_back("fc.weight", random({2, 64}, 3));
  tensors.emplace_back("fc.bias", random({2}, 4));
  return tensors;
}

nn::Sequential convolutions() {
  const nn::ConvolutionOptions plain{.padding = Padding::same(), .use_bias = false};
  return nn::Sequential{nn::Conv2D(3, 4, {3}, Activation::none, plain),
                        nn::BatchNorm(4),
                        nn::ReLU(),
                        nn::Conv2D(4, 4, {3}, Activation::none, plain),
                        nn::BatchNorm(4),
                        nn::Flatten(),
                        nn::Dense(64, 2)};
}

TEST(Weights, PyTorchsConvolutionsAndNormsAreFoundWhateverTheirNames) {
  nn::Sequential model = convolutions();
  const weights::LoadOptions options{.convention = weights::Convention::pytorch, .flattened = {{"dense_1", {4, 4, 4}}}};
  weights::load_state_dict(model, torch_convolutions(), options);
  EXPECT_THAT(model.parameter("batch_norm_1.gamma").read().to_vector<float>(), testing::Each(11));
  EXPECT_THAT(model.parameter("batch_norm_2.running_variance").read().to_vector<float>(), testing::Each(24));
  const std::vector<float> kernel = model.parameter("conv2d_2.weight").read().to_vector<float>(),
                           torch = find(torch_convolutions(), "conv2.weight").to_vector<float>();
  EXPECT_EQ(kernel[1], torch[4 * 9]) << "[out, in, 3, 3] as [3, 3, in, out]";
}

TEST(Weights, WhatPyTorchsOrderLeavesOpenMustBeSaid) {
  nn::Sequential model = convolutions();
  const auto fails = [&](weights::LoadOptions options, weights::StateDict tensors = torch_convolutions()) {
    options.convention = weights::Convention::pytorch;
    return error_of([&] { weights::load_state_dict(model, tensors, options); });
  };
  EXPECT_THAT(fails({}),
              HasSubstr("layer 'dense_1' has 64 inputs after 'conv2d_2' of 4 features: PyTorch flattens [C, H, W], the model [H, W, C]. Give the "
                        "shape of the image: LoadOptions{.flattened = {{\"dense_1\", {H, W, 4}}}}"));
  EXPECT_THAT(fails({.flattened = {{"dense_2", {4, 4, 4}}}}),
              HasSubstr("LoadOptions::flattened names 'dense_2', which is no dense layer of the model; the nearest is 'dense_1'"));
  weights::StateDict other = torch_convolutions();
  other[other.size() - 3].second = random({4, 4, 5, 5}, 1);
  EXPECT_THAT(fails({.flattened = {{"dense_1", {4, 4, 4}}}}, other),
              HasSubstr("; name the file's layers in the order of the model's in LoadOptions::layers"));
  EXPECT_THAT(error_of([&] { weights::load_state_dict(model, weights::state_dict(model), {.flattened = {{"dense_1", {4, 4, 4}}}}); }),
              HasSubstr("LoadOptions::layers and flattened are for files of PyTorch; leave them out, or set convention to Convention::pytorch"));
}

TEST(Weights, WhatDoesNotFitIsNamed) {
  const auto fails = [](nn::Sequential model, const std::string& file, weights::LoadOptions options = {}) {
    const auto before = model.parameters()[0].read().to_vector<float>();
    const std::string error = error_of([&] { weights::load(model, folder + file, options); });
    EXPECT_EQ(model.parameters()[0].read().to_vector<float>(), before) << "nothing is assigned";
    return error;
  };
  const weights::LoadOptions torch{.convention = weights::Convention::pytorch};
  EXPECT_THAT(fails(nn::Sequential{nn::Dense(12, 8)}, "/torch.safetensors", torch), HasSubstr("the model has 1 layers with weights, the file has 5"));
  EXPECT_THAT(fails(nn::Sequential{nn::Dense(12, 8)}, "/torch.safetensors", {.convention = weights::Convention::pytorch, .layers = {"0"}}),
              HasSubstr("layer 'dense_1' has weight [12,8], but layer '0' of the file has [12,9]"));
  EXPECT_THAT(fails(nn::Sequential{nn::Dense(12, 9)}, "/torch.safetensors", {.convention = weights::Convention::pytorch, .layers = {"O"}}),
              HasSubstr("the file has no layer 'O'; the nearest is '0'"));
  EXPECT_THAT(fails(nn::Sequential{nn::Dense(12, 9), nn::Dense(9, 5)}, "/keras_words.weights.h5"),
              HasSubstr("layer 'dense_1' has weight [12,9], but layer 'dense' of the file has [6,2]"));
  EXPECT_THAT(fails(nn::Sequential{nn::Dense(6, 2), nn::Dense(9, 5)}, "/keras_words.weights.h5"),
              HasSubstr("layer 'dense_2' is the model's dense number 2, but the file has 1"));
  EXPECT_THAT(fails(nn::Sequential{nn::Dense(6, 3)}, "/keras_words.weights.h5"), Not(HasSubstr("LoadOptions::layers"))) << "these are for PyTorch";
  EXPECT_THAT(fails(nn::Sequential{nn::Dense(4, 3)}, "/plain.safetensors"),
              HasSubstr("'a.weight' belongs to no parameter; the nearest is 'dense_1.weight'"));
  const TemporaryFolder temporary;
  nn::Sequential model{nn::Dense(4, 3)};
  weights::write(temporary.path + "/some.npz", {{"dense_1.weight", Tensor::zeros({DType::f32, {3, 4}})}});
  EXPECT_THAT(error_of([&] { weights::load(model, temporary.path + "/some.npz"); }),
              HasSubstr("'dense_1.weight' is f32[3,4] in the file but f32[4,3] in the model"));
  weights::write(temporary.path + "/some.npz", {{"dense_1.weight", Tensor::zeros({DType::f32, {4, 3}})}});
  EXPECT_THAT(error_of([&] { weights::load(model, temporary.path + "/some.npz"); }),
              HasSubstr("there is no 'dense_1.bias'; the nearest is 'dense_1.weight'; load with partial = true"));
  weights::load(model, temporary.path + "/some.npz", {.partial = true});
  EXPECT_EQ(sum(abs(model.parameters()[0])).item(), 0);
  EXPECT_THAT(error_of([&] { weights::save(model, temporary.path + "/model.txt"); }), HasSubstr("weights are written to .safetensors or .npz files"));
}

TEST(Weights, WhatBelongsToNoParameterMustBePermitted) {
  const auto tensors = [](std::vector<std::string> names) {
    weights::StateDict all;
    for (const std::string& name : names) all.emplace_back(name, Tensor::zeros({DType::f32, name.ends_with("bias") ? Shape{3} : Shape{4, 3}}));
    return all;
  };
  nn::Sequential model{nn::Dense(4, 3)};
  const std::vector<float> before = model.parameter("dense_1.weight").read().to_vector<float>();
  const auto fails = [&](const weights::StateDict& given, const weights::LoadOptions& options) {
    const std::string error = error_of([&] { weights::load_state_dict(model, given, options); });
    EXPECT_EQ(model.parameter("dense_1.weight").read().to_vector<float>(), before);
    return error;
  };
  EXPECT_EQ(fails(tensors({"net.dense_1.weight"}), {.partial = true}),
            "[load] 'net.dense_1.weight' belongs to no parameter; the nearest is 'dense_1.weight'; rename it, or permit it by allow_unused");
  EXPECT_EQ(fails(tensors({"net.dense_1.weight", "net.dense_1.bias"}), {.partial = true, .allow_unused = {"*"}}),
            "[load] none of the 2 tensors belongs to a parameter: the first is 'net.dense_1.weight', the model's first parameter 'dense_1.weight'; "
            "rename them");
  EXPECT_THAT(fails(tensors({"dense_1.weight", "dense_1.bias", "head.weight", "tail.weight"}), {.allow_unused = {"head.*"}}),
              HasSubstr("'tail.weight' belongs to no parameter"));
  EXPECT_EQ(fails(tensors({"dense_1.weight", "dense_1.bias", "dense_1.weight"}), {}),
            "[load] 'dense_1.weight' is there twice; give each tensor its own name");

  const weights::LoadResult result =
      weights::load_state_dict(model, tensors({"head.weight", "dense_1.weight"}), {.partial = true, .allow_unused = {"head.*"}});
  EXPECT_THAT(result.loaded, ElementsAre("dense_1.weight"));
  EXPECT_THAT(result.kept, ElementsAre("dense_1.bias"));
  EXPECT_THAT(result.unused, ElementsAre("head.weight"));
  EXPECT_EQ(model.parameter("dense_1.weight").read().to_vector<float>(), std::vector<float>(12));
}

/// A classifier's head is left out; what the other framework has no counterpart of, the draws of a dropout, is kept.
TEST(Weights, PartsOfAPyTorchFileCanBeLeftOut) {
  nn::Sequential model{nn::Dense(2, 3), nn::Dropout(0.5)};
  const weights::StateDict tensors{{"fc1.weight", Tensor::zeros({DType::f32, {3, 2}})},
                                   {"fc1.bias", Tensor::zeros({DType::f32, {3}})},
                                   {"head.weight", Tensor::zeros({DType::f32, {7, 3}})}};
  const auto options = [](std::vector<std::string> unused) {
    return weights::LoadOptions{.convention = weights::Convention::pytorch, .allow_unused = std::move(unused)};
  };
  EXPECT_THAT(error_of([&] { weights::load_state_dict(model, tensors, options({})); }), HasSubstr("the file has 2"));
  const weights::LoadResult result = weights::load_state_dict(model, tensors, options({"head.*"}));
  EXPECT_THAT(result.loaded, ElementsAre("dense_1.weight", "dense_1.bias"));
  EXPECT_EQ(result.kept.size(), model.parameters().size() - 2);
  EXPECT_THAT(result.unused, ElementsAre("head.weight"));
}

/// As BatchNorm of PyTorch saves it: an int64 scalar beside the averages. It has no counterpart, whether or not the order of the names is the
/// model's.
TEST(Weights, CountersOfBatchesInPyTorchFilesAreNoWeights) {
  nn::Sequential from{nn::Conv2D(2, 3, {1}), nn::BatchNorm(3)}, to{nn::Conv2D(2, 3, {1}), nn::BatchNorm(3)};
  const auto parameter = [&](const char* name) { return from.parameter(name).read(); };
  weights::StateDict tensors{{"conv1.weight", reshape(parameter("conv2d_1.weight"), {3, 2, 1, 1})},
                             {"conv1.bias", parameter("conv2d_1.bias") + 1},
                             {"bn1.weight", parameter("batch_norm_1.gamma") * 2},
                             {"bn1.bias", parameter("batch_norm_1.beta")},
                             {"bn1.running_mean", parameter("batch_norm_1.running_mean")},
                             {"bn1.running_var", parameter("batch_norm_1.running_variance")},
                             {"bn1.num_batches_tracked", Tensor(7.0f)}};
  weights::load_state_dict(to, tensors, {.convention = weights::Convention::pytorch});
  EXPECT_EQ(to.parameter("conv2d_1.bias").read().to_vector<float>(), (std::vector<float>{1, 1, 1}));
  EXPECT_EQ(to.parameter("batch_norm_1.gamma").read().to_vector<float>(), (std::vector<float>{2, 2, 2}));
}

TEST(Weights, KerasLayersOfOtherKindsAreRefused) {
  nn::Sequential model{nn::Dense(1, 1)};
  const Tensor one = Tensor::filled({DType::f32, {1, 1}}, 1);
  const auto load = [&](const std::string& extra) {
    weights::load_state_dict(model, {{"dense/0", one}, {"dense/1", reshape(one, {1})}, {extra, one}}, {.convention = weights::Convention::keras});
  };
  for (const std::string layer : {"normalization", "densely", "dense_x", "bidirectional/layer/cell"})
    EXPECT_THAT(error_of([&] { load(layer + "/0"); }), HasSubstr("[load] the file has weights of a layer '" + layer +
                                                                 "', and layers of that name cannot be imported; read the file with weights::read"));
  EXPECT_EQ(sum(abs(model.parameter("dense_1.bias"))).item(), 0) << "nothing is assigned";
}

TEST(Safetensors, DamagedFilesAreRefused) {
  const TemporaryFolder temporary;
  const std::string path = temporary.path + "/bad.safetensors", good = read_bytes(folder + "/plain.safetensors");
  const auto with = [&](const std::string& bytes) {
    write_bytes(path, bytes);
    return error_of([&] { weights::read(path); });
  };
  const auto file = [](const std::string& header, std::size_t tensors) { return little_endian(header.size()) + header + std::string(tensors, '\0'); };
  EXPECT_THAT(with("abc"), HasSubstr("has 3 bytes, too few for a safetensors file"));
  EXPECT_THAT(with(std::string(8, '\xff') + "{}"), HasSubstr("is this a safetensors file?"));
  EXPECT_THAT(with(file("[]", 0)), HasSubstr("the header is no JSON object"));
  EXPECT_THAT(with(file("{\"a\":", 0)), HasSubstr("the header is damaged"));
  EXPECT_THAT(with(file(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", 8)), HasSubstr("do not fit each other"));
  EXPECT_THAT(with(file(R"({"a":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,0]}})", 8)), HasSubstr("do not fit each other"));
  EXPECT_THAT(with(file(R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", 8)), HasSubstr("must be whole numbers from 0 to"));
  for (const char* number : {"1.0", "1e40", "9223372036854775808", "true", "null", "\"1\""}) {
    EXPECT_THAT(with(file(str(R"({"a":{"dtype":"F32","shape":[)", number, R"(],"data_offsets":[0,4]}})"), 8)),
                HasSubstr(", a] shape and offsets must be whole numbers from 0 to 9223372036854775807, got "));
    EXPECT_THAT(with(file(str(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,)", number, "]}}"), 8)), HasSubstr("must be whole numbers"));
  }
  EXPECT_THAT(with(file(R"({"a":{"dtype":"C64","shape":[1],"data_offsets":[0,8]}})", 8)), HasSubstr("element type C64 is not supported"));
  EXPECT_THAT(with(file(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"b":{"dtype":"F32","shape":[1],"data_offsets":[2,6]}})", 8)),
              HasSubstr("tensors 'a' and 'b' overlap"));
  EXPECT_THAT(with(file(R"({"a":{"dtype":"BOOL","shape":[1],"data_offsets":[0,1]}})", 0) + "\2"), HasSubstr("holds a bool that is neither 0 nor 1"));
}

TEST(Npz, SaysWhatItCannotWrite) {
  EXPECT_THAT(error_of([] { data::write_npz("/nowhere/at/all.npz", {{"a", {DType::f32, {0}, {}}}}); }), HasSubstr("[/nowhere/at/all.npz]"));
}

TEST(Weights, AFileOfOurOwnHasTheNamesOfTheParameters) {
  const TemporaryFolder temporary;
  const std::string path = temporary.path + "/own.safetensors";
  nn::Sequential one{nn::Dense(3, 2)}, other{nn::Dense(3, 2)};
  weights::save(one, path);
  EXPECT_THAT(weights::load(other, path, {.convention = weights::Convention::sinter}).loaded, ElementsAre("dense_1.weight", "dense_1.bias"));
  EXPECT_EQ(other.parameter("dense_1.weight").read().to_vector<float>(), one.parameter("dense_1.weight").read().to_vector<float>());
}

}  // namespace
}  // namespace sinter::test::weights_test
