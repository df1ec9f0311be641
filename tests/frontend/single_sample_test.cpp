// A call with one sample is cut into pieces that all threads share.
#include "frontend/core/apply.h"
#include "tests/frontend/helpers.h"

namespace sinter::test::single_sample_test {
namespace {

using testing::HasSubstr;

std::vector<float> floats_of(const std::vector<Tensor>& tensors) {
  std::vector<float> all;
  for (const Tensor& t : tensors)
    for (const float v : t.to_vector<float>()) all.push_back(v);
  return all;
}

/// Expects the same bytes of sample 0 whether it comes alone, on any number of threads, or with others; returns what explain() says.
std::string expect_shared(const std::function<std::vector<Tensor>(const Tensor&)>& model, const Tensor& batch) {
  const auto step = [&](int threads) {
    return StepCore([&](std::span<const Tensor> in) { return model(in[0]); },
                    {.mode = Mode::graph, .threads = threads, .force = true, .kinds = {InputKind::batch}}, std::source_location::current());
  };
  const Tensor alone = slice(batch, 0, 0, 1);
  StepCore one = step(1);
  const Tensor *all[] = {&batch}, *first[] = {&alone};
  std::vector<Tensor> expected = one.call(all);
  for (Tensor& t : expected) t = slice(t, 0, 0, 1);
  EXPECT_EQ(floats_of(one.call(first)), floats_of(expected));
  for (const int threads : {2, 3, 7}) {
    StepCore shared = step(threads);
    for (int repeat = 0; repeat < 3; ++repeat) EXPECT_EQ(floats_of(shared.call(first)), floats_of(expected)) << threads << " threads";
    EXPECT_EQ(floats_of(shared.call(all)), floats_of(one.call(all))) << threads << " threads";
    EXPECT_EQ(shared.compile_count(), 1u);
  }
  return one.explain();
}

TEST(SingleSample, DenseLayersByColumns) {
  NEEDS_CODEGEN();
  seed(1);
  nn::Sequential model{nn::Dense(100, 504, nn::Activation::relu), nn::Dense(504, 300, nn::Activation::sigmoid), nn::Dense(300, 10)};
  const std::string text = expect_shared([&](const Tensor& x) { return std::vector{softmax(model(x))}; }, random({5, 100}, 1));
  EXPECT_THAT(text, HasSubstr("a single sample in 4 pieces"));
}

TEST(SingleSample, DenseLayersOnSequencesByRows) {
  NEEDS_CODEGEN();
  seed(2);
  nn::Sequential model{nn::Dense(20, 50, nn::Activation::tanh), nn::Dense(50, 3)};
  const auto each_place = [&](const Tensor& x) { return std::vector{reshape(model(reshape(x, {Dim::batch(37), 20})), {Dim::batch(), 37, 3})}; };
  const std::string text = expect_shared(each_place, random({3, 37, 20}, 1));
  EXPECT_THAT(text, HasSubstr("a single sample in 37 pieces"));
}

TEST(SingleSample, BytesThatAreConvertedOnTheWay) {
  NEEDS_CODEGEN();
  seed(3);
  nn::Dense first(700, 200), second(200, 3);
  const Tensor bytes = cast(random({4, 700}, 1, 0, 255), DType::u8);
  (void)expect_shared([&](const Tensor& x) { return std::vector{second(relu(first(cast(x, DType::f32) * (1.0f / 255))))}; }, bytes);
}

TEST(SingleSample, ConvolutionsAndPoolsByRows) {
  NEEDS_CODEGEN();
  seed(4);
  nn::Sequential direct{nn::Conv2D(1, 20, {5}), nn::MaxPool2D({2}),     nn::Conv2D(20, 50, {5}, nn::Activation::relu),
                        nn::AveragePool2D({2}), nn::Conv2D(50, 1, {1}), nn::Flatten(),
                        nn::Dense(16, 10)};
  const std::string text = expect_shared([&](const Tensor& x) { return std::vector{direct(x)}; }, random({3, 28, 28, 1}, 1));
  EXPECT_THAT(text, HasSubstr("a single sample in 24 pieces"));
}

/// Sums and maxima of the pixels of each channel, in pieces of 32 channels.
TEST(SingleSample, GlobalPoolsByColumns) {
  NEEDS_CODEGEN();
  for (const std::int64_t channels : {20, 32, 70, 96, 257}) {
    const std::string text = expect_shared([&](const Tensor& x) { return std::vector{mean(x, {1, 2}) * 3.0f, max(tanh(x), {1, 2}), sum(x, {1})}; },
                                           random({3, 9, 21, channels}, 1));
    if (channels > 32) {
      EXPECT_THAT(text, HasSubstr(str("a single sample in ", (channels + 31) / 32, " pieces")));
    }
  }
}

TEST(SingleSample, ConvolutionsWithFewMultiplicationsByRowsOfTiles) {
  NEEDS_CODEGEN();
  seed(5);
  nn::Sequential model{nn::Conv2D(8, 24, {3}, nn::Activation::relu, {.padding = Padding::same()}),
                       nn::Conv2D(24, 40, {3}, nn::Activation::relu, {.padding = Padding::same()}), nn::GlobalAveragePool()};
  const std::string text = expect_shared([&](const Tensor& x) { return std::vector{model(x)}; }, random({3, 19, 22, 8}, 1));
  EXPECT_THAT(text, HasSubstr("Winograd F(4×4, 3×3)"));
  EXPECT_THAT(text, HasSubstr("a single sample in 5 pieces"));
}

/// Each piece adds what windows above and below it reach into it, too: with windows that overlap or lie apart, rows that no window meets, and groups.
TEST(SingleSample, TransposedConvolutionsByRows) {
  NEEDS_CODEGEN();
  seed(7);
  struct Layer {
    std::int64_t channels, features, height, width;
    nn::ConvolutionOptions options;
  };
  const Layer layers[] = {
      {6, 20, 3, 3, {.strides = {2}, .padding = Padding::same()}},
      {48, 5, 2, 2, {.strides = {2}}},
      {7, 33, 2, 3, {.strides = {3, 2}}},
      {5, 96, 3, 2, {.dilations = {2, 1}}},
      {9, 12, 5, 4, {.strides = {2, 3}, .padding = Padding::around({1, 2})}},
      {20, 40, 3, 3, {.strides = {2}, .groups = 2}},
      {4, 1, 3, 3, {.strides = {1, 2}}},
  };
  for (const Layer& layer : layers) {
    nn::Conv2DTranspose model(layer.channels, layer.features, {layer.height, layer.width}, nn::Activation::relu, layer.options);
    const Tensor images = random({3, 11, 9, layer.channels}, 1);
    const std::string text = expect_shared([&](const Tensor& x) { return std::vector{model(x)}; }, images);
    EXPECT_THAT(text, HasSubstr("runs of"));  // computed as products
    EXPECT_THAT(text, HasSubstr(str("a single sample in ", model(images).shape()[1], " pieces")));
  }
}

TEST(Packing, WeightsArePackedOnceAndAgainWhenTheyChange) {
  NEEDS_CODEGEN();
  seed(6);
  nn::Sequential model{nn::Conv2D(8, 24, {3}, nn::Activation::relu), nn::Flatten(), nn::Dense(24 * 6 * 6, 600)};
  StepCore step([&](std::span<const Tensor> in) { return std::vector{model(in[0])}; }, {.mode = Mode::graph, .kinds = {InputKind::batch}},
                std::source_location::current());
  const Tensor images = random({20, 8, 8, 8}, 1), alone = slice(images, 0, 0, 1), *one[] = {&alone}, *many[] = {&images};
  const auto check = [&](const char* when) {
    const std::vector<float> expected = model(images).to_vector<float>();
    for (int repeat = 0; repeat < 3; ++repeat)  // a call with one sample reads wide products where they lie, but must not leave them unpacked
      for (const auto& in : {std::span<const Tensor* const>(one), std::span<const Tensor* const>(many)}) {
        const std::vector<float> got = step.call(in)[0].to_vector<float>();
        for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], expected[i], 1e-4) << when << ", " << i;
      }
  };
  check("at first");
  EXPECT_THAT(step.explain(), HasSubstr("skipped if no state has changed"));
  const std::vector<Parameter> parameters = model.parameters();
  for (const Parameter& p : parameters) p.assign(p.read() * 0.5f);
  check("after an assignment");
  const std::vector<Tensor> before = {parameters[0].read(), parameters[2].read()};
  optim::SGD optimizer({.learning_rate = 0.1});
  auto train = compile([&](const Tensor& x) {
    const Tensor loss = mean(square(model(x)));
    optimizer.update(parameters, grad(loss, parameters));
    return loss;
  });
  train(images);
  check("after a compiled step");
  parameters[0].assign(before[0]);
  check("after going back");
}

