// Functions and layers on images and series, and LeNet.
#include "tests/frontend/helpers.h"

namespace sinter::test::image_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Image, PaddingSameIsThatOfKeras) {
  const auto shape = [](std::int64_t size, std::int64_t kernel, std::int64_t stride) {
    return conv2d(Tensor::zeros({DType::f32, {1, size, size, 2}}), Tensor::zeros({DType::f32, {kernel, kernel, 2, 3}}),
                  {.strides = {stride}, .padding = Padding::same()})
        .shape();
  };
  EXPECT_EQ(shape(7, 3, 1), Shape({1, 7, 7, 3}));
  EXPECT_EQ(shape(7, 3, 2), Shape({1, 4, 4, 3}));
  EXPECT_EQ(shape(8, 2, 3), Shape({1, 3, 3, 3}));
  // The odd pad comes last: the window of the first pixel begins at it.
  const Tensor x({1, 2, 3, 4}, {1, 1, 4, 1}), w({10, 1}, {1, 2, 1, 1});
  EXPECT_THAT(conv2d(x, w, {.padding = Padding::same()}).to_vector<float>(), ElementsAre(12, 23, 34, 40));
  EXPECT_THAT(conv1d(reshape(x, {1, 4, 1}), reshape(w, {2, 1, 1}), {.strides = {2}}).to_vector<float>(), ElementsAre(12, 34));
  EXPECT_THAT(conv2d(x, w, {.padding = Padding::sides({{0, 0}, {1, 0}})}).to_vector<float>(), ElementsAre(1, 12, 23, 34));
}

TEST(Image, TransposedConvolutionUndoesShapes) {
  const Tensor y = Tensor::zeros({DType::f32, {2, 4, 5, 6}}), w = Tensor::zeros({DType::f32, {3, 3, 7, 6}});
  EXPECT_EQ(conv2d_transpose(y, w, {.strides = {2}}).shape(), Shape({2, 9, 11, 7}));
  EXPECT_EQ(conv2d_transpose(y, w, {.strides = {2}, .padding = Padding::same()}).shape(), Shape({2, 8, 10, 7}));
  EXPECT_EQ(conv2d_transpose(y, w, {.padding = Padding::around({1, 1})}).shape(), Shape({2, 4, 5, 7}));
}

TEST(Image, Pools) {
  const Tensor x({1, 5, 2, 0, 3, 4, -1, -2, 9, 7, 6, 8}, {1, 3, 4, 1});
  EXPECT_THAT(max_pool2d(x, {2}).to_vector<float>(), ElementsAre(5, 2));
  EXPECT_THAT(max_pool2d(x, {2}, {.padding = Padding::same()}).to_vector<float>(), ElementsAre(5, 2, 9, 8));
  EXPECT_THAT(average_pool2d(x, {2, 2}, {.padding = Padding::same()}).to_vector<float>(), ElementsAre(3.25f, -0.25f, 8, 7));
  EXPECT_THAT(max_pool1d(reshape(x, {1, 12, 1}), 3).to_vector<float>(), ElementsAre(5, 4, 9, 8));
  EXPECT_THAT(average_pool1d(reshape(x, {1, 12, 1}), 4, {.strides = {8}}).to_vector<float>(), ElementsAre(2, 7.5f));
}

/// The gradient of a pool goes to the first greatest; overlapping windows add.
TEST(Image, GradientsOfPools) {
  for (const Mode mode : modes()) {
    const Parameter x("x", Tensor({3, 3, 1, 2, 9, 2}, {1, 1, 6, 1}));
    auto step = compile(
        [&](const Tensor& unused) {
          const Tensor loss = sum(max_pool2d(x, {1, 2}, {.strides = {1, 1}}) * Tensor({1, 10, 100, 1000, 10000}, {1, 1, 5, 1})) + sum(unused) * 0;
          return grad(loss, std::vector{x})[0];
        },
        {.mode = mode});
    EXPECT_THAT(step(Tensor({0}, {1})).to_vector<float>(), ElementsAre(1, 10, 0, 100, 11000, 0));
  }
}

/// A mean over a window that is partly outside of the image divides by fewer numbers, and so does its gradient, wherever tiles of pixels begin.
TEST(Image, GradientsOfPaddedAverages) {
  NEEDS_CODEGEN();
  for (const std::int64_t size : {2, 5, 9})
    for (const std::int64_t stride : {1, 2, 3})
      for (const std::int64_t channels : {1, 3}) {
        const auto f = [&](const Tensor& x) {
          const Tensor y = average_pool2d(x, {3, size}, {.strides = {2, stride}, .padding = Padding::around({1, size / 2})});
          return grad(sum(square(y)), std::vector{x})[0];
        };
        for (const std::int64_t width : {size, size + 1, size + 4, std::int64_t{18}, std::int64_t{29}, std::int64_t{40}}) {
          const Tensor x = random({2, 4, width, channels}, 1);
          const std::vector<float> compiled = compile(f)(x).to_vector<float>();
          const std::vector<float> eager = compile(f, {.mode = Mode::eager})(x).to_vector<float>();
          for (std::size_t i = 0; i < compiled.size(); ++i)
            ASSERT_NEAR(compiled[i], eager[i], 1e-5f) << i << ", " << width << " wide, windows of " << size << ", stride " << stride;
        }
      }
}

