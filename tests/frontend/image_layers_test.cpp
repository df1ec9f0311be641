// Adaptive pools, upsampling, group and instance normalization: tests/fixtures/image_layers.py wrote what PyTorch and Keras make of them.
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>

#include "tests/frontend/mistakes.h"

namespace sinter::test::image_layers_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Values = std::vector<float>;

const std::string folder = SINTER_TEST_FIXTURES;
constexpr Interpolation nearest = Interpolation::nearest, bilinear = Interpolation::bilinear;

const std::map<std::string, Tensor>& recorded() {
  static const std::map<std::string, Tensor> all = [] {
    std::map<std::string, Tensor> arrays;
    for (const auto& [name, tensor] : weights::read(folder + "/image_layers.npz")) arrays.emplace(name, tensor);
    return arrays;
  }();
  return all;
}

void expect_near(const Tensor& got, const Tensor& wanted, double tolerance) {
  ASSERT_EQ(got.shape(), wanted.shape());
  const Values a = got.to_vector<float>(), b = wanted.to_vector<float>();
  for (std::size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], tolerance * std::max(1.0, std::abs(static_cast<double>(b[i])))) << "at " << i;
}

/// What a function gives, and the gradients of sum(y²) / 2 by x and parameters: as recorded, in every mode, and as the double-precision reference has
/// it.
void expect_recorded(const std::string& name, const std::function<Tensor(const Tensor&)>& f, const std::vector<Parameter>& parameters = {}) {
  SCOPED_TRACE(name);
  std::vector<Tensor> wanted{recorded().at(name + " y"), recorded().at(name + " gradient")};
  for (const char* own : {"gamma", "beta"})
    if (!parameters.empty()) wanted.push_back(recorded().at(name + " gradient of " + own));
  const Tensor x = recorded().at(name + " x");
  for (const Mode mode : modes()) {
    auto step = compile(
        [&](const Tensor& in) {
          std::vector<Tensor> results{f(in)};
          const Tensor half = sum(square(results[0])) * 0.5;
          results.push_back(grad(half, {in})[0]);
          if (!parameters.empty())
            for (const Tensor& slope : grad(half, parameters)) results.push_back(slope);
          return results;
        },
        {.mode = mode});
    const std::vector<Tensor> got = step(x);
    ASSERT_EQ(got.size(), wanted.size());
    for (std::size_t i = 0; i < got.size(); ++i) expect_near(got[i], wanted[i], 1e-5);
    if (mode == Mode::graph) {
      const VerifyReport report = step.verify(x);
      EXPECT_TRUE(report.ok()) << report;
    }
  }
}

/// Names of cases, and extents of results.
const std::vector<std::pair<const char*, std::vector<std::int64_t>>> pools{{"divided", {3, 2}}, {"common", {4}},  {"odd", {3, 2}},
                                                                           {"greater", {5, 6}}, {"one", {1}},     {"wide", {1, 2}},
                                                                           {"square", {1, 1}},  {"same", {3, 2}}, {"rows", {2, 3}}};

TEST(AdaptivePool, OfAveragesIsThatOfPyTorchAndKeras) {
  for (const auto& [name, out] : pools)
    expect_recorded(str("average ", name), [&, &extents = out](const Tensor& x) { return nn::AdaptiveAveragePool2D(extents)(x); });
  expect_recorded("average series", [](const Tensor& x) { return nn::AdaptiveAveragePool1D(4)(x); });
}

TEST(AdaptivePool, OfMaximaIsThatOfPyTorchAndKeras) {
  for (const auto& [name, out] : pools)
    expect_recorded(str("max ", name), [&, &extents = out](const Tensor& x) { return nn::AdaptiveMaxPool2D(extents)(x); });
  expect_recorded("max series", [](const Tensor& x) { return nn::AdaptiveMaxPool1D(4)(x); });
}

TEST(AdaptivePool, TheGradientOfAMaximumGoesToItsFirstPlace) {
  expect_recorded("max equal", [](const Tensor& x) { return adaptive_max_pool2d(x, {3, 4}); });
  expect_recorded("max equal divided", [](const Tensor& x) { return adaptive_max_pool2d(x, {7, 3}); });
  // Also where the window is so long that it is pooled in parts: 600 elements, of which 40 and 300 are the greatest.
  Values series(600);
  series[40] = series[300] = 1;
  const Tensor x = watch(Tensor(series, {1, 600, 1}));
  const Values slopes = grad(sum(adaptive_max_pool1d(x, 1)), {x})[0].to_vector<float>();
  EXPECT_EQ(slopes[40], 1);
  EXPECT_EQ(std::count(slopes.begin(), slopes.end(), 0.0f), 599);
}

