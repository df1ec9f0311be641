// Lazy optimizers: elements whose gradient is 0 stay as they are.
#include "tests/frontend/helpers.h"

namespace sinter::test::lazy_test {
namespace {

using optim::Common;
using ::testing::HasSubstr;

using Make = std::function<std::shared_ptr<optim::Optimizer>(const Common& common)>;

template <class O, class Options>
Make maker(Options options) {
  return [options](const Common& common) {
    Options all = options;
    all.common = common;
    return std::make_shared<O>(all);
  };
}

std::vector<std::pair<std::string, Make>> optimizers() {
  using namespace optim;
  return {{"SGD", maker<SGD>(SGDOptions{.momentum = 0.9, .weight_decay = 0.1})},
          {"RMSprop", maker<RMSprop>(RMSpropOptions{.momentum = 0.9, .centered = true, .weight_decay = 0.1})},
          {"Adagrad", maker<Adagrad>(AdagradOptions{.weight_decay = 0.1})},
          {"Adadelta", maker<Adadelta>(AdadeltaOptions{.weight_decay = 0.1})},
          {"Adam", maker<Adam>(AdamOptions{.amsgrad = true, .weight_decay = 0.1})},
          {"AdamW", maker<AdamW>(AdamWOptions{})},
          {"NAdam", maker<NAdam>(NAdamOptions{.weight_decay = 0.1})},
          {"Lion", maker<Lion>(LionOptions{.weight_decay = 0.1})}};
}

Tensor vector(const std::vector<float>& values) { return {values, {std::ssize(values)}}; }

/// The parameter and what the optimizer keeps of each of its elements, after these gradients.
std::vector<std::vector<float>> after(const Make& make, const Common& common, Mode mode, const std::vector<std::vector<float>>& gradients) {
  const Parameter w("w", vector({1, 2, 3, 4}));
  const auto optimizer = make(common);
  auto step = compile(
      [&](const Tensor& g) {
        optimizer->update({w}, {g});
        return sum(w);
      },
      {.mode = mode, .kinds = {InputKind::fixed}});
  for (const std::vector<float>& g : gradients) (void)step(vector(g));
  std::vector<std::vector<float>> all{w.read().to_vector<float>()};
  for (const Parameter& state : optimizer->state())
    if (state.type() == w.type()) all.push_back(state.read().to_vector<float>());
  return all;
}

TEST(LazyOptimizer, KeepsWhatHasNoGradient) {
  const std::vector<float> first{1, 0, -1, 0}, second{0, 0, 2, -3};
  for (const auto& [name, make] : optimizers())
    for (const Mode mode : modes()) {
      const auto none = after(make, {.lazy = true}, mode, {{0, 0, 0, 0}}), one = after(make, {.lazy = true}, mode, {first}),
                 two = after(make, {.lazy = true}, mode, {first, second}), all = after(make, {}, mode, {first, second});
      EXPECT_EQ(none[0], (std::vector<float>{1, 2, 3, 4})) << name;
      for (std::size_t k = 0; k < two.size(); ++k) {
        EXPECT_EQ(one[k][1], none[k][1]) << name << ", " << k;
        EXPECT_EQ(two[k][1], none[k][1]) << name << ", " << k;
        EXPECT_EQ(two[k][0], one[k][0]) << name << ", " << k;
        EXPECT_EQ(two[k][2], all[k][2]) << name << ", " << k << ": it has a gradient each time, as others have it that are not lazy";
      }
      EXPECT_NE(two[0][0], all[0][0]) << name << ": elsewhere momentum or decay still moves it";
      EXPECT_NE(two[0][3], none[0][3]) << name;
    }
}

TEST(LazyOptimizer, CountsAllUpdates) {
  for (const Mode mode : modes()) {
    const Make adam = maker<optim::Adam>(optim::AdamOptions{});
    const auto late = after(adam, {.lazy = true}, mode, {{0, 0, 0, 0}, {0, 0, 0, 0}, {1, 1, 1, 1}}),
               same = after(adam, {}, mode, {{0, 0, 0, 0}, {0, 0, 0, 0}, {1, 1, 1, 1}});
    EXPECT_EQ(late[0], same[0]) << "the corrections of averages that began at 0 are those of the third update";
  }
}

TEST(LazyOptimizer, WaitsForAnUpdateWhereGradientsAreAccumulated) {
  for (const Mode mode : modes()) {
    const Make sgd = maker<optim::SGD>(optim::SGDOptions{.learning_rate = 1, .momentum = 0.5});
    const auto w = after(sgd, {.accumulate = 2, .lazy = true}, mode, {{2, 0, 0, 0}, {0, 0, 4, 0}, {0, 0, 0, 0}, {0, 0, 0, 0}})[0];
    EXPECT_EQ(w, (std::vector<float>{0, 2, 1, 4}));
  }
}

/// Of what never changed, the average is its value.
TEST(LazyOptimizer, AveragesAllElements) {
  const Parameter w("w", vector({1, 2}));
  optim::SGD sgd({.learning_rate = 1, .common = {.average_decay = 0.5, .lazy = true}});
  sgd.update({w}, {vector({0.5f, 0})});
  sgd.update({w}, {vector({0.5f, 0})});
  sgd.exchange_averages();
  EXPECT_EQ(w.read().to_vector<float>(), (std::vector<float>{0.25, 2}));
}

TEST(LazyOptimizer, MayBeThatOfAGroup) {
  const Parameter table("embedding.weight", vector({1, 2})), dense("dense.weight", vector({1, 2}));
  optim::SGD sgd({.learning_rate = 1, .momentum = 0.5, .common = {.groups = {optim::Group{.pattern = "embedding*", .lazy = true}}}});
  for (const float g : {1.0f, 0.0f}) sgd.update({table, dense}, {vector({g, 0}), vector({g, 0})});
  EXPECT_EQ(table.read().to_vector<float>(), (std::vector<float>{0, 2}));
  EXPECT_EQ(dense.read().to_vector<float>(), (std::vector<float>{-0.5, 2}));
  EXPECT_THAT(text_of(sgd.settings()), HasSubstr("group 'embedding*' rate 1 lazy"));
  EXPECT_THAT(text_of(optim::Adam({.common = {.lazy = true}}).settings()), HasSubstr("lazy yes"));
}

}  // namespace
}  // namespace sinter::test::lazy_test
