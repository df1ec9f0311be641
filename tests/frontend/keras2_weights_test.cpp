// Models and weights of Keras 2: tests/fixtures/keras2_weights.py wrote the files.
#include <hdf5.h>

#include <cmath>
#include <cstring>

#include "frontend/data/npy.h"
#include "frontend/weights/keras.h"
#include "tests/frontend/helpers.h"
#include "tests/support/bytes.h"

namespace sinter::test::keras2_weights_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::string folder = SINTER_TEST_FIXTURES;

void expect_predictions(nn::Sequential model, const std::string& input, const std::string& name) {
  const auto wanted = data::npy(folder + "/" + name + "_y.npy").to_vector<float>(), got = model(data::npy(folder + input)).to_vector<float>();
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], wanted[i], 1e-5 * std::max(1.0f, std::abs(wanted[i]))) << name;
}

std::vector<std::string> names_of(const std::string& path) {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : weights::read(path)) names.push_back(name);
  return names;
}

TEST(Keras2Weights, AWholeModelLoadsAndPredicts) {
  nn::Sequential model{nn::Conv2D(2, 3, {3}, nn::Activation::relu),
                       nn::BatchNorm(3, {.epsilon = 1e-3}),
                       nn::MaxPool2D({2}),
                       nn::Conv2D(3, 3, {3}),
                       nn::Flatten(),
                       nn::Dropout(0.1),
                       nn::Sequential{nn::Dense(3, 5, nn::Activation::tanh), nn::Dense(5, 5, nn::Activation::none, {.use_bias = false})},
                       nn::Dense(5, 2)};
  weights::load(model, folder + "/keras2_image.h5");
  expect_predictions(model, "/keras2_images.npy", "keras2_image");
}

TEST(Keras2Weights, ModelsAndWeightsAloneLoadAndPredict) {
  for (const char* ending : {".h5", ".hdf5"}) {
    nn::Sequential model{nn::Conv1D(4, 4, 3, nn::Activation::none, {.padding = Padding::same()}),
                         nn::Bidirectional(nn::GRU(4, 3, {.return_sequences = true})),
                         nn::LayerNorm(6, {.epsilon = 1e-3}),
                         nn::Bidirectional(nn::LSTM(6, 2, {.return_sequences = true})),
                         nn::GRU(4, 3),
                         nn::Dense(3, 2)};
    weights::load(model, folder + "/keras2_recurrent" + ending);
    expect_predictions(model, "/keras2_series.npy", "keras2_recurrent");
  }
}

TEST(Keras2Weights, HaveTheNamesThatKeras3WouldGiveThem) {
  const std::vector<std::string> names = names_of(folder + "/keras2_recurrent.hdf5");
  EXPECT_EQ(names, names_of(folder + "/keras2_recurrent.h5"));
  EXPECT_THAT(names,
              ElementsAre("conv1d/0", "conv1d/1", "bidirectional/forward_layer/cell/0", "bidirectional/forward_layer/cell/1",
                          "bidirectional/forward_layer/cell/2", "bidirectional/backward_layer/cell/0", "bidirectional/backward_layer/cell/1",
                          "bidirectional/backward_layer/cell/2", "layer_normalization/0", "layer_normalization/1",
                          "bidirectional_1/forward_layer/cell/0", "bidirectional_1/forward_layer/cell/1", "bidirectional_1/forward_layer/cell/2",
                          "bidirectional_1/backward_layer/cell/0", "bidirectional_1/backward_layer/cell/1", "bidirectional_1/backward_layer/cell/2",
                          "gru/cell/0", "gru/cell/1", "gru/cell/2", "dense/0", "dense/1"));
}

