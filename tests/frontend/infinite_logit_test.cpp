// Losses of masked (-infinity) and infinite logits, of infinite predictions and of samples without weight: the limits of their formulas.
#include <cmath>
#include <limits>

#include "tests/frontend/helpers.h"

namespace sinter::test::infinite_logit_test {
namespace {

using testing::ElementsAre;
using testing::FloatNear;

constexpr float infinity = std::numeric_limits<float>::infinity();
/// -log(softmax(2, 1)[0]), and the softmax.
constexpr float right = 0.3132617f, chance = 0.7310586f;

struct Judged {
  std::vector<float> values, gradient;
};

/// A loss's values, and the gradient of their sum.
Judged judge(Mode mode, const Loss& loss, const Tensor& prediction, const Tensor& target) {
  const Parameter p("p", prediction);
  auto step = compile(
      [&](const Tensor& y) {
        const Tensor values = loss.values(p, y);
        return std::tuple(values, grad(sum(values), std::array{p})[0]);
      },
      {.mode = mode, .kinds = {InputKind::fixed}});
  const auto [values, gradient] = step(target);
  return {values.to_vector<float>(), gradient.to_vector<float>()};
}

testing::Matcher<float> near(float wanted) { return FloatNear(wanted, 1e-6f); }

TEST(InfiniteLogit, OfAMaskedClassCountsNothing) {
  const Tensor p({2, -infinity, 1}, {1, 3}), classes(std::vector<std::int32_t>{0}, {1}), one_hot_row({1, 0, 0}, {1, 3});
  for (const Mode mode : modes())
    for (const auto& [loss, target] : {std::pair{loss::sparse_categorical_crossentropy_from_logits, classes},
                                       {loss::categorical_crossentropy_from_logits, classes},
                                       {loss::categorical_crossentropy_from_logits, one_hot_row}}) {
      const auto [values, gradient] = judge(mode, loss, p, target);
      EXPECT_THAT(values, ElementsAre(near(right)));
      EXPECT_THAT(gradient, ElementsAre(near(chance - 1), 0, near(1 - chance)));
    }
}

/// A row with NaN among its logits has no probabilities; other rows are as they are without it.
TEST(NanLogit, SpoilsItsRowAlone) {
  for (const Mode mode : modes())
    for (const auto& f : std::initializer_list<Tensor (*)(const Arg&)>{softmax, log_softmax}) {
      auto step = compile([&](const Tensor& x) { return f(x); }, {.mode = mode});
      for (const std::int64_t classes : {3, 16, 21, 70, 150})
        for (const std::int64_t at : {std::int64_t{0}, classes / 2, classes - 1}) {
          SCOPED_TRACE(str(classes, " classes, NaN at ", at));
          std::vector<float> logits = random({3, classes}, 1).to_vector<float>();
          const std::vector<float> without = step(Tensor(logits, {3, classes})).to_vector<float>();
          logits[static_cast<std::size_t>(classes + at)] = std::numeric_limits<float>::quiet_NaN();
          const std::vector<float> with = step(Tensor(logits, {3, classes})).to_vector<float>();
          for (std::size_t i = 0; i < with.size(); ++i) {
            const bool spoilt = static_cast<std::int64_t>(i) / classes == 1;
            if (spoilt) EXPECT_TRUE(std::isnan(with[i])) << i;
            else EXPECT_EQ(with[i], without[i]) << i;
          }
        }
    }
}

TEST(InfiniteLogit, OfAMaskedClassIsNotSmoothed) {
  const Loss loss = loss::categorical({.from_logits = true, .label_smoothing = 0.3f});
  const Tensor p({2, -infinity, 1}, {1, 3}), y(std::vector<std::int32_t>{0}, {1});
  const float other = 1.3132617f;  // -log(softmax(2, 1)[1])
  for (const Mode mode : modes()) {
    const auto [values, gradient] = judge(mode, loss, p, y);
    EXPECT_THAT(values, ElementsAre(near(0.8f * right + 0.1f * other)));
    EXPECT_THAT(gradient, ElementsAre(near(0.9f * chance - 0.8f), 0, near(0.9f * (1 - chance) - 0.1f)));
  }
}

TEST(InfiniteLogit, OfTheTargetIsAnInfiniteLoss) {
  const Tensor p({2, -infinity, 1}, {1, 3}), y(std::vector<std::int32_t>{1}, {1});
  for (const Mode mode : modes()) {
    const auto [values, gradient] = judge(mode, loss::sparse_categorical_crossentropy_from_logits, p, y);
    EXPECT_THAT(values, ElementsAre(infinity));
    EXPECT_THAT(gradient, ElementsAre(near(chance), -1, near(1 - chance)));
  }
}

TEST(InfiniteLogit, OfABinaryTargetIsALimit) {
  const Tensor p({infinity, infinity, -infinity, -infinity, 0, 0}, {6}), y({1, 0, 0, 1, 1, 0}, {6});
  for (const Mode mode : modes()) {
    const Judged plain = judge(mode, loss::binary_crossentropy_from_logits, p, y);
    EXPECT_THAT(plain.values, ElementsAre(0, infinity, 0, infinity, near(std::log(2.0f)), near(std::log(2.0f))));
    EXPECT_THAT(plain.gradient, ElementsAre(0, 1, 0, -1, -0.5f, 0.5f));
    const Judged smoothed = judge(mode, loss::binary({.from_logits = true, .label_smoothing = 0.2f}), p, y);
    EXPECT_THAT(smoothed.values, ElementsAre(0, infinity, 0, infinity, near(std::log(2.0f)), near(std::log(2.0f))));
    EXPECT_THAT(smoothed.gradient, ElementsAre(0, near(0.9f), 0, near(-0.9f), near(-0.4f), near(0.4f)));
  }
}

TEST(InfiniteLogit, OfAnActivatedOutputIsClipped) {
  const Tensor p({infinity, -infinity}, {2}), y({1, 0}, {2});
  for (const Mode mode : modes())
    for (const Loss& loss : {loss::binary_crossentropy, loss::kl_divergence}) {
      const auto [values, gradient] = judge(mode, loss, p, y);
      for (const float value : values) EXPECT_THAT(value, FloatNear(0, 1e-5f)) << loss.name();
      EXPECT_THAT(gradient, ElementsAre(0, 0)) << loss.name();
    }
}

TEST(InfinitePrediction, HasTheSlopeOfTheLoss) {
  const Tensor p({infinity, -infinity, 3}, {3}), y({0, 0, 3}, {3});
  for (const Mode mode : modes()) {
    const Judged huber = judge(mode, loss::huber(2), p, y), log_cosh = judge(mode, loss::log_cosh, p, y);
    EXPECT_THAT(huber.values, ElementsAre(infinity, infinity, 0));
    EXPECT_THAT(huber.gradient, ElementsAre(2, -2, 0));
    EXPECT_THAT(log_cosh.values, ElementsAre(infinity, infinity, near(0)));
    EXPECT_THAT(log_cosh.gradient, ElementsAre(1, -1, 0));
    const Judged poisson = judge(mode, loss::poisson, Tensor({infinity, infinity}, {2}), Tensor({0, 3}, {2}));
    EXPECT_THAT(poisson.values, ElementsAre(infinity, infinity));
    EXPECT_THAT(poisson.gradient, ElementsAre(1, 1));
  }
}

TEST(InfiniteLoss, OfASampleWithoutWeightCountsNothing) {
  const Tensor classes(std::vector<std::int32_t>{1, 0}, {2}), numbers({0, 0}, {2, 1}), weight({0, 1}, {2});
  for (const Mode mode : modes()) {
    const Parameter logits("logits", Tensor({2, -infinity, 2, 1}, {2, 2})), p("p", Tensor({infinity, 3}, {2, 1}));
    auto step = compile(
        [&](const Tensor& w) {
          const Tensor one = loss::sparse_categorical_crossentropy_from_logits(logits, classes, w), other = loss::mean_absolute_error(p, numbers, w);
          return std::tuple(one, grad(one, std::array{logits})[0], other, grad(other, std::array{p})[0]);
        },
        {.mode = mode, .kinds = {InputKind::fixed}});
    const auto [one, of_logits, other, of_p] = step(weight);
    EXPECT_THAT(static_cast<float>(one.item()), near(right / 2));
    EXPECT_THAT(of_logits.to_vector<float>(), ElementsAre(0, 0, near((chance - 1) / 2), near((1 - chance) / 2)));
    EXPECT_EQ(other.item(), 1.5);
    EXPECT_THAT(of_p.to_vector<float>(), ElementsAre(0, 0.5f));
  }
}

TEST(Softplus, HasHalfAGradientAtZero) {
  for (const Mode mode : modes()) {
    const Parameter x("x", Tensor({0, -infinity, infinity}, {3}));
    auto step = compile(
        [&](const Tensor& factor) {
          const Tensor y = softplus(x) * factor;
          return std::tuple(y, grad(sum(y), std::array{x})[0]);
        },
        {.mode = mode, .kinds = {InputKind::fixed}});
    const auto [y, gradient] = step(Tensor({1, 1, 1}, {3}));
    EXPECT_THAT(y.to_vector<float>(), ElementsAre(near(std::log(2.0f)), 0, infinity));
    EXPECT_THAT(gradient.to_vector<float>(), ElementsAre(0.5f, 0, 1));
  }
}

}  // namespace
}  // namespace sinter::test::infinite_logit_test