TEST(AdaptivePool, HasTheWindowsOfTheFormula) {
  for (std::int64_t extent = 1; extent <= 9; ++extent) {
    const Tensor x = random({2, extent, 1}, 1);
    const Values in = x.to_vector<float>();
    for (std::int64_t out = 1; out <= 11; ++out) {
      const Values greatest = adaptive_max_pool1d(x, out).to_vector<float>(), average = adaptive_average_pool1d(x, out).to_vector<float>();
      ASSERT_EQ(greatest.size(), static_cast<std::size_t>(2 * out));
      for (std::int64_t n = 0; n < 2; ++n)
        for (std::int64_t i = 0; i < out; ++i) {
          const std::int64_t begin = i * extent / out, end = ((i + 1) * extent + out - 1) / out;
          double most = -2, total = 0;
          for (std::int64_t k = begin; k < end; ++k) {
            const double element = in[static_cast<std::size_t>(n * extent + k)];
            most = std::max(most, element);
            total += element;
          }
          const auto at = static_cast<std::size_t>(n * out + i);
          EXPECT_EQ(greatest[at], static_cast<float>(most)) << extent << " to " << out;
          EXPECT_NEAR(average[at], total / static_cast<double>(end - begin), 1e-6) << extent << " to " << out;
        }
    }
  }
}

TEST(AdaptivePool, OfNaNIsNaN) {
  const Tensor x(Values{1, NAN, 3, 4, 5}, {1, 1, 5, 1});
  for (const Tensor& y : {adaptive_max_pool2d(x, {1, 2}), adaptive_average_pool2d(x, {1, 2})}) {
    const Values values = y.to_vector<float>();
    EXPECT_TRUE(std::isnan(values[0]));
    EXPECT_FALSE(std::isnan(values[1]));
  }
}

TEST(Upsample, IsThatOfPyTorchAndKeras) {
  const std::vector<std::pair<const char*, std::vector<std::int64_t>>> cases{{"2", {2}}, {"3x2", {3, 2}}, {"1x4", {1, 4}}, {"5 of one", {5, 5}}};
  for (const auto& [name, scale] : cases) {
    expect_recorded(str("nearest ", name), [&, &times = scale](const Tensor& x) { return nn::Upsample(times)(x); });
    expect_recorded(str("bilinear ", name), [&, &times = scale](const Tensor& x) { return nn::Upsample(times, bilinear)(x); });
  }
  expect_recorded("nearest series", [](const Tensor& x) { return nn::Upsample({3})(x); });
  expect_recorded("bilinear series", [](const Tensor& x) { return nn::Upsample({3}, bilinear)(x); });
}

TEST(Upsample, RepeatsOrInterpolates) {
  const Tensor x(Values{0, 4, 8, 16}, {1, 2, 2, 1});
  EXPECT_THAT(upsample2d(x, {1, 2}).to_vector<float>(), ElementsAre(0, 0, 4, 4, 8, 8, 16, 16));
  EXPECT_THAT(upsample2d(x, {2, 1}, nearest).to_vector<float>(), ElementsAre(0, 4, 0, 4, 8, 16, 8, 16));
  EXPECT_THAT(upsample2d(x, {1, 2}, bilinear).to_vector<float>(), ElementsAre(0, 1, 3, 4, 8, 10, 14, 16));
  EXPECT_THAT(upsample1d(reshape(x, {1, 4, 1}), 2, Interpolation::bilinear).to_vector<float>(), ElementsAre(0, 1, 3, 5, 7, 10, 14, 16));
  EXPECT_THAT(upsample1d(reshape(x, {1, 2, 2}), 2, Interpolation::nearest).to_vector<float>(), ElementsAre(0, 4, 0, 4, 8, 16, 8, 16));
  EXPECT_EQ(upsample2d(x, {1}, bilinear).to_vector<float>(), x.to_vector<float>());
  // Of any type where nothing is computed.
  const Tensor classes(std::vector<std::int32_t>{3, 7}, {1, 2, 1, 1});
  EXPECT_THAT(upsample2d(classes, {2}).to_vector<std::int32_t>(), ElementsAre(3, 3, 3, 3, 7, 7, 7, 7));
}

