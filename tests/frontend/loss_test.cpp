// Losses and their gradients against PyTorch and Keras: tests/fixtures/losses.py.
#include <cmath>
#include <fstream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "tests/frontend/helpers.h"
#include "tests/ir/expect_error.h"

namespace sinter::test::loss_test {
namespace {

using testing::HasSubstr;

TEST(Loss, AgreesWithPyTorchAndKeras) {
  std::ifstream file(SINTER_TEST_FIXTURES "/losses.json");
  const auto json = nlohmann::json::parse(file);
  const auto tensor = [&](const std::string& name) {
    const auto numbers = json.at("data").at(name).get<std::vector<float>>();
    if (name == "classes") return Tensor(std::vector<std::int32_t>(numbers.begin(), numbers.end()), {9});
    return name == "weights" ? Tensor(numbers, {9}) : Tensor(numbers, {9, 5});
  };
  const std::map<std::string, Loss> losses{
      {"categorical_crossentropy", loss::categorical_crossentropy},
      {"categorical_smoothed", loss::categorical({.from_logits = true, .label_smoothing = 0.1f})},
      {"categorical_crossentropy_from_logits", loss::sparse_categorical_crossentropy_from_logits},
      {"categorical_weighted", loss::categorical_crossentropy_from_logits},
      {"kl_divergence", loss::kl_divergence},
      {"binary_crossentropy", loss::binary_crossentropy},
      {"binary_crossentropy_from_logits", loss::binary_crossentropy_from_logits},
      {"binary_smoothed", loss::binary({.from_logits = true, .label_smoothing = 0.2f})},
      {"hinge", loss::hinge},
      {"squared_hinge", loss::squared_hinge},
      {"mean_squared_error", loss::mean_squared_error},
      {"mean_squared_weighted", loss::mean_squared_error},
      {"mean_absolute_error", loss::mean_absolute_error},
      {"mean_absolute_percentage_error", loss::mean_absolute_percentage_error},
      {"mean_squared_logarithmic_error", loss::mean_squared_logarithmic_error},
      {"huber", loss::huber(1.5f)},
      {"log_cosh", loss::log_cosh},
      {"poisson", loss::poisson},
      {"cosine_distance", loss::cosine_distance},
  };
  ASSERT_EQ(losses.size(), json.at("cases").size());
  const Tensor weights = tensor("weights");
  for (const auto& [name, loss] : losses) {
    SCOPED_TRACE(name);
    const auto& wanted = json.at("cases").at(name);
    const bool weighted = name.ends_with("_weighted");
    for (const Mode mode : modes()) {
      const Parameter p("p", tensor(wanted.at("prediction")));
      auto step = compile(
          [&, &loss = loss](const Tensor& y, const Tensor& w) {
            const Tensor value = weighted ? loss(p, y, w) : loss(p, y);
            return std::tuple(value, grad(value, std::array{p})[0]);
          },
          {.mode = mode, .kinds = {InputKind::fixed, InputKind::fixed}});
      const auto [value, gradient] = step(tensor(wanted.at("target")), weights);
      const double expected = wanted.at("loss");
      EXPECT_NEAR(value.item(), expected, 1e-5 * std::abs(expected));
      const auto got = gradient.to_vector<float>();
      const auto exact = wanted.at("gradient").get<std::vector<double>>();
      double scale = 0;
      for (const double g : exact) scale = std::max(scale, std::abs(g));
      for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], exact[i], 1e-5 * std::max(scale * 0.1, std::abs(exact[i]))) << i;
    }
  }
}

TEST(Loss, TargetsOfOneColumnMayLackIt) {
  const Tensor p({0.2f, 0.7f}, {2, 1}), y({0, 1}, {2}), classes(std::vector<std::int32_t>{0, 1}, {2});
  EXPECT_EQ(loss::binary_crossentropy(p, y).item(), loss::binary_crossentropy(p, classes).item());
  EXPECT_EQ(to_string(loss::mean_squared_error.values(p, y).shape()), "[2,1]");
}

