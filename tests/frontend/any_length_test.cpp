// Convolutions and pools over sequences of any length, with and without masks.
#include <gmock/gmock.h>

#include "frontend/nn/convolution.h"
#include "frontend/nn/mask.h"
#include "frontend/nn/pool.h"
#include "tests/frontend/helpers.h"
#include "tests/ir/expect_error.h"

namespace sinter::test::any_length_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Values = std::vector<float>;

TEST(Shift, MovesElementsAlongAnAxis) {
  const Tensor x(Values{1, 2, 3, 4, 5, 6}, {2, 3});
  EXPECT_THAT(shift(x, 1, 1).to_vector<float>(), ElementsAre(0, 1, 2, 0, 4, 5));
  EXPECT_THAT(shift(x, -1, -1, 9).to_vector<float>(), ElementsAre(2, 3, 9, 5, 6, 9));
  EXPECT_THAT(shift(x, 0, 0).to_vector<float>(), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(shift(x, 5, 1, -1).to_vector<float>(), ElementsAre(-1, -1, -1, -1, -1, -1));
  EXPECT_THAT(shift(Tensor(std::vector<std::int32_t>{1, 2, 3}, {3}), 1, 0).to_vector<std::int32_t>(), ElementsAre(0, 1, 2));
  EXPECT_THAT(error_of([&] { shift(x, 1, 2); }), HasSubstr("axis 2"));
  EXPECT_THAT(error_of([&] { shift(cast(x, DType::u8), 1, 1, 0.5f); }), HasSubstr("shift: "));
  auto step = compile([](const Tensor& x) { return shift(x, 1, 0); }, {.mode = modes().back()});
  EXPECT_THAT(error_of([&] { step(x); }), HasSubstr("samples cannot be shifted, and axis 0 of [N,3] has N"));
}

/// What a function gives for sequences of one length, and compiled for any length.
void expect_same(const std::function<Tensor(const Tensor&)>& f, const Shape& shape, double tolerance) {
  const Tensor x = random(shape, 1);
  const auto with_gradient = [&](const Tensor& x) { return std::vector<Tensor>{f(x), grad(sum(square(f(x))), {x})[0]}; };
  auto fixed = compile(with_gradient, {.mode = Mode::eager}), any = compile(with_gradient, {.lengths = {0}});
  const std::vector<Tensor> wanted = fixed(x), found = any(x);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    ASSERT_EQ(found[i].shape(), wanted[i].shape());
    const Values a = wanted[i].to_vector<float>(), b = found[i].to_vector<float>();
    for (std::size_t k = 0; k < a.size(); ++k) ASSERT_NEAR(a[k], b[k], tolerance) << i << ", " << k;
  }
  const Shape longer = shape.with(1, shape[1].factor() + 3);
  EXPECT_EQ(any(random(longer, 2))[0].shape()[1], longer[1]);
  EXPECT_EQ(any.compile_count(), 1u);
}

TEST(AnyLength, ConvolutionsAreThoseOfSequencesOfOneLength) {
  NEEDS_CODEGEN();
  for (const std::int64_t size : {1, 2, 3, 5})
    for (const std::int64_t dilation : {1, 2})
      for (const std::int64_t groups : {1, 2})
        for (const Padding& padding : {Padding::same(), Padding::causal()}) {
          const Tensor kernel = random({size, 4 / groups, 6}, 3);
          const ConvOptions options{.dilations = {dilation}, .padding = padding, .groups = groups};
          expect_same([&](const Tensor& x) { return conv1d(x, kernel, options); }, {3, 7, 4}, 1e-5);
        }
}

TEST(AnyLength, PoolsAreThoseOfSequencesOfOneLength) {
  NEEDS_CODEGEN();
  for (const std::int64_t window : {1, 2, 3, 6})
    for (const Padding& padding : {Padding::same(), Padding::causal()}) {
      const PoolOptions options{.strides = {1}, .padding = padding};
      expect_same([&](const Tensor& x) { return max_pool1d(x, window, options); }, {3, 7, 4}, 1e-6);
      expect_same([&](const Tensor& x) { return average_pool1d(x, window, options); }, {3, 7, 4}, 1e-6);
    }
}

TEST(AnyLength, CausalWindowsSeeNothingThatComesAfter) {
  const Tensor kernel = random({3, 2, 2}, 1), x = random({1, 6, 2}, 2);
  const ConvOptions options{.padding = Padding::causal()};
  const Tensor all = conv1d(x, kernel, options), first = conv1d(slice(x, 1, 0, 4), kernel, options);
  EXPECT_EQ(slice(all, 1, 0, 4).to_vector<float>(), first.to_vector<float>());
  EXPECT_EQ(str(Padding::causal()), "causal");
}