/// Weights of halves and quarters are exact, so what is constant stays so.
TEST(Upsample, KeepsConstantsAndTheMean) {
  const Tensor x = Tensor::filled({DType::f32, {1, 3, 5, 2}}, 0.7);
  for (const std::int64_t scale : {2, 4}) EXPECT_THAT(upsample2d(x, {scale}, bilinear).to_vector<float>(), testing::Each(0.7f));
  const Tensor image = random({2, 4, 4, 3}, 7);
  EXPECT_NEAR(mean(upsample2d(image, {3, 5}, bilinear)).item(), mean(image).item(), 1e-6);
}

TEST(GroupNorm, IsThatOfPyTorchAndKeras) {
  const auto expect = [](const std::string& name, nn::GroupNorm& layer) {
    if (!layer.gamma.defined()) return expect_recorded(name, [&](const Tensor& x) { return layer(x); });
    layer.gamma.assign(recorded().at(name + " gamma"));
    layer.beta.assign(recorded().at(name + " beta"));
    expect_recorded(name, [&](const Tensor& x) { return layer(x); }, {layer.gamma, layer.beta});
  };
  nn::GroupNorm images(3, 6), all(1, 6, {.epsilon = 0.5}), series(2, 6), rows(2, 6), plain(2, 6, {.scale = false, .center = false});
  expect("group images", images);
  expect("group of all", all);
  expect("group series", series);
  expect("group rows", rows);
  expect("group plain", plain);
  nn::InstanceNorm of_images(6), of_series(6, {.scale = false, .center = false});
  expect("instance images", of_images);
  expect("instance series", of_series);
}

TEST(GroupNorm, HasTheParametersThatItsOptionsSay) {
  const nn::GroupNorm both(2, 4), scaled(2, 4, {.center = false}), centered(2, 4, {.scale = false});
  EXPECT_EQ(both.parameters().size(), 2u);
  EXPECT_EQ(both.gamma.shape(), Shape({4}));
  EXPECT_EQ(scaled.parameters().size(), 1u);
  EXPECT_FALSE(scaled.beta.defined());
  EXPECT_FALSE(centered.gamma.defined());
  EXPECT_EQ(centered.beta.read().to_vector<float>(), Values(4, 0));
  EXPECT_EQ(nn::InstanceNorm(3).gamma.read().to_vector<float>(), Values(3, 1));
  EXPECT_EQ(both.kind(), "group_norm");
  EXPECT_EQ(nn::InstanceNorm(3).kind(), "instance_norm");
}

/// Each sample for itself, and the same in training.
TEST(GroupNorm, DoesNotDependOnTheBatchOrOnTraining) {
  nn::GroupNorm norm(2, 4);
  const Tensor x = random({3, 5, 2, 4}, 3);
  const Values all = norm(x).to_vector<float>(), one = norm(slice(x, 0, 1, 2)).to_vector<float>();
  const nn::TrainingScope training;
  EXPECT_EQ(norm(x).to_vector<float>(), all);
  for (std::size_t i = 0; i < one.size(); ++i) EXPECT_EQ(one[i], all[one.size() + i]);
}

/// Padding has no effect, whatever it holds: a sequence gives what it gives alone, and 0 behind.
TEST(GroupNorm, LeavesOutStepsThatAMaskLeavesOut) {
  const Tensor x = random({2, 5, 4}, 4);
  const Tensor mask(std::vector<bool>{true, true, true, false, false, false, false, false, false, false}, {2, 5});
  nn::GroupNorm grouped(2, 4);
  nn::InstanceNorm single(4);
  for (nn::GroupNorm* layer : std::initializer_list<nn::GroupNorm*>{&grouped, &single}) {
    layer->beta.assign(Tensor({1, 2, 3, 4}, {4}));
    const Values alone = (*layer)(slice(slice(x, 0, 0, 1), 1, 0, 3)).to_vector<float>();
    for (const Mode mode : modes()) {
      auto step = compile(
          [&](const Tensor& t, const Tensor& exists) {
            const Tensor y = (*layer)(nn::with_mask(t, exists));
            return std::vector<Tensor>{y, grad(sum(square(y)), {t})[0]};
          },
          {.mode = mode});
      const std::vector<Tensor> results = step(x, mask);
      const Values got = results[0].to_vector<float>(), slopes = results[1].to_vector<float>();
      for (std::size_t i = 0; i < got.size(); ++i) {
        EXPECT_NEAR(got[i], i < alone.size() ? alone[i] : 0, 1e-5) << i;
        if (i >= alone.size()) {
          EXPECT_EQ(slopes[i], 0) << i;
        }
      }
      if (mode == Mode::graph) {
        const VerifyReport report = step.verify(x, mask);
        EXPECT_TRUE(report.ok()) << report;
      }
    }
    const Tensor y = (*layer)(nn::with_mask(x, mask));
    EXPECT_EQ(nn::mask_of(y).to_vector<std::uint8_t>(), mask.to_vector<std::uint8_t>());
  }
}

