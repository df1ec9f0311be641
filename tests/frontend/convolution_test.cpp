// Convolutions and pools, eagerly and compiled, against the double reference.
#include <cmath>
#include <map>
#include <tuple>

#include "frontend/compile/bounds.h"
#include "frontend/core/apply.h"
#include "ir/winograd.h"
#include "tests/frontend/helpers.h"

namespace sinter::test {
namespace {

using testing::HasSubstr;

/// Fails if a result is further from the double reference than the rounding of its sums allows.
void expect_reference(const ir::Op& op, const Tensor& a, const Tensor& b, const Tensor& got) {
  const Type types[] = {a.type(), b.type()};
  const Type type = ir::infer(op, types);
  ASSERT_EQ(got.type(), type);
  const Bounded x = exact(a), y = exact(b), *in[] = {&x, &y};
  const Bounded expected = evaluate_bounded(op, type, in, 1);
  const ir::Array values = exact(got).value;
  double worst = 0;
  const std::int64_t different = first_difference(values, expected, worst);
  if (different < 0) return;
  const auto i = static_cast<std::size_t>(different);
  FAIL() << ir::name(op) << ", element " << i << ": " << values.data[i] << " instead of " << expected.value.data[i] << " +- " << expected.error[i];
}

struct Case {
  std::int64_t images, height, width, channels, features, kernel_h, kernel_w, groups;
  Shape strides, dilations, pads;
  std::string text() const {
    return str(images, "x", height, "x", width, "x", channels, ", kernel ", kernel_h, "x", kernel_w, "x", features, ", strides ", strides,
               ", dilations ", dilations, ", pads ", pads, ", groups ", groups);
  }
};

Case random_case(RandomStream& random) {
  const auto pick = [&](std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(random.below(static_cast<std::uint32_t>(high - low + 1)));
  };
  for (;;) {
    Case c;
    c.images = pick(1, 3);
    c.height = pick(1, 12);
    c.width = pick(1, 20);
    c.kernel_h = pick(1, 7);
    c.kernel_w = pick(1, 7);
    c.strides = {pick(1, 3), pick(1, 3)};
    c.dilations = {pick(1, 4) == 4 ? 2 : 1, pick(1, 4) == 4 ? 3 : 1};
    c.pads = {pick(0, c.kernel_h - 1), pick(0, c.kernel_w - 1), pick(0, c.kernel_h - 1), pick(0, c.kernel_w - 1)};
    c.groups = 1;
    const std::int64_t kind = pick(0, 9);
    c.channels = pick(1, kind < 3 ? 5 : 70);
    c.features = pick(1, kind == 3 ? 2 : 70);
    if (kind == 8) c.groups = c.features = c.channels;  // depthwise
    if (kind == 9) {
      c.groups = pick(2, 4);
      c.channels = c.groups * pick(1, 9);
      c.features = c.groups * pick(1, 9);
    }
    try {
      (void)ir::slide({c.images, c.height, c.width, c.channels}, {c.kernel_h, c.kernel_w}, c.strides, c.dilations, c.pads);
      return c;
    } catch (const UserError&) {  // no room for a window
    }
  }
}

/// Forward and both gradients of a case, from one function.
struct Convolutions {
  ir::Conv2D forward;
  ir::Conv2DTranspose image;
  ir::Conv2DWeight weight;
  Tensor x, w, dy;

  Convolutions(const Case& c, std::uint64_t stream)
      : forward{c.strides, c.dilations, c.pads, c.groups},
        image{c.strides, c.dilations, c.pads, c.groups, {c.height, c.width}},
        weight{c.strides, c.dilations, c.pads, c.groups, {c.kernel_h, c.kernel_w}},
        x(random({c.images, c.height, c.width, c.channels}, stream)),
        w(random({c.kernel_h, c.kernel_w, c.channels / c.groups, c.features}, stream + 1)),
        dy(random(ir::convolution_of(forward, x.shape(), w.shape()).y(), stream + 2)) {}

