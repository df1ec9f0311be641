// Perceptrons, MLP-Mixer (Tolstikhin et al. 2021) and DLRM (Naumov et al. 2019).
#include "bench/networks/networks.h"

namespace sinter::bench {

namespace {

Batch pixels(std::int64_t samples, std::uint64_t stream) { return {uniform({samples, 784}, 0, 1, stream)}; }

std::shared_ptr<nn::Module> wide_perceptron() {
  return nn::share(nn::Sequential{nn::Dense(784, 2048, Activation::relu), nn::Dense(2048, 2048, Activation::relu),
                                  nn::Dense(2048, 2048, Activation::relu), nn::Dense(2048, 10)});
}

std::shared_ptr<nn::Module> deep_perceptron() {
  nn::Sequential layers;
  layers += nn::Dense(784, 256, Activation::relu);
  for (int i = 0; i < 20; ++i) layers += nn::Dense(256, 256, Activation::relu);
  layers += nn::Dense(256, 10);
  return nn::share(std::move(layers));
}

// ---- MLP-Mixer: 64 patches of 4 × 4 pixels, 128 features each ----

constexpr std::int64_t patches = 64, patch_features = 128;

/// x + mlp(normalized x) over patches, then over features.
struct MixerBlock : nn::Module {
  nn::LayerNorm before_patches{patch_features}, before_features{patch_features};
  nn::Sequential over_patches{nn::Dense(patches, 64, Activation::gelu), nn::Dense(64, patches)},
      over_features{nn::Dense(patch_features, 512, Activation::gelu), nn::Dense(512, patch_features)};

  MixerBlock() : Module("mixer_block") {
    add(before_patches);
    add(over_patches);
    add(before_features);
    add(over_features);
  }
  Tensor forward(const Tensor& x) override {
    const Tensor y = x + transpose(over_patches(transpose(before_patches(x))));
    return y + over_features(before_features(y));
  }
};

std::shared_ptr<nn::Module> mixer() {
  nn::Sequential layers{nn::Conv2D(3, patch_features, {4}, Activation::none, {.strides = {4}}), nn::Reshape({patches, patch_features})};
  for (int i = 0; i < 8; ++i) layers += MixerBlock();
  layers += nn::LayerNorm(patch_features);
  layers += nn::GlobalAveragePool();
  layers += nn::Dense(patch_features, 10);
  return nn::share(std::move(layers));
}

// ---- DLRM: 13 numbers and 26 words of 10,000 each ----

constexpr std::int64_t numbers = 13, words = 26, vocabulary = 10000, word_features = 16;

/// The products of each pair of vectors, of words and of the numbers, beside that of the numbers.
struct Dlrm : nn::Model {
  nn::Sequential bottom{nn::Dense(numbers, 512, Activation::relu), nn::Dense(512, 256, Activation::relu),
                        nn::Dense(256, word_features, Activation::relu)},
      top{nn::Dense(word_features + (words + 1) * (words + 1), 512, Activation::relu), nn::Dense(512, 256, Activation::relu), nn::Dense(256, 1)};
  std::vector<nn::Embedding> tables;

  Dlrm() : Model("dlrm") {
    add(bottom);
    for (std::int64_t i = 0; i < words; ++i) add(tables.emplace_back(vocabulary, word_features));
    add(top);
  }
  std::vector<Tensor> forward_all(std::span<const Tensor> in) override {
    const Tensor dense = bottom(in[0]);
    std::vector<Tensor> vectors{dense};
    for (std::int64_t i = 0; i < words; ++i)
      vectors.push_back(tables[static_cast<std::size_t>(i)](reshape(slice(in[1], 1, i, i + 1), {Dim::batch()})));
    const Tensor all = stack(vectors, 1), pairs = reshape(matmul(all, transpose(all)), {Dim::batch(), (words + 1) * (words + 1)});
    return {top(concat({dense, pairs}, -1))};
  }
};

std::shared_ptr<nn::Module> dlrm() { return std::make_shared<Dlrm>(); }
Batch numbers_and_words(std::int64_t samples, std::uint64_t stream) {
  return {uniform({samples, numbers}, 0, 1, stream), reshape(labels(samples * words, vocabulary, stream + 5), {samples, words})};
}
Tensor clicks(std::int64_t samples, std::uint64_t stream) { return labels(samples, 2, stream); }

}  // namespace

std::vector<NetworkSpec> perceptrons() {
  return {{"wide_mlp", wide_perceptron, pixels, ten_classes, loss::sparse_categorical_crossentropy_from_logits},
          {"deep_mlp", deep_perceptron, pixels, ten_classes, loss::sparse_categorical_crossentropy_from_logits},
          {"mixer", mixer, images_of<32>, ten_classes, loss::sparse_categorical_crossentropy_from_logits},
          {"dlrm", dlrm, numbers_and_words, clicks, loss::binary_crossentropy_from_logits}};
}

}  // namespace sinter::bench