/// A layer gives the same for each sample whatever its padding holds, and however long it is.
void expect_no_padding(nn::Module& layer) {
  const std::vector<std::int32_t> lengths{4, 0, 1, 6};
  const Tensor counts(lengths, {4});
  const auto result = [&](std::int64_t steps, float padding, Mode mode) {
    const Tensor x = random({4, 6, 3}, 1), longer = steps == 6 ? x : pad(x, 1, 0, steps - 6, 7);
    auto step = compile(
        [&](const Tensor& x, const Tensor& lengths) {
          const Tensor mask = nn::sequence_mask(lengths, x.dim(1)), y = layer(nn::with_mask(nn::where_exists(mask, x, padding), mask));
          return nn::mask_of(y).defined() ? nn::where_exists(mask, y) : y;
        },
        {.mode = mode, .lengths = {0}});
    const Tensor y = step(longer, counts);
    return y.rank() == 3 ? slice(y, 1, 0, 6).to_vector<float>() : y.to_vector<float>();
  };
  for (const Mode mode : modes()) {
    const Values wanted = result(6, 0, mode);
    EXPECT_EQ(result(6, 50, mode), wanted) << layer.kind();
    EXPECT_EQ(result(9, -3, mode), wanted) << layer.kind();
  }
  const Values eager = result(6, 0, Mode::eager), last = result(6, 0, modes().back());
  for (std::size_t i = 0; i < eager.size(); ++i) EXPECT_NEAR(eager[i], last[i], 1e-5);
}

TEST(AnyLength, LayersLeaveOutWhatAMaskLeavesOut) {
  seed(1);
  nn::Conv1D same(3, 5, 3, Activation::relu, {.padding = Padding::same()}), causal(3, 5, 2, Activation::none, {.padding = Padding::causal()});
  nn::MaxPool1D max(3, {.strides = {1}, .padding = Padding::same()});
  nn::AveragePool1D average(3, {.strides = {1}, .padding = Padding::same()});
  nn::GlobalMaxPool global_max;
  nn::GlobalAveragePool global_average;
  for (nn::Module* layer : std::initializer_list<nn::Module*>{&same, &causal, &max, &average, &global_max, &global_average})
    expect_no_padding(*layer);
}

TEST(AnyLength, AveragesCountTheStepsThatExist) {
  nn::AveragePool1D average(3, {.strides = {1}, .padding = Padding::same()});
  const Tensor x(Values{3, 5, 100, 7, 100, 100}, {2, 3, 1}), mask(std::vector<bool>{true, true, false, true, false, false}, {2, 3});
  EXPECT_THAT(nn::where_exists(mask, average(nn::with_mask(x, mask))).to_vector<float>(), ElementsAre(4, 4, 0, 7, 0, 0));
  nn::GlobalMaxPool greatest;
  EXPECT_THAT(greatest(nn::with_mask(-x, mask)).to_vector<float>(), ElementsAre(-3, -7));
  EXPECT_THAT(greatest(nn::with_mask(-x, Tensor(std::vector<bool>(6), {2, 3}))).to_vector<float>(), ElementsAre(0, 0)) << "of no steps";
}

TEST(AnyLength, LengthsThatCannotBeAreErrors) {
  const Tensor kernel = random({3, 2, 2}, 1);
  const auto error = [&](const std::function<Tensor(const Tensor&)>& f) {
    return error_of([&] { compile([&](const Tensor& x) { return f(x); }, {.mode = modes().back(), .lengths = {0}})(random({2, 5, 2}, 1)); });
  };
  EXPECT_THAT(
      error([&](const Tensor& x) { return conv1d(x, kernel); }),
      HasSubstr("over sequences of any length, T, padding must keep the length, as same and causal do; with valid there would be T - 2 steps"));
  EXPECT_THAT(error([&](const Tensor& x) { return conv1d(x, kernel, {.strides = {2}, .padding = Padding::same()}); }),
              HasSubstr("over sequences of any length, T, strides must be 1, because T / 2 is no length, got 2; pad the sequences to one length"));
  EXPECT_THAT(error([&](const Tensor& x) { return max_pool1d(x, 3, {.padding = Padding::same()}); }), HasSubstr("strides must be 1, because T / 3"));
  EXPECT_THAT(error([&](const Tensor& x) { return max_pool1d(x, 0, {.strides = {1}}); }), HasSubstr("the window must be at least 1, got 0"));
  EXPECT_THAT(error([&](const Tensor& x) { return conv1d(x, kernel, {.padding = Padding::sides({{-1, 3}})}); }), HasSubstr("must not be negative"));
  EXPECT_THAT(error([&](const Tensor& x) { return conv1d(x, kernel, {.dilations = {1, 2}, .padding = Padding::same()}); }),
              HasSubstr("must be one number of at least 1, got 2 numbers"));
  EXPECT_THAT(error([&](const Tensor& x) { return conv1d(x, kernel, {.dilations = {0}, .padding = Padding::same()}); }),
              HasSubstr("must be one number of at least 1, got 0"));
  EXPECT_THAT(error([&](const Tensor& x) { return conv1d(x, random({3, 1, 3}, 1), {.padding = Padding::same(), .groups = 2}); }),
              HasSubstr("the kernel f32[3,1,3] does not fit f32[N,T,2] in 2 groups"));
  EXPECT_THAT(error_of([&] { conv2d(random({1, 4, 4, 2}, 1), random({3, 3, 2, 2}, 1), {.padding = Padding::causal()}); }),
              HasSubstr("causal padding is for series, [batch, length, channels]; images have no before and after"));
}

TEST(AnyLength, InputsOfAnyLengthAreBatches) {
  auto step = compile([](const Tensor& x) { return x + 1; }, {.name = "more", .mode = modes().back(), .lengths = {0}});
  EXPECT_USER_ERROR(step(random({3}, 1)), "[more] input 0 is to have any length, but is no batch [N, T, ...]: it is f32[3]");
}

}  // namespace
}  // namespace sinter::test::any_length_test