TEST(GroupNorm, OfSequencesOfAnyLength) {
  NEEDS_CODEGEN();
  nn::GroupNorm norm(2, 4);
  auto step = compile([&](const Tensor& x) { return norm(x); }, {.lengths = {0}});
  for (const std::int64_t length : {1, 6, 13}) {
    const Tensor x = random({3, length, 4}, 5);
    expect_near(step(x), norm(x), 1e-5);
  }
  EXPECT_EQ(step.compile_count(), 1u);
}

/// An encoder and a decoder with all of them, which learns to tell where a bright spot is.
TEST(ImageNetwork, LearnsEagerlyAndCompiled) {
  RandomStream random(6, 6);
  Values images;
  std::vector<std::int32_t> labels;
  for (int i = 0; i < 60; ++i) {
    const std::uint32_t at = random.below(4);
    for (std::uint32_t h = 0; h < 7; ++h)
      for (std::uint32_t w = 0; w < 7; ++w) images.push_back(static_cast<float>(0.3 * random.normal() + 3 * ((h > 3) * 2u + (w > 3) == at)));
    labels.push_back(static_cast<std::int32_t>(at));
  }
  const Dataset data{Tensor(images, {60, 7, 7, 1}), Tensor(labels, {60})};
  std::vector<double> losses;
  for (const Mode mode : modes()) {
    seed(2);
    nn::Sequential model{nn::Conv2D(1, 6, {3}, Activation::none, {.padding = Padding::same()}),
                         nn::GroupNorm(3, 6),
                         nn::ReLU(),
                         nn::AdaptiveMaxPool2D({5, 4}),
                         nn::Upsample({2, 3}, Interpolation::bilinear),
                         nn::Conv2D(6, 4, {3}, Activation::none, {.strides = {2}}),
                         nn::InstanceNorm(4),
                         nn::Upsample({2}),
                         nn::AdaptiveAveragePool2D({3}),
                         nn::Flatten(),
                         nn::Dense(36, 4)};
    Trainer trainer(model, loss::sparse_categorical_crossentropy_from_logits, optim::Adam({.learning_rate = 0.02}), {.mode = mode});
    losses.push_back(trainer.fit(data, {.epochs = 8, .batch_size = 16, .verbose = false}).back().loss);  // the last batch has 12
    EXPECT_GT(*trainer.evaluate(data).accuracy, 0.9);
    if (mode == Mode::graph) {
      EXPECT_EQ(trainer.train_step().compile_count(), 1u);
      const Tensor rows(std::vector<std::int32_t>{0, 5, 3}, {3});
      const Tensor* in[] = {&data.x.only(), &data.y.only(), &rows};
      const VerifyReport report = trainer.train_step().verify(in);
      EXPECT_TRUE(report.ok()) << report;
    }
  }
  EXPECT_NEAR(losses.front(), losses.back(), 0.02);
}

/// Batches of several samples, and of one, which is divided among the threads.
TEST(ImageNetwork, TrainsToTheSameBytesOnAnyNumberOfThreads) {
  NEEDS_CODEGEN();
  const Dataset data{random({7, 12, 10, 2}, 8), random_labels(7, 3, 9)};
  for (const std::int64_t batch : {1, 4}) {
    const auto trained = [&](int threads) {
      seed(3);
      nn::Sequential model{nn::Conv2D(2, 8, {3}),
                           nn::GroupNorm(2, 8),
                           nn::AdaptiveMaxPool2D({4, 5}),
                           nn::Upsample({3, 2}, Interpolation::bilinear),
                           nn::InstanceNorm(8),
                           nn::Conv2D(8, 4, {3}),
                           nn::Upsample({2}),
                           nn::AdaptiveAveragePool2D({3}),
                           nn::Flatten(),
                           nn::Dense(36, 3)};
      Trainer trainer(model, loss::sparse_categorical_crossentropy_from_logits, optim::SGD({.learning_rate = 0.1}),
                      {.threads = threads, .force = true});
      trainer.fit(data, {.epochs = 2, .batch_size = batch, .verbose = false});
      Values all;
      for (const Parameter& p : model.parameters())
        for (const float v : p.read().to_vector<float>()) all.push_back(v);
      return all;
    };
    const Values one = trained(1);
    for (const int threads : {2, 3}) EXPECT_EQ(trained(threads), one) << threads << " threads, batches of " << batch;
  }
}