TEST(ImageLayers, ShapesParametersAndSummary) {
  seed(1);
  nn::Sequential model{nn::Conv2D(1, 20, {5}), nn::MaxPool2D({2}), nn::Conv2D(20, 50, {5}, nn::Activation::relu),
                       nn::BatchNorm(50),      nn::MaxPool2D({2}), nn::SpatialDropout(0.2),
                       nn::Flatten(),          nn::Dense(800, 10)};
  const std::string summary = model.summary({DType::f32, {Dim::batch(), 28, 28, 1}});
  EXPECT_THAT(summary, HasSubstr("conv2d_1 (conv2d)                    [N,24,24,20]         520"));
  EXPECT_THAT(summary, HasSubstr("conv2d_2 (conv2d)                    [N,8,8,50]        25,050"));
  nn::Conv1D series(3, 8, 4, nn::Activation::relu, {.padding = Padding::same()});
  EXPECT_EQ(series(Tensor::zeros({DType::f32, {2, 9, 3}})).shape(), Shape({2, 9, 8}));
  EXPECT_EQ(nn::GlobalAveragePool()(Tensor::filled({DType::f32, {2, 3, 3, 4}}, 2)).to_vector<float>(), std::vector<float>(8, 2));
  EXPECT_EQ(nn::GlobalMaxPool()(Tensor::zeros({DType::f32, {2, 5, 4}})).shape(), Shape({2, 4}));
  EXPECT_EQ(nn::ZeroPadding({1, 2})(Tensor::zeros({DType::f32, {2, 3, 3, 4}})).shape(), Shape({2, 5, 7, 4}));
  EXPECT_EQ(nn::Conv2DTranspose(4, 2, {3, 3}, nn::Activation::none, {.strides = {2}})(Tensor::zeros({DType::f32, {1, 3, 3, 4}})).shape(),
            Shape({1, 7, 7, 2}));
}

/// A small network of everything learns to tell horizontal from vertical bars, eagerly and compiled alike.
TEST(ImageLayers, Learn) {
  RandomStream random(5, 5);
  std::vector<float> images;
  std::vector<std::int32_t> labels;
  for (int i = 0; i < 96; ++i) {
    const bool vertical = random.below(2);
    const std::uint32_t at = random.below(10);
    for (std::uint32_t h = 0; h < 10; ++h)
      for (std::uint32_t w = 0; w < 10; ++w) images.push_back(static_cast<float>(0.3 * random.normal() + ((vertical ? w : h) == at)));
    labels.push_back(vertical);
  }
  const Dataset data{Tensor(images, {96, 10, 10, 1}), Tensor(labels, {96})};
  std::vector<double> losses;
  for (const Mode mode : modes()) {
    seed(2);
    nn::Sequential model{nn::Conv2D(1, 5, {3}, nn::Activation::relu, {.padding = Padding::same()}),
                         nn::BatchNorm(5),
                         nn::MaxPool2D({2}),
                         nn::Dropout(0.1),
                         nn::Conv2D(5, 5, {3}, nn::Activation::relu, {.groups = 5}),
                         nn::Conv2D(5, 12, {1}, nn::Activation::tanh),
                         nn::SpatialDropout(0.1),
                         nn::AveragePool2D({2}, {.strides = {1}}),
                         nn::Flatten(),
                         nn::Dense(48, 2)};
    Trainer trainer(model, loss::sparse_categorical_crossentropy_from_logits, optim::Adam({.learning_rate = 0.01}), {.mode = mode});
    const auto history = trainer.fit(data, {.epochs = 12, .batch_size = 16, .verbose = false});
    EXPECT_GT(*trainer.evaluate(data).accuracy, 0.95);
    losses.push_back(history.back().loss);
    if (mode == Mode::graph) {
      EXPECT_EQ(trainer.train_step().compile_count(), 1u);
      const Tensor rows(std::vector<std::int32_t>{0, 5, 3, 9}, {4});
      const Tensor* in[] = {&data.x.only(), &data.y.only(), &rows};
      const VerifyReport report = trainer.train_step().verify(in);
      EXPECT_TRUE(report.ok()) << report;
    }
  }
  EXPECT_NEAR(losses.front(), losses.back(), 0.02);
}

nn::Sequential lenet() {
  seed(8);
  return nn::Sequential{nn::Conv2D(1, 20, {5}),
                        nn::MaxPool2D({2}),
                        nn::Dropout(0.1),
                        nn::Conv2D(20, 50, {5}),
                        nn::MaxPool2D({2}),
                        nn::Flatten(),
                        nn::Dense(800, 64, nn::Activation::relu),
                        nn::Dense(64, 10)};
}