/// A file that HDF5's own library writes: layers with weights of zeros, and lists of their names.
class Keras2File : public testing::Test {
 protected:
  using Shape = std::vector<hsize_t>;
  /// A list of texts of so many bytes each.
  static void list(hid_t group, const char* name, const std::vector<std::string>& texts, std::size_t size = 60) {
    const hsize_t count = texts.size();
    std::string bytes;
    for (const std::string& text : texts) bytes += text + std::string(size - text.size(), '\0');
    const hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate_simple(1, &count, nullptr);
    H5Tset_size(type, size);
    const hid_t attribute = H5Acreate2(group, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    H5Awrite(attribute, type, bytes.data());
  }
  /// A layer with the weights of one path.
  static void layer(hid_t file, const std::string& name, const std::string& path, const std::vector<std::pair<std::string, Shape>>& weights) {
    const hid_t links = H5Pcreate(H5P_LINK_CREATE), group = H5Gcreate2(file, name.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    H5Pset_create_intermediate_group(links, 1);
    std::vector<std::string> names;
    for (const auto& [weight, shape] : weights) {
      names.push_back(str(path, "/", weight));
      const hid_t space = H5Screate_simple(static_cast<int>(shape.size()), shape.data(), nullptr);
      const hid_t set = H5Dcreate2(group, names.back().c_str(), H5T_IEEE_F32LE, space, links, H5P_DEFAULT, H5P_DEFAULT);
      std::vector<float> zeros(1000);
      H5Dwrite(set, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, zeros.data());
    }
    list(group, "weight_names", names);
  }
  template <class Fill>
  void write(const Fill& fill) const {
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
    const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    fill(file);
    H5Fclose(file);
    H5close();
  }
  std::string error() const {
    return error_of([&] { weights::read(path); });
  }

  const TemporaryFolder temporary;
  const std::string path = temporary.path + "/model.hdf5";
};

TEST_F(Keras2File, KindsAreToldByTheWeights) {
  const std::vector<std::pair<std::string, Shape>> up{{"kernel:0", {3, 3, 4, 2}}, {"bias:0", {4}}}, square{{"kernel:0", {3, 3, 2, 2}}};
  write([&](hid_t file) {
    list(file, "layer_names0", {"u", "conv2d_transpose_7", "c", "e"});  // as Keras divides long lists
    list(file, "layer_names1", {"p", "n", "r", "d", "q", "x"});
    layer(file, "u", "u", up);
    layer(file, "conv2d_transpose_7", "conv2d_transpose_7", square);
    layer(file, "c", "c", square);
    layer(file, "e", "e", {{"embeddings:0", {5, 2}}});
    layer(file, "p", "p", {{"alpha:0", {5}}});
    layer(file, "n", "n", {{"beta:0", {5}}, {"moving_mean:0", {5}}, {"moving_variance:0", {5}}});
    layer(file, "r", "r/simple_rnn_cell", {{"kernel:0", {2, 3}}, {"recurrent_kernel:0", {3, 3}}});
    layer(file, "d", "depthwise_conv2d_4", {{"kernel:0", {3, 3, 2, 1}}});
    layer(file, "q", "q", {{"query", {2, 2}}});
    layer(file, "x", "x/cell", {{"recurrent_kernel:0", {3, 7}}});
  });
  EXPECT_THAT(names_of(path), ElementsAre("conv2d_transpose/0", "conv2d_transpose/1", "conv2d_transpose_1/0", "conv2d/0", "embedding/0", "p_re_lu/0",
                                          "batch_normalization/0", "batch_normalization/1", "batch_normalization/2", "simple_rnn/cell/0",
                                          "simple_rnn/cell/1", "depthwise_conv2d/0", "q/0", "cell/0"));
}

TEST_F(Keras2File, WhatIsDamagedIsNamed) {
  const std::vector<std::pair<std::string, Shape>> weights{{"kernel:0", {2, 3}}, {"bias:0", {3}}};
  write([&](hid_t file) {
    list(file, "layer_names", {"dense", "gone"});
    layer(file, "dense", "dense", weights);
  });
  EXPECT_THAT(error(), HasSubstr("model.hdf5] lists a layer 'gone', which it does not have; the file is damaged"));
  write([&](hid_t file) {
    list(file, "layer_names", {"dense"});
    list(H5Gcreate2(file, "dense", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), "weight_names", {"dense/kernel:0"});
  });
  EXPECT_THAT(error(), HasSubstr("lists a weight 'dense/kernel:0' of layer 'dense', which it does not have; the file is damaged"));
  write([&](hid_t file) {
    list(file, "layer_names", {"dense"});
    H5Gcreate2(file, "dense", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  });
  EXPECT_THAT(error(), HasSubstr("does not list the weights of layer 'dense'; the file is damaged"));
  write([&](hid_t file) { list(file, "layer_names", {std::string(1001, 'a')}, 1002); });
  EXPECT_THAT(error(), HasSubstr("has a name of more than 1000 bytes, 'aaaaaaaa"));
  write([&](hid_t file) {
    const hsize_t count = 3;
    H5Acreate2(file, "layer_names", H5T_NATIVE_INT, H5Screate_simple(1, &count, nullptr), H5P_DEFAULT, H5P_DEFAULT);
  });
  EXPECT_THAT(error(), HasSubstr("has an attribute 'layer_names' that is no list of texts"));
}

TEST_F(Keras2File, LayersThatAreNotInTheOrderOfTheModelAreRefused) {
  const auto inner = [&](const std::vector<std::string>& layers) {
    write([&](hid_t file) {
      list(file, "layer_names", {"inner"});
      std::vector<std::pair<std::string, Shape>> weights;
      for (const std::string& name : layers) weights.push_back({name + "/kernel:0", {2, 2}});
      layer(file, "inner", "inner", weights);
    });
    return error();
  };
  EXPECT_EQ(inner({"dense", "dense_1", "z", "a", "dense_10"}), "");
  EXPECT_THAT(inner({"dense_1", "dense"}), HasSubstr("lists 'dense_1' of the model 'inner' before 'dense', as if some of its layers were frozen"));
  EXPECT_THAT(inner({"dense_10", "a", "dense_9"}), HasSubstr("lists 'dense_10' of the model 'inner' before 'dense_9'"));
}

TEST_F(Keras2File, DamagedListsAreNamed) {
  const std::string sound = read_bytes(folder + "/keras2_recurrent.h5");
  const auto error_of_damage = [&](std::size_t at, const std::string& bytes) {
    EXPECT_LT(at, sound.size());
    write_bytes(path, std::string(sound).replace(at, bytes.size(), bytes));
    return error();
  };
  const std::size_t name = sound.find("layer_names"), first = name + 16 + 24 + 24;  // the first text, behind the name, the type and the shape
  std::uint64_t collection = 0;
  std::memcpy(&collection, sound.data() + first + 4, sizeof collection);
  EXPECT_THAT(error_of_damage(collection, "GCOX"), HasSubstr("has no signature 'GCOL' where one must be; the file is damaged"));
  EXPECT_THAT(error_of_damage(collection + 8, little_endian(3)), HasSubstr("has a collection of 3 bytes; the file is damaged"));
  EXPECT_THAT(error_of_damage(name - 8, "\4"), HasSubstr("has an attribute of version 4"));
  EXPECT_THAT(error_of_damage(first, "\xff"), HasSubstr("has a text that is not in the file; the file is damaged"));
}

}  // namespace
}  // namespace sinter::test::keras2_weights_test