TEST(ImageLayerErrors, OfConstruction) {
  using namespace nn;
  expect_errors({{"[adaptive_max_pool2d] the result's extents must be at least 1, got 0", [] { AdaptiveMaxPool2D({0}); }},
                 {"[adaptive_average_pool2d] the result's extents must be one number or one for each of 2 axes, got 3",
                  [] { AdaptiveAveragePool2D({1, 2, 3}); }},
                 {"[adaptive_max_pool1d] the result's length must be at least 1, got -1", [] { AdaptiveMaxPool1D(-1); }},
                 {"[adaptive_average_pool1d] the result's length must be at least 1, got 0", [] { AdaptiveAveragePool1D(0); }},
                 {"[Upsample] the scale must be at least 1, got 0", [] { Upsample({2, 0}); }},
                 {"[Upsample] needs a scale for each axis, or one for all", [] { Upsample({}); }},
                 {"[GroupNorm] groups must divide channels, got 4 groups for 6 channels", [] { GroupNorm(4, 6); }},
                 {"[GroupNorm] groups must divide channels, got 0 groups for 6 channels", [] { GroupNorm(0, 6); }},
                 {"[GroupNorm] needs at least 1 feature, got 0", [] { GroupNorm(1, 0); }},
                 {"[InstanceNorm] needs at least 1 feature, got 0", [] { InstanceNorm(0); }},
                 {"[InstanceNorm] epsilon must be a positive number, got 0", [] { InstanceNorm(3, {.epsilon = 0}); }}});
}

TEST(ImageLayerErrors, OfInputs) {
  const Tensor flat = random({2, 3}, 1), image = random({2, 4, 4, 3}, 2), bytes = Tensor::zeros({DType::u8, {2, 4, 4, 3}});
  nn::Upsample twice({2, 2});
  nn::GroupNorm grouped(2, 6);
  nn::InstanceNorm single(3);
  expect_errors(
      {{"the input must be [batch, height, width, channels], got f32[2,3]", [&] { adaptive_max_pool2d(flat, {1}); }},
       {"the input must be [batch, length, channels], got f32[2,4,4,3]", [&] { adaptive_average_pool1d(image, 1); }},
       {"[adaptive_average_pool2d] the result's extents must be at least 1, got 0", [&] { adaptive_average_pool2d(image, {2, 0}); }},
       {"the input must be f32, got u8", [&] { adaptive_average_pool2d(bytes, {3}); }},
       {"what is interpolated must be f32, got u8", [&] { upsample2d(bytes, {2}, bilinear); }},
       {"[upsample2d] the scale must be one number or one for each of 2 axes, got 3", [&] { upsample2d(image, {1, 2, 3}); }},
       {"[upsample1d] the scale must be at least 1, got 0", [&] { upsample1d(random({2, 3, 4}, 1), 0); }},
       {"[adaptive pool] 5001 windows over an axis of 4 elements are of 5001 kinds, at most 1024 are possible; choose a number that has a "
        "greater divisor in common with 4",
        [&] { adaptive_max_pool2d(image, {2, 5001}); }},
       {"[upsample] the scale of a bilinear interpolation may be at most 1024, got 2000; upsample twice",
        [&] { upsample2d(image, {1, 2000}, bilinear); }},
       {"[upsample] has scales for 2 axes, but the input is f32[2,3,4]", [&] { twice(random({2, 3, 4}, 1)); }},
       {"[upsample] input must be [batch, height, width, channels] or [batch, length, channels], got f32[2,3]", [&] { twice(flat); }},
       {"[group_norm] input must be [batch, ..., 6], got f32[2,3]; the layer was built for 6 features", [&] { grouped(flat); }},
       {"[instance_norm] input must be [batch, ..., 3] with axes between these, got f32[2,3]: a channel of one element is its own mean; take "
        "LayerNorm or BatchNorm",
        [&] { single(flat); }}});
  auto step = compile([](const Tensor& x) { return adaptive_max_pool1d(x, 2); }, {.mode = modes().back(), .lengths = {0}});
  if (codegen::is_built()) {
    EXPECT_THAT(error_of([&] { step(random({2, 3, 4}, 1)); }),
                HasSubstr("[adaptive_max_pool1d] sequences of any length, T, have no windows of T / 2 steps, because that is no length; pad the "
                          "sequences to one length with Sequences::padded, or take a global pool"));
  }
}

}  // namespace
}  // namespace sinter::test::image_layers_test