/// false and true are 0 and 1: as targets of yes and no, as class numbers, as one-hot rows.
TEST(Loss, TakesTargetsOfTruth) {
  const Tensor p = random({6, 1}, 1, 0.1, 0.9), yes = random({6}, 2) > 0, number = cast(yes, DType::f32);
  for (const Loss* l : {&loss::binary_crossentropy, &loss::binary_crossentropy_from_logits, &loss::hinge, &loss::mean_squared_error})
    EXPECT_EQ((*l)(p, yes).item(), (*l)(p, number).item()) << l->name();
  const Tensor two = random({6, 2}, 3, 0.1, 0.9), classes = cast(yes, DType::i32), one_hot_rows = one_hot(classes, 2);
  for (const Loss* l : {&loss::categorical_crossentropy, &loss::categorical_crossentropy_from_logits})
    EXPECT_EQ((*l)(two, one_hot_rows > 0).item(), (*l)(two, one_hot_rows).item()) << l->name();
  EXPECT_EQ(loss::sparse_categorical_crossentropy(two, yes).item(), loss::sparse_categorical_crossentropy(two, classes).item());
  EXPECT_EQ(loss::categorical_crossentropy(two, yes).item(), loss::categorical_crossentropy(two, classes).item());
}

TEST(Loss, AnyFunctionIsOne) {
  const Loss own = [](const Tensor& p, const Tensor& y) { return abs(p - y); };
  EXPECT_EQ(own(Tensor({1, 5}, {2}), Tensor({2, 2}, {2})).item(), 2);
  EXPECT_EQ(own(Tensor({1, 5}, {2}), Tensor({2, 2}, {2}), Tensor({2, 0}, {2})).item(), 1);
}

TEST(Loss, RefusesWhatDoesNotFit) {
  const Tensor p = Tensor::zeros({DType::f32, {4, 3}}), y = Tensor::zeros({DType::f32, {4, 2}});
  EXPECT_THAT(error_of([&] { loss::mean_squared_error(p, y); }),
              HasSubstr("[mean_squared_error] prediction and target must have one shape, got f32[4,3] and f32[4,2]"));
  EXPECT_THAT(error_of([&] { loss::categorical_crossentropy(p, y); }), HasSubstr("targets must be class numbers [4] or one-hot [4,3], got f32[4,2]"));
  EXPECT_THAT(error_of([&] { loss::sparse_categorical_crossentropy(p, p); }), HasSubstr("targets must be class numbers (integers, [batch])"));
  EXPECT_THAT(error_of([&] { loss::hinge(p, p, Tensor::zeros({DType::f32, {3}})); }),
              HasSubstr("[hinge] weights must be f32[4], one per sample, got f32[3]"));
  const Loss scalar = [](const Tensor& a, const Tensor& b) { return mean(a - b); };
  EXPECT_THAT(error_of([&] { scalar(p, p, Tensor::zeros({DType::f32, {4}})); }), HasSubstr("the loss is one number for the whole batch"));
  EXPECT_THAT(error_of([] { loss::huber(0); }), HasSubstr("[huber] delta must be positive, got 0"));
  EXPECT_THAT(error_of([] { loss::categorical({.label_smoothing = 1}); }), HasSubstr("label_smoothing must be in [0, 1), got 1"));
}