  std::vector<Tensor> operator()(std::span<const Tensor> in) const {
    const auto where = std::source_location::current();
    return {apply(forward, {&in[0], &in[1]}, where), apply(image, {&in[2], &in[1]}, where), apply(weight, {&in[0], &in[2]}, where)};
  }
  std::vector<Tensor> run(Mode mode, int threads = 1) const {
    StepCore step([this](std::span<const Tensor> in) { return (*this)(in); },
                  {.mode = mode, .threads = threads, .force = true, .kinds = {InputKind::batch, InputKind::fixed, InputKind::batch}},
                  std::source_location::current());
    const Tensor* in[] = {&x, &w, &dy};
    return step.call(in);
  }
  void expect(const std::vector<Tensor>& results) const {
    expect_reference(forward, x, w, results[0]);
    expect_reference(image, dy, w, results[1]);
    expect_reference(weight, x, dy, results[2]);
  }
};

TEST(Convolution, ThreeHundredRandomShapes) {
  for (const Mode mode : modes()) {
    RandomStream random(11, 1);
    for (int i = 0; i < 300; ++i) {
      const Case c = random_case(random);
      SCOPED_TRACE(str(mode == Mode::graph ? "compiled, " : "eager, ", i, ": ", c.text()));
      const Convolutions conv(c, static_cast<std::uint64_t>(10 * i));
      conv.expect(conv.run(mode));
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

#ifdef SINTER_JIT
/// One that may be computed with few multiplications.
Case small_kernel(RandomStream& random) {
  const auto pick = [&](std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(random.below(static_cast<std::uint32_t>(high - low + 1)));
  };
  const std::int64_t taps = pick(1, 3) == 3 ? 5 : 3, most = taps - 1;
  Case c{pick(1, 5), pick(taps, 20), pick(taps, 20), pick(8, 70), pick(8, 70), taps, taps, 1, {1, 1}, {1, 1}, {}};
  c.pads = {pick(0, most), pick(0, most), pick(0, most), pick(0, most)};
  return c;
}

TEST(Convolution, FewMultiplications) {
  RandomStream random(13, 1);
  std::map<std::pair<std::int64_t, std::int64_t>, int> forms;
  for (int i = 0; i < 80; ++i) {
    Case c = small_kernel(random);
    if (i % 5 == 0 && c.kernel_h == 3) c.height = 2, c.pads = {1, 1, 1, 1};  // little for tiles of four rows
    SCOPED_TRACE(str(i, ": ", c.text()));
    const Convolutions conv(c, static_cast<std::uint64_t>(10 * i));
    const ir::Winograd* form = ir::winograd_of(ir::convolution_of(conv.forward, conv.x.shape(), conv.w.shape()), false);
    if (form) ++forms[{form->results, form->taps}];
    conv.expect(conv.run(Mode::graph));
    if (testing::Test::HasFatalFailure()) return;
  }
  EXPECT_EQ(forms.size(), 3u);
  for (const auto& [form, times] : forms) EXPECT_GT(times, 3) << "F(" << form.first << ", " << form.second << ")";
}

/// The error against the direct convolution's, both as root mean squares over random numbers: what docs/design.md states.
TEST(Convolution, FewMultiplicationsRoundLittleMore) {
  for (const auto& [size, taps, most] : {std::tuple(2, 3, 1.5), std::tuple(16, 3, 2.5), std::tuple(16, 5, 1.6)}) {
    const Convolutions conv({4, size, size, 64, 64, taps, taps, 1, {1, 1}, {1, 1}, {1, 1, 1, 1}}, 5);
    const std::vector<Tensor> direct = conv.run(Mode::eager), compiled = conv.run(Mode::graph);
    const Bounded x = exact(conv.x), w = exact(conv.w), *in[] = {&x, &w};
    const Bounded expected = evaluate_bounded(conv.forward, direct[0].type(), in, 1);
    const auto error = [&](const Tensor& t) {
      const std::vector<float> values = t.to_vector<float>();
      double sum = 0;
      for (std::size_t i = 0; i < values.size(); ++i) sum += std::pow(values[i] - expected.value.data[i], 2);
      return std::sqrt(sum / static_cast<double>(values.size()));
    };
    EXPECT_LT(error(compiled[0]), most * error(direct[0])) << size << ", " << taps;
    EXPECT_GT(error(compiled[0]), 0);
  }
}

TEST(Convolution, SameBytesForAnyNumberOfThreadsAndTarget) {
  RandomStream random(12, 1);
  for (int i = 0; i < 40; ++i) {
    Case c = i < 30 ? random_case(random) : small_kernel(random);
    c.images = 9;
    SCOPED_TRACE(c.text());
    const Convolutions conv(c, static_cast<std::uint64_t>(10 * i));
    const auto bytes = [&](int threads, const char* target) {
      const Environment environment("SINTER_TARGET", target);
      std::vector<float> all;
      for (const Tensor& t : conv.run(Mode::graph, threads))
        for (const float v : t.to_vector<float>()) all.push_back(v);
      return all;
    };
    const std::vector<float> one = bytes(1, "x86-64-v3");
    EXPECT_EQ(bytes(3, "x86-64-v3"), one);
    EXPECT_EQ(bytes(2, ""), one);
  }
}
#endif

// ---- functions and layers ----

TEST(Convolution, SeveralImagesASample) {
  for (const std::int64_t features : {3, 20}) {
    std::vector<std::vector<float>> results;
    for (const Mode mode : modes()) {
      const Parameter w("w", random({3, 3, 9, features}, 1));
      auto step = compile(
          [&](const Tensor& x) {
            const Tensor y = conv2d(concat({x, x * 2.0f}, 0), w, {.padding = Padding::same()}), loss = sum(square(y));
            const std::vector<Tensor> d = grad(loss, std::vector<Parameter>{w});
            return std::pair(max_pool2d(y, {2}), d[0]);
          },
          {.mode = mode});
      const auto [y, d] = step(random({5, 6, 8, 9}, 2));
      std::vector<float> all = y.to_vector<float>();
      for (const float v : d.to_vector<float>()) all.push_back(v);
      results.push_back(all);
    }
    for (std::size_t i = 0; i < results[0].size(); ++i)
      EXPECT_NEAR(results.back()[i], results[0][i], 1e-3 + 1e-4 * std::abs(results[0][i])) << features << ", " << i;
  }
}

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
  EXPECT_THAT(conv2d(x, w, {.padding = Padding::same()}).to_vector<float>(), testing::ElementsAre(12, 23, 34, 40));
  EXPECT_THAT(conv1d(reshape(x, {1, 4, 1}), reshape(w, {2, 1, 1}), {.strides = {2}}).to_vector<float>(), testing::ElementsAre(12, 34));
  EXPECT_THAT(conv2d(x, w, {.padding = Padding::sides({{0, 0}, {1, 0}})}).to_vector<float>(), testing::ElementsAre(1, 12, 23, 34));
}

TEST(Image, TransposedConvolutionUndoesShapes) {
  const Tensor y = Tensor::zeros({DType::f32, {2, 4, 5, 6}}), w = Tensor::zeros({DType::f32, {3, 3, 7, 6}});
  EXPECT_EQ(conv2d_transpose(y, w, {.strides = {2}}).shape(), Shape({2, 9, 11, 7}));
  EXPECT_EQ(conv2d_transpose(y, w, {.strides = {2}, .padding = Padding::same()}).shape(), Shape({2, 8, 10, 7}));
  EXPECT_EQ(conv2d_transpose(y, w, {.padding = Padding::around({1, 1})}).shape(), Shape({2, 4, 5, 7}));
}

TEST(Image, Pools) {
  const Tensor x({1, 5, 2, 0, 3, 4, -1, -2, 9, 7, 6, 8}, {1, 3, 4, 1});
  EXPECT_THAT(max_pool2d(x, {2}).to_vector<float>(), testing::ElementsAre(5, 2));
  EXPECT_THAT(max_pool2d(x, {2}, {.padding = Padding::same()}).to_vector<float>(), testing::ElementsAre(5, 2, 9, 8));
  EXPECT_THAT(average_pool2d(x, {2, 2}, {.padding = Padding::same()}).to_vector<float>(), testing::ElementsAre(3.25f, -0.25f, 8, 7));
  EXPECT_THAT(max_pool1d(reshape(x, {1, 12, 1}), 3).to_vector<float>(), testing::ElementsAre(5, 4, 9, 8));
  EXPECT_THAT(average_pool1d(reshape(x, {1, 12, 1}), 4, {.strides = {8}}).to_vector<float>(), testing::ElementsAre(2, 7.5f));
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
    EXPECT_THAT(step(Tensor({0}, {1})).to_vector<float>(), testing::ElementsAre(1, 10, 0, 100, 11000, 0));
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

#ifdef SINTER_JIT
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
  nn::Sequential model = lenet();
  Trainer trainer(model, loss::sparse_categorical_crossentropy_from_logits, optim::SGD({.learning_rate = 0.01, .momentum = 0.9}));
  const Dataset data{random({3, 28, 28, 1}, 1, 0, 1), random_labels(3, 10, 2)};
  trainer.train_on_batch(data.x, data.y);
  const Tensor rows(std::vector<std::int32_t>{2, 0}, {2});
  const Tensor* in[] = {&data.x.only(), &data.y.only(), &rows};
  const VerifyReport report = trainer.train_step().verify(in);
  EXPECT_TRUE(report.ok()) << report;
}
#endif

TEST(ImageLayers, Mistakes) {
  const Tensor image = Tensor::zeros({DType::f32, {2, 9, 9, 4}});
  EXPECT_THAT(error_of([&] { conv2d(image, Tensor::zeros({DType::f32, {11, 3, 4, 2}})); }),
              HasSubstr("a window of 11 rows has no room in the padded input of 9; make it smaller or pad more"));
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
  EXPECT_THAT(error_of([&] { max_pool2d(image, {10, 2}); }), HasSubstr("a window of 10 rows has no room in the padded input of 9"));
  EXPECT_THAT(error_of([&] { max_pool2d(image, {2}, {.padding = Padding::around({2, 2})}); }),
              HasSubstr("pads must be smaller than the kernel [2,2]"));
  EXPECT_THAT(error_of([] { nn::Conv2D(3, 4, {3}, nn::Activation::none, {.groups = 2}); }),
              HasSubstr("[conv2d] groups must divide channels and features, got 2 groups for 3 channels and 4 features"));
  EXPECT_THAT(error_of([] { nn::Conv2D(3, 4, {0}); }), HasSubstr("[conv2d] the kernel must be at least 1 wide, got 0"));
  EXPECT_THAT(error_of([&] { nn::Conv2D(3, 4, {3})(image); }), HasSubstr("[conv2d] input has 4 channels but the layer was built for 3"));
  EXPECT_THAT(error_of([] { nn::SpatialDropout(1); }), HasSubstr("[SpatialDropout] the rate must be in [0, 1), got 1"));
  EXPECT_THAT(error_of([] { nn::ZeroPadding({-1}); }), HasSubstr("[ZeroPadding] places must be at least 0, got -1"));
}

}  // namespace
}  // namespace sinter::test