TEST(SingleSample, StepsThatUpdateAreNotCut) {
  NEEDS_CODEGEN();
  const Parameter w("w", random({300, 300}, 1));
  StepCore step(
      [&](std::span<const Tensor> in) {
        const Tensor y = matmul(in[0], w);
        w.assign(w * 0.5f);
        return std::vector{y};
      },
      {.mode = Mode::graph, .kinds = {InputKind::batch}}, std::source_location::current());
  const Tensor x = random({1, 300}, 2), *in[] = {&x};
  (void)step.call(in);
  EXPECT_THAT(step.explain(), testing::Not(HasSubstr("a single sample in")));
}

// A weight's gradient in pieces of 41 rows that another phase finishes, beside a product whose columns are cut: a thread has several pieces in a row.
TEST(SingleSample, SeveralPiecesOfAWeightGradientInACall) {
  NEEDS_CODEGEN();
  const Parameter w("w", random({64, 300}, 1));
  const Tensor x = random({1, 64}, 2), a = random({1, 121}, 3), b = random({1, 70}, 4), c = random({3000}, 5);
  const auto function = [&](const Tensor& x, const Tensor& a, const Tensor& b, const Tensor& c) {
    return std::pair(sigmoid(matmul(x, w)), max(c) - matmul(transpose(a), b));
  };
  const Tensor expected = function(x, a, b, c).second;
  for (const int threads : {1, 2, 3}) {
    auto step =
        compile(function, {.threads = threads, .force = true, .kinds = {InputKind::batch, InputKind::batch, InputKind::batch, InputKind::fixed}});
    const std::vector<float> got = step(x, a, b, c).second.to_vector<float>(), wanted = expected.to_vector<float>();
    for (std::size_t i = 0; i < wanted.size(); ++i) ASSERT_NEAR(got[i], wanted[i], 1e-5) << i << ", " << threads << " threads";
  }
}

}  // namespace
}  // namespace sinter::test::single_sample_test