TEST(LearningRateSchedule, GivesTheRates) {
  using namespace schedule;
  const auto rates = [](const Schedule& s, std::initializer_list<std::int64_t> steps) {
    std::vector<double> result;
    for (const std::int64_t step : steps) result.push_back(s(step, 10));
    return result;
  };
  const auto near = [](std::vector<double> wanted) { return testing::Pointwise(testing::DoubleNear(1e-6), wanted); };
  EXPECT_THAT(rates(constant(0.5), {0, 9}), near({0.5, 0.5}));
  EXPECT_THAT(rates(piecewise({3, 6}, {1, 0.1, 0.01}), {0, 2, 3, 6}), near({1, 1, 0.1, 0.01}));
  EXPECT_THAT(rates(step(1, 0.5, 3), {0, 2, 3, 6}), near({1, 1, 0.5, 0.25}));
  EXPECT_THAT(rates(exponential(1, 0.25, 2), {0, 1, 2}), near({1, 0.5, 0.25}));
  EXPECT_THAT(rates(inverse_time(1, 0.5), {0, 2, 6}), near({1, 0.5, 0.25}));
  EXPECT_THAT(rates(polynomial(1, 0.2), {0, 5, 10}), near({1, 0.6, 0.2}));
  EXPECT_THAT(rates(polynomial(1, 0, 2, 4), {0, 2, 9}), near({1, 0.25, 0}));
  EXPECT_THAT(rates(cosine(1), {0, 5, 10}), near({1, 0.5, 0}));
  EXPECT_THAT(rates(cosine_restarts(1, 2, 2), {0, 1, 2, 4, 6}), near({1, 0.5, 1, 0.5, 1}));
  EXPECT_THAT(rates(warm_up(3, constant(1)), {0, 1, 2, 3}), near({0.25, 0.5, 0.75, 1}));
  // torch.optim.lr_scheduler.OneCycleLR(max_lr=1, total_steps=10): its rates at steps 0, 1, 2, 3 and 9.
  EXPECT_THAT(rates(one_cycle(1), {0, 1, 2, 3, 9}), near({0.04, 0.52, 1, 0.9504844, 4e-6}));
  EXPECT_THAT(error_of([] { constant(-1); }), HasSubstr("[schedule::constant] rates must be finite numbers of at least 0, got -1"));
  EXPECT_THAT(error_of([] { piecewise({3}, {1}); }), HasSubstr("needs one rate more than boundaries, got 1 and 1"));
  EXPECT_THAT(error_of([] { step(1, 0, 3); }), HasSubstr("[schedule::step] the factor must be positive, got 0"));
  EXPECT_THAT(error_of([] { warm_up(2, {}); }), HasSubstr("there is no schedule to follow"));
  EXPECT_THAT(error_of([] { one_cycle(1, 1); }), HasSubstr("rise must be between 0 and 1, got 1"));
}

TEST(Loss, OfStepsIsTheMeanOverThoseThatExist) {
  const Tensor p = random({2, 3, 2}, 1), y = random({2, 3, 2}, 2), exists(std::vector<bool>{true, true, false, true, false, false}, {2, 3});
  const Tensor each = mean(square(p - y), {2});  // [2, 3]
  const std::vector<float> values = each.to_vector<float>();
  const Loss& loss = loss::mean_squared_error;
  EXPECT_NEAR(loss.of_steps(p, y, exists).item(), (values[0] + values[1] + values[3]) / 3, 1e-6);
  EXPECT_NEAR(loss.of_steps(p, y, exists, Tensor({1, 3}, {2})).item(), (values[0] + values[1] + 3 * values[3]) / 3, 1e-6);
  EXPECT_EQ(loss.of_steps(p, y, Tensor(std::vector<bool>(6), {2, 3})).item(), 0) << "there are none";
  // What lies in padding counts nothing, whatever it is.
  const Tensor infinite = where(reshape(exists, {2, 3, 1}), y, std::numeric_limits<float>::infinity());
  EXPECT_EQ(loss.of_steps(p, infinite, exists).item(), loss.of_steps(p, y, exists).item());
  EXPECT_USER_ERROR(
      loss.of_steps(p, y, Tensor(std::vector<bool>(4), {2, 2})),
      "[mean_squared_error] needs a value for each step that may exist, bool[2,2], but the loss gives f32[2,3,2]; let it return [N, T] or "
      "[N, T, ...]");
}

TEST(Loss, TakesAClassForEachStepOrPixel) {
  const Tensor p = random({2, 3, 4}, 1), flat = reshape(p, {6, 4});
  const Tensor y = random_labels(6, 4, 2), steps = reshape(y, {2, 3});
  EXPECT_EQ(loss::sparse_categorical_crossentropy_from_logits(p, steps).item(), loss::sparse_categorical_crossentropy_from_logits(flat, y).item());
  EXPECT_NEAR(loss::categorical_crossentropy(softmax(p), one_hot(steps, 4)).item(),
              loss::categorical_crossentropy(softmax(flat), one_hot(y, 4)).item(), 1e-6);
  EXPECT_USER_ERROR(loss::sparse_categorical_crossentropy(p, y), "[categorical_crossentropy] class numbers must be [2,3], got i32[6]");
  EXPECT_EQ(loss::mean_squared_error(random({2, 3, 1}, 1), random({2, 3}, 2)).item(),
            loss::mean_squared_error(random({6}, 1), random({6}, 2)).item());
}

}  // namespace
}  // namespace sinter::test::loss_test
