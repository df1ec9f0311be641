// Masks: which steps of sequences exist.
#include "frontend/nn/mask.h"

#include "frontend/nn/recurrent.h"
#include "tests/frontend/helpers.h"
#include "tests/ir/expect_error.h"

namespace sinter::test::mask_test {
namespace {

using ::testing::HasSubstr;
using Values = std::vector<float>;

/// Word numbers from 1 on of sequences of these lengths, padded with 0 behind or before to so many steps.
Tensor words(const std::vector<std::int64_t>& lengths, std::int64_t steps, bool before = false) {
  std::vector<std::int32_t> numbers;
  for (std::size_t n = 0; n < lengths.size(); ++n)
    for (std::int64_t t = 0; t < steps; ++t) {
      const std::int64_t place = before ? t - (steps - lengths[n]) : t;
      numbers.push_back(place >= 0 && place < lengths[n] ? static_cast<std::int32_t>(1 + (5 * n + 3 * static_cast<std::size_t>(place)) % 8) : 0);
    }
  return {numbers, {static_cast<std::int64_t>(lengths.size()), steps}};
}

/// A model that a mask goes through: of two recurrent layers and what lies between.
nn::Sequential reader(bool gru) {
  seed(3);
  nn::Sequential model{nn::Embedding(9, 4, {.mask_zero = true}), nn::Dropout(0.3), nn::Dense(4, 5, Activation::tanh)};
  if (gru) model.add(nn::Sequential{nn::GRU(5, 6, {.return_sequences = true}), nn::LayerNorm(6), nn::SimpleRNN(6, 3)});
  else model.add(nn::Sequential{nn::LSTM(5, 6, {.return_sequences = true}), nn::Sigmoid(), nn::GRU(6, 3, {.reset_after = false})});
  return model;
}

/// The outputs, the loss and the gradients.
std::vector<Values> all_of(nn::Sequential& model, const Tensor& ids, Mode mode) {
  const std::vector<Parameter> parameters = model.trainable_parameters();
  auto step = compile(
      [&](const Tensor& ids) {
        const Tensor y = model(ids), loss = mean(square(y));
        std::vector<Tensor> results = grad(loss, parameters);
        results.insert(results.begin(), {y, loss});
        return results;
      },
      {.mode = mode});
  std::vector<Values> values;
  for (const Tensor& result : step(ids)) values.push_back(result.to_vector<float>());
  return values;
}

TEST(Mask, MorePaddingChangesNothing) {
  const std::vector<std::int64_t> lengths{4, 1, 6, 3};
  for (const Mode mode : modes())
    for (const bool gru : {true, false}) {
      nn::Sequential model = reader(gru);
      const std::vector<Values> least = all_of(model, words(lengths, 6), mode);
      for (const std::int64_t steps : {7, 20})
        for (const bool before : {false, true}) {
          const std::vector<Values> padded = all_of(model, words(lengths, steps, before), mode);
          for (std::size_t i = 0; i < least.size(); ++i) {
            if (i > 1) {  // gradients of weights are sums over more rows, in another order
              for (std::size_t k = 0; k < least[i].size(); ++k) EXPECT_NEAR(padded[i][k], least[i][k], 1e-6) << i;
            } else {
              EXPECT_EQ(padded[i], least[i]) << "result " << i << " of " << steps << " steps, padded " << (before ? "before" : "behind");
            }
          }
        }
    }
}

TEST(Mask, WhatStandsInPaddingDoesNotMatter) {
  seed(3);
  nn::LSTM layer(2, 5, {.return_sequences = true});
  const Tensor mask(std::vector<bool>{true, true, false, false, true, false}, {2, 3}), x = random({2, 3, 2}, 1);
  const Tensor other = where(reshape(mask, {2, 3, 1}), x, 1000);
  for (const Mode mode : modes()) {
    auto step = compile(
        [&](const Tensor& x, const Tensor& mask) {
          const Tensor y = layer(nn::with_mask(x, mask));
          return std::vector{y, grad(sum(y), std::vector<Parameter>{layer.weight})[0]};
        },
        {.mode = mode});
    const std::vector<Tensor> a = step(x, mask), b = step(other, mask);
    EXPECT_EQ(a[0].to_vector<float>(), b[0].to_vector<float>());
    EXPECT_EQ(a[1].to_vector<float>(), b[1].to_vector<float>());
  }
}

TEST(Mask, EachSampleIsAsAlone) {
  const std::vector<std::int64_t> lengths{4, 1, 6, 3};
  for (const Mode mode : modes()) {
    nn::Sequential model = reader(true);
    auto step = compile([&](const Tensor& ids) { return model(ids); }, {.mode = mode});
    const Values together = step(words(lengths, 6)).to_vector<float>();
    const std::vector<std::int32_t> numbers = words(lengths, 6).to_vector<std::int32_t>();
    for (std::size_t n = 0; n < lengths.size(); ++n) {
      const auto first = numbers.begin() + static_cast<std::ptrdiff_t>(6 * n);
      const Values alone = step(Tensor(std::vector<std::int32_t>(first, first + lengths[n]), {1, lengths[n]})).to_vector<float>();
      for (std::size_t j = 0; j < 3; ++j) EXPECT_NEAR(together[3 * n + j], alone[j], 1e-6) << n;
    }
  }
}

TEST(Mask, OutputsOfStepsThatDoNotExistAreThoseBefore) {
  seed(3);
  nn::GRU layer(2, 3, {.return_sequences = true, .return_state = true});
  const Tensor x = random({1, 4, 2}, 1), initial = random({1, 3}, 2);
  const Tensor in[] = {nn::with_mask(x, Tensor(std::vector<bool>{false, true, false, true}, {1, 4})), initial};
  const std::vector<Tensor> out = layer.call_all(in);
  const auto at = [&](std::int64_t t) { return reshape(slice(out[0], 1, t, t + 1), {1, 3}).to_vector<float>(); };
  EXPECT_EQ(at(0), initial.to_vector<float>());
  EXPECT_EQ(at(2), at(1));
  EXPECT_EQ(at(3), out[1].to_vector<float>());
  EXPECT_EQ(nn::mask_of(out[0]).to_vector<std::uint8_t>(), (std::vector<std::uint8_t>{0, 1, 0, 1}));
}

TEST(Mask, GoesThroughLayersThatTreatEachStepForItself) {
  seed(3);
  const Tensor x = nn::with_mask(random({2, 3, 4}, 1), Tensor(std::vector<bool>{true, true, false, true, false, false}, {2, 3}));
  const std::vector<std::shared_ptr<nn::Module>> pass{std::make_shared<nn::Dense>(4, 4),
                                                      std::make_shared<nn::Dropout>(0.5),
                                                      std::make_shared<nn::LayerNorm>(4),
                                                      std::make_shared<nn::GroupNorm>(2, 4),
                                                      std::make_shared<nn::InstanceNorm>(4),
                                                      std::make_shared<nn::ReLU>(),
                                                      std::make_shared<nn::LogSoftmax>(),
                                                      std::make_shared<nn::LeakyReLU>(),
                                                      std::make_shared<nn::ELU>(),
                                                      std::make_shared<nn::GELU>(),
                                                      std::make_shared<nn::PReLU>(),
                                                      std::make_shared<nn::Identity>(),
                                                      std::make_shared<nn::SpatialDropout>(0.5),
                                                      std::make_shared<nn::Sequential>(nn::Dense(4, 4), nn::Tanh()),
                                                      std::make_shared<nn::Add>(nn::Identity(), nn::Dense(4, 4)),
                                                      std::make_shared<nn::Concat>(nn::Identity(), nn::GRU(4, 2, {.return_sequences = true}))};
  for (const auto& layer : pass) {
    const Tensor mask = nn::mask_of((*layer)(x));
    ASSERT_TRUE(mask.defined()) << layer->kind();
    EXPECT_EQ(mask.to_vector<std::uint8_t>(), x.mask()->to_vector<std::uint8_t>());
    EXPECT_TRUE(nn::mask_of(layer->call_all({&x, 1})[0]).defined()) << layer->kind();
  }
  const std::vector<std::shared_ptr<nn::Module>> lose{std::make_shared<nn::Flatten>(),
                                                      std::make_shared<nn::Conv1D>(4, 2, 2),
                                                      std::make_shared<nn::MaxPool1D>(2),
                                                      std::make_shared<nn::AdaptiveMaxPool1D>(2),
                                                      std::make_shared<nn::Upsample>(std::vector<std::int64_t>{2}),
                                                      std::make_shared<nn::GRU>(4, 2),
                                                      std::make_shared<nn::BatchNorm>(4),
                                                      std::make_shared<nn::Reshape>(std::vector<std::int64_t>{12}),
                                                      std::make_shared<nn::GlobalAveragePool>(),
                                                      std::make_shared<nn::ZeroPadding>(std::vector<std::int64_t>{1}),
                                                      std::make_shared<nn::Add>(nn::Identity(), nn::BatchNorm(4))};
  for (const auto& layer : lose) EXPECT_FALSE(nn::mask_of((*layer)(x)).defined()) << layer->kind();
  EXPECT_FALSE(nn::mask_of(x + 1).defined());
}

TEST(Mask, ModulesOfOnesOwnSayWhetherTheyPassIt) {
  struct Scale : nn::Module {
    Scale() : Module("scale") {}
    Tensor forward(const Tensor& x) override { return x * 2; }
    bool passes_mask() const override { return true; }
  } scale;
  const Tensor x = nn::with_mask(random({1, 2, 3}, 1), Tensor(std::vector<bool>{true, false}, {1, 2}));
  EXPECT_EQ(nn::mask_of(scale(x)).to_vector<std::uint8_t>(), (std::vector<std::uint8_t>{1, 0}));
}

TEST(Mask, MasksOfBranchesAreOne) {
  const Tensor x(std::vector<float>{0, 0, 1, 2, 3, 4}, {1, 3, 2});
  nn::Concat both(nn::Masking(0), nn::Masking(1));
  nn::Add sum(nn::Masking(3), nn::Masking(7));
  EXPECT_EQ(nn::mask_of(both(x)).to_vector<std::uint8_t>(), (std::vector<std::uint8_t>{0, 1, 1}));
  EXPECT_EQ(nn::mask_of(sum(x)).to_vector<std::uint8_t>(), (std::vector<std::uint8_t>{1, 1, 1}));
}

TEST(Mask, AveragesOverStepsThatExist) {
  const Tensor x(std::vector<float>{1, 2, 3, 4, 100, 100, 5, 6, 7, 8, 9, 10}, {2, 3, 2});
  nn::GlobalAveragePool pool;
  const Tensor mask(std::vector<bool>{true, true, false, false, false, false}, {2, 3});
  EXPECT_EQ(pool(nn::with_mask(x, mask)).to_vector<float>(), (Values{2, 3, 0, 0}));
}

TEST(Mask, MaskingHidesStepsOfOneValue) {
  const Tensor x(std::vector<float>{-1, -1, 3, -1, -1, -1, 5, 6}, {2, 2, 2});
  nn::Masking layer(-1);
  const Tensor y = layer(x);
  EXPECT_EQ(nn::mask_of(y).to_vector<std::uint8_t>(), (std::vector<std::uint8_t>{0, 1, 0, 1}));
  EXPECT_EQ(y.to_vector<float>(), (Values{0, 0, 3, -1, 0, 0, 5, 6}));
}

TEST(Mask, OfLengths) {
  const std::vector<std::uint8_t> wanted{1, 1, 0, 0, 0, 0, 1, 1, 1};
  const Tensor lengths(std::vector<std::int32_t>{2, 0, 3}, {3}), x = random({3, 3, 2}, 1);
  for (const Mode mode : modes()) {
    auto step = compile([](const Tensor& x, const Tensor& lengths) { return nn::sequence_mask(lengths, x.dim(1)); }, {.mode = mode});
    EXPECT_EQ(step(x, lengths).to_vector<std::uint8_t>(), wanted);
  }
  EXPECT_EQ(nn::sequence_mask(Tensor(std::vector<std::uint32_t>{2, 0, 3}, {3}), 3).to_vector<std::uint8_t>(), wanted);
}

TEST(Mask, RefusesWhatDoesNotFit) {
  const Tensor x = random({2, 3, 4}, 1), mask(std::vector<bool>(6, true), {2, 3});
  EXPECT_THAT(error_of([&] { nn::with_mask(random({2}, 1), mask); }), HasSubstr("with_mask: x must be [N, T, features...], got f32[2]"));
  EXPECT_THAT(error_of([&] { nn::with_mask(x, Tensor(std::vector<bool>(8, true), {2, 4})); }),
              HasSubstr("with_mask: the mask of f32[2,3,4] must be bool[2,3], got bool[2,4]"));
  EXPECT_THAT(error_of([&] { nn::with_mask(x, random({2, 3}, 1)); }), HasSubstr("with_mask: the mask of f32[2,3,4] must be bool[2,3], got f32[2,3]"));
  EXPECT_THAT(error_of([&] { nn::sequence_mask(random({2}, 1), 3); }), HasSubstr("sequence_mask: lengths must be i32 or u32 [N], got f32[2]"));
  nn::Masking masking;
  EXPECT_USER_ERROR(masking(random({2, 3}, 1)), "[masking] input must be [N, T, features], got f32[2,3]");
  nn::Embedding embedding(3, 2, {.mask_zero = true});
  EXPECT_USER_ERROR(embedding(Tensor(std::vector<std::int32_t>{1, 2}, {2})), "[embedding] masks sequences of entry numbers [N, T], got i32[2]");
  for (const Mode mode : modes()) {
    auto step = compile([](const Tensor& x) { return x * 2; }, {.name = "twice", .mode = mode});
    const char* message = "[twice] input 0 has a mask, which would be lost here; make the mask an input too, and call nn::with_mask inside";
    EXPECT_USER_ERROR(step(nn::with_mask(x, mask)), message);
    EXPECT_EQ(step(x).shape(), x.shape());
    EXPECT_USER_ERROR(step(nn::with_mask(x, mask)), message) << "known types do not hide it";
  }
}

}  // namespace
}  // namespace sinter::test::mask_test