TEST(LeNet, TrainsToTheSameBytesOnAnyNumberOfThreadsWithOneCompile) {
  NEEDS_CODEGEN();
  const Dataset data{random({21, 28, 28, 1}, 1, 0, 1), random_labels(21, 10, 2)};
  const auto trained = [&](int threads) {
    nn::Sequential model = lenet();
    Trainer trainer(model, loss::sparse_categorical_crossentropy_from_logits, optim::SGD({.learning_rate = 0.01, .momentum = 0.9}),
                    {.threads = threads, .force = true});
    trainer.fit(data, {.epochs = 2, .batch_size = 8, .verbose = false});  // the last batch has 5
    EXPECT_EQ(trainer.train_step().compile_count(), 1u);
    std::vector<float> all;
    for (const Parameter& p : trainer.parameters())
      if (is_float(p.type().dtype))
        for (const float v : p.read().to_vector<float>()) all.push_back(v);
    return all;
  };
  const std::vector<float> one = trained(1);
  for (const int threads : {2, 3, 4}) EXPECT_EQ(trained(threads), one) << threads;
}

TEST(LeNet, VerifyFindsNothing) {
  NEEDS_CODEGEN();
  nn::Sequential model = lenet();
  Trainer trainer(model, loss::sparse_categorical_crossentropy_from_logits, optim::SGD({.learning_rate = 0.01, .momentum = 0.9}));
  const Dataset data{random({3, 28, 28, 1}, 1, 0, 1), random_labels(3, 10, 2)};
  trainer.train_on_batch(data.x, data.y);
  const Tensor rows(std::vector<std::int32_t>{2, 0}, {2});
  const Tensor* in[] = {&data.x.only(), &data.y.only(), &rows};
  const VerifyReport report = trainer.train_step().verify(in);
  EXPECT_TRUE(report.ok()) << report;
}

TEST(ImageLayers, Mistakes) {
  const Tensor image = Tensor::zeros({DType::f32, {2, 9, 9, 4}});
  EXPECT_THAT(error_of([&] { conv2d(image, Tensor::zeros({DType::f32, {11, 3, 4, 2}})); }),
              HasSubstr("a window of 11 rows does not fit into the padded input of 9; make it smaller or pad more"));
  EXPECT_THAT(error_of([&] { conv2d(image, Tensor::zeros({DType::f32, {3, 3, 3, 2}})); }), HasSubstr("is for 3 channels, but the input"));
  EXPECT_THAT(error_of([&] { conv2d(image, Tensor::zeros({DType::f32, {3, 3, 1, 2}}), {.groups = 3}); }),
              HasSubstr("groups must divide channels and features, got 3 groups for 4 channels and 2 features"));
  EXPECT_THAT(error_of([&] { conv2d(image, Tensor::zeros({DType::f32, {3, 3, 4}})); }),
              HasSubstr("must be [height, width, channels / groups, features]"));
  EXPECT_THAT(error_of([&] { conv2d(Tensor::zeros({DType::f32, {2, 9, 9}}), Tensor::zeros({DType::f32, {3, 3, 4, 2}})); }),
              HasSubstr("the input must be [batch, height, width, channels], got f32[2,9,9]"));
  EXPECT_THAT(error_of([&] { conv2d(image, Tensor::zeros({DType::f32, {3, 3, 4, 2}}), {.strides = {1, 2, 3}}); }),
              HasSubstr("[strides] must be one number or one for each of 2 axes, got 3"));
  EXPECT_THAT(error_of([&] { conv2d(image, Tensor::zeros({DType::f32, {3, 3, 4, 2}}), {.strides = {0}}); }), HasSubstr("must be at least 1, got 0"));
  EXPECT_THAT(error_of([&] { max_pool2d(image, {10, 2}); }), HasSubstr("a window of 10 rows does not fit into the padded input of 9"));
  EXPECT_THAT(error_of([&] { max_pool2d(image, {2}, {.padding = Padding::around({2, 2})}); }),
              HasSubstr("pads must be smaller than the kernel [2,2]"));
  EXPECT_THAT(error_of([] { nn::Conv2D(3, 4, {3}, nn::Activation::none, {.groups = 2}); }),
              HasSubstr("[conv2d] groups must divide channels and features, got 2 groups for 3 channels and 4 features"));
  EXPECT_THAT(error_of([] { nn::Conv2D(3, 4, {0}); }), HasSubstr("[conv2d] the kernel must be at least 1 wide, got 0"));
  EXPECT_THAT(error_of([&] { nn::Conv2D(3, 4, {3})(image); }), HasSubstr("[conv2d] input has 4 channels but the layer was built for 3"));
  EXPECT_THAT(error_of([] { nn::SpatialDropout(1); }), HasSubstr("[SpatialDropout] the rate must be in [0, 1), got 1"));
  EXPECT_THAT(error_of([] { nn::ZeroPadding({-1}); }), HasSubstr("[ZeroPadding] the padding must be at least 0, got -1"));
}

}  // namespace
}  // namespace sinter::test::image_test
