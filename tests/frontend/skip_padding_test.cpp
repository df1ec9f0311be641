// Steps of sequences that a mask leaves out are not computed, and nothing else changes.
#include <bit>

#include "frontend/nn/mask.h"
#include "frontend/nn/recurrent.h"
#include "tests/frontend/helpers.h"

namespace sinter::test::skip_padding_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

nn::Sequential stacked() {
  return nn::Sequential{nn::Bidirectional(nn::GRU(4, 5, {.return_sequences = true})), nn::Dense(10, 6, Activation::tanh), nn::LayerNorm(6),
                        nn::LSTM(6, 3)};
}
nn::Sequential averaged() {
  return nn::Sequential{nn::Dense(4, 20, Activation::relu), nn::SimpleRNN(20, 9, {.return_sequences = true}), nn::GlobalAveragePool()};
}
nn::Sequential softmaxed() {
  return nn::Sequential{nn::LSTM(4, 7, {.return_sequences = true, .reverse = true}), nn::Dense(7, 5), nn::LogSoftmax(), nn::GRU(5, 4)};
}

/// Which of so many steps of samples exist.
std::vector<std::pair<std::string, Tensor>> masks(std::int64_t samples, std::int64_t steps) {
  const auto mask = [&](const std::function<bool(std::int64_t, std::int64_t)>& exists) {
    std::vector<bool> bits;
    for (std::int64_t sample = 0; sample < samples; ++sample)
      for (std::int64_t step = 0; step < steps; ++step) bits.push_back(exists(sample, step));
    return Tensor(bits, {samples, steps});
  };
  const auto length = [steps](std::int64_t sample) { return sample * 7 % (steps + 1); };  // 0 of the first
  return {{"behind", mask([&](std::int64_t n, std::int64_t t) { return t < length(n); })},
          {"before", mask([&](std::int64_t n, std::int64_t t) { return t >= steps - length(n); })},
          {"holes", mask([&](std::int64_t n, std::int64_t t) { return t > length(n) / 2 && t % 3 != n % 3; })},
          {"all", mask([](std::int64_t, std::int64_t) { return true; })},
          {"none", mask([](std::int64_t, std::int64_t) { return false; })}};
}

/// Of a step that returns the outputs, a loss and the gradients.
struct Trained {
  Step<std::vector<Tensor>(Tensor, Tensor)> step;
  Trained(const nn::Sequential& model, std::vector<std::string> without, bool infer = false)
      : step(compile(
            [kept = model, infer](const Tensor& x, const Tensor& mask) {
              nn::Sequential model = kept;  // its parameters are shared
              const Tensor y = model(nn::with_mask(x, mask)), loss = mean(square(y));
              if (infer) return std::vector{y};
              std::vector<Tensor> results = grad(loss, model.trainable_parameters());
              results.insert(results.begin(), {y, loss});
              return results;
            },
            {.threads = 3, .force = true, .without = std::move(without)}, Spec{{DType::f32, {Dim::batch(), Dim::length(), 4}}, InputKind::batch},
            Spec{{DType::boolean, {Dim::batch(), Dim::length()}}, InputKind::batch})) {}
};

TEST(SkipPadding, ChangesNoByte) {
  NEEDS_CODEGEN();
  for (const auto& make : {stacked, averaged, softmaxed})
    for (const bool infer : {false, true}) {
      seed(5);
      const nn::Sequential model = make();
      Trained skips(model, {}, infer), computes(model, {"skip_padding"}, infer);
      for (const auto& [samples, steps] : {std::pair{21, 19}, {9, 40}, {1, 30}, {70, 3}, {8, 1}})
        for (const auto& [name, mask] : masks(samples, steps)) {
          const Tensor x = random({samples, steps, 4}, 2);
          const std::vector<Tensor> a = skips.step(x, mask), b = computes.step(x, mask);
          for (std::size_t i = 0; i < a.size(); ++i)
            EXPECT_EQ(a[i].to_vector<float>(), b[i].to_vector<float>())
                << "result " << i << ", " << samples << " samples of " << steps << ", " << name;
        }
      if (infer) continue;
      EXPECT_THAT(skips.step.explain(), HasSubstr(", steps of "));
      EXPECT_THAT(computes.step.explain(), Not(HasSubstr(", steps of ")));
      const auto report = skips.step.verify(random({21, 19, 4}, 2), masks(21, 19)[0].second);
      EXPECT_TRUE(report.ok()) << report;
    }
}

/// Outputs of a loop that are 0 in padding and are read there, of one number a step and of several.
TEST(SkipPadding, WhatALoopDoesNotComputeIsZeroWhereItIsRead) {
  NEEDS_CODEGEN();
  constexpr std::int64_t steps = 20;
  for (const std::int64_t width : {0, 3, 20}) {  // 0: a number, without a dimension of its own
    const auto shaped = [width](const Tensor& x, std::vector<Dim> dims, std::int64_t columns) {
      if (width) dims.push_back(columns);
      return reshape(x, dims);
    };
    const auto run = [&](std::vector<std::string> without, std::int64_t samples) {
      auto step = compile(
          [&](const Tensor& x, const Tensor& mask) {
            const Dim n = x.dim(0);
            const ScanFunction next = [&](std::span<const Tensor> h, std::span<const Tensor> element) {
              const Tensor exists = shaped(element[1], {n}, 1), after = where(exists, tanh(element[0] + h[0]), h[0]);
              return ScanStep({after}, {where(exists, after, 0)});
            };
            const Scanned made = scan(next, {shaped(slice(x, 1, 0, 1), {n}, width)}, {x, reshape(mask, {n, steps, 1})});
            return std::vector{made.carries[0], made.outputs[0], made.outputs[0] + 1, x * where(shaped(mask, {n, steps}, 1), x, 0)};
          },
          {.without = std::move(without)});
      const Tensor x = random(width ? Shape{samples, steps, width} : Shape{samples, steps}, 3);
      std::vector<std::uint32_t> bits;  // -0 is not 0
      for (const Tensor& result : step(x, masks(samples, steps)[0].second))
        for (const float value : result.to_vector<float>()) bits.push_back(std::bit_cast<std::uint32_t>(value));
      return bits;
    };
    for (const std::int64_t samples : {1, 2, 19}) EXPECT_EQ(run({}, samples), run({"skip_padding"}, samples)) << width << ", " << samples;
  }
}

/// 0 · NaN is NaN, unless nobody multiplies.
TEST(SkipPadding, WhatStandsInPaddingDoesNotReachGradients) {
  NEEDS_CODEGEN();
  seed(5);
  const nn::Sequential model{nn::GRU(4, 5)};
  const Tensor mask = masks(10, 20)[0].second, x = where(reshape(mask, {10, 20, 1}), random({10, 20, 4}, 2), NAN);
  const auto is_finite = [](const std::vector<Tensor>& results) {
    for (const Tensor& tensor : results)
      for (const float value : tensor.to_vector<float>())
        if (!std::isfinite(value)) return false;
    return true;
  };
  EXPECT_TRUE(is_finite(Trained(model, {}).step(x, mask)));
  EXPECT_FALSE(is_finite(Trained(model, {"skip_padding"}).step(x, mask)));
}

}  // namespace
}  // namespace sinter::test::skip_padding_test
