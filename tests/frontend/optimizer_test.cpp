// Optimizers against PyTorch and Keras: tests/fixtures/optimizers.py.
#include <cmath>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>

#include "tests/frontend/mistakes.h"
#include "tests/ir/expect_error.h"

namespace sinter::test::optimizer_test {
namespace {

using testing::HasSubstr;

struct Fixture {
  std::vector<float> initial;
  std::vector<std::vector<float>> gradients;
  std::map<std::string, std::vector<float>> cases;

  Fixture() {
    std::ifstream file(SINTER_TEST_FIXTURES "/optimizers.json");
    const auto json = nlohmann::json::parse(file);
    json.at("initial").get_to(initial);
    json.at("gradients").get_to(gradients);
    json.at("cases").get_to(cases);
  }
};

const Fixture& fixture() {
  static const Fixture instance;
  return instance;
}

struct Case {
  const char* name;
  std::function<std::shared_ptr<optim::Optimizer>()> make;
  bool averaged = false;
};

template <class O, class Options>
std::function<std::shared_ptr<optim::Optimizer>()> maker(Options options) {
  return [options] { return std::make_shared<O>(options); };
}

std::vector<Case> cases() {
  using namespace optim;
  return {
      {"sgd", maker<SGD>(SGDOptions{.learning_rate = 0.05})},
      {"sgd_momentum_decay", maker<SGD>(SGDOptions{.learning_rate = 0.05, .momentum = 0.9, .weight_decay = 0.1})},
      {"sgd_nesterov", maker<SGD>(SGDOptions{.learning_rate = 0.05, .momentum = 0.9, .nesterov = true})},
      {"rmsprop", maker<RMSprop>(RMSpropOptions{.learning_rate = 0.02, .rho = 0.85})},
      {"rmsprop_centered_momentum", maker<RMSprop>(RMSpropOptions{.learning_rate = 0.02, .rho = 0.85, .momentum = 0.8, .centered = true})},
      {"rmsprop_torch", maker<RMSprop>(RMSpropOptions{.learning_rate = 0.02, .rho = 0.85, .epsilon = 1e-8, .epsilon_outside = true})},
      {"rmsprop_torch_centered_momentum",
       maker<RMSprop>(
           RMSpropOptions{.learning_rate = 0.02, .rho = 0.85, .epsilon = 1e-8, .momentum = 0.8, .centered = true, .epsilon_outside = true})},
      {"adagrad", maker<Adagrad>(AdagradOptions{.learning_rate = 0.1, .initial_sum = 0.1})},
      {"adadelta", maker<Adadelta>(AdadeltaOptions{.learning_rate = 0.7, .rho = 0.85})},
      {"adam", maker<Adam>(AdamOptions{.learning_rate = 0.02})},
      {"adam_decay", maker<Adam>(AdamOptions{.learning_rate = 0.02, .beta1 = 0.8, .beta2 = 0.95, .weight_decay = 0.1})},
      {"adam_amsgrad", maker<Adam>(AdamOptions{.learning_rate = 0.02, .beta1 = 0.8, .beta2 = 0.6, .amsgrad = true})},
      {"adamw", maker<AdamW>(AdamWOptions{.learning_rate = 0.02, .weight_decay = 0.1})},
      {"nadam", maker<NAdam>(NAdamOptions{.learning_rate = 0.02})},
      {"lion", maker<Lion>(LionOptions{.learning_rate = 0.01, .weight_decay = 0.1})},
      {"clip_value", maker<Adam>(AdamOptions{.learning_rate = 0.02, .common = {.clip = {.value = 0.5}}})},
      {"clip_norm", maker<SGD>(SGDOptions{.learning_rate = 0.05, .common = {.clip = {.norm = 2.5}}})},
      {"clip_norm", maker<SGD>(SGDOptions{.learning_rate = 0.05, .common = {.clip = {.global_norm = 2.5}}})},
      {"accumulate", maker<Adam>(AdamOptions{.learning_rate = 0.02, .common = {.accumulate = 4}})},
      {"average", maker<SGD>(SGDOptions{.learning_rate = 0.05, .common = {.average_decay = 0.9}}), true},
  };
}

TEST(Optimizer, AgreesWithPyTorchAndKeras) {
  std::set<std::string> tried;
  for (const Case& c : cases())
    for (const Mode mode : modes()) {
      const Parameter w("w", Tensor(fixture().initial, {5, 7}));
      const auto optimizer = c.make();
      auto step = compile(
          [&](const Tensor& g) {
            optimizer->update(std::array{w}, std::array{g});
            return sum(g);
          },
          {.mode = mode, .kinds = {InputKind::fixed}});
      for (const auto& g : fixture().gradients) step(Tensor(g, {5, 7}));
      if (c.averaged) optimizer->exchange_averages();
      const std::vector<float> got = w.read().to_vector<float>(), &wanted = fixture().cases.at(c.name);
      for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], wanted[i], 1e-5 * std::max(0.1f, std::abs(wanted[i]))) << c.name << " " << i;
      tried.insert(c.name);
    }
  EXPECT_EQ(tried.size(), fixture().cases.size());
}

TEST(Optimizer, GlobalNormIsThatOfAllGradients) {
  const std::vector<Tensor> gradients{Tensor({3, 0}, {2}), Tensor({0, 4}, {2})};
  const auto clipped = optim::clip_gradients(gradients, {.global_norm = 1});
  EXPECT_THAT(clipped[0].to_vector<float>(), testing::ElementsAre(0.6f, 0));
  EXPECT_THAT(clipped[1].to_vector<float>(), testing::ElementsAre(0, 0.8f));
  EXPECT_THAT(optim::clip_gradients(gradients, {.global_norm = 6})[0].to_vector<float>(), testing::ElementsAre(3, 0));
}

TEST(Optimizer, UpdatesWhatIsListedInBraces) {
  const Parameter w("w", Tensor({1, 2}, {2})), v("v", Tensor({3}, {1}));
  optim::SGD sgd({.learning_rate = 0.5});
  sgd.update({w}, {Tensor({1, 1}, {2})});
  EXPECT_THAT(w.read().to_vector<float>(), testing::ElementsAre(0.5f, 1.5f));
  sgd.update({w, v}, grad(sum(w * 2.0f) + sum(v), {w, v}));
  EXPECT_THAT(w.read().to_vector<float>(), testing::ElementsAre(-0.5f, 0.5f));
  EXPECT_THAT(v.read().to_vector<float>(), testing::ElementsAre(2.5f));
}

TEST(Optimizer, AveragesAreExchangedAndBack) {
  const Parameter w("w", Tensor({1.0f}, {1}));
  optim::SGD sgd({.learning_rate = 1, .common = {.average_decay = 0.5}});
  EXPECT_USER_ERROR(sgd.exchange_averages(), "[sgd] there are no moving averages; set common.average_decay and update once");
  for (int i = 0; i < 2; ++i) sgd.update(std::array{w}, std::array{Tensor({1.0f}, {1})});
  EXPECT_EQ(w.read().item(), -1);  // the values were 0 and -1
  sgd.exchange_averages();
  EXPECT_EQ(w.read().item(), -0.5);
  sgd.exchange_averages();
  EXPECT_EQ(w.read().item(), -1);
}

/// v - m² is 0 there but for rounding, which made it negative after 265 updates.
TEST(Optimizer, CenteredUnderAConstantGradientStaysFinite) {
  for (const Mode mode : modes())
    for (const bool outside : {false, true}) {
      const Parameter w("w", Tensor({0.0f}, {1}));
      optim::RMSprop rmsprop({.learning_rate = 1e-6, .rho = 0.95, .centered = true, .epsilon_outside = outside});
      auto step = compile(
          [&](const Tensor& g) {
            rmsprop.update(std::array{w}, std::array{g});
            return w.read();
          },
          {.mode = mode, .kinds = {InputKind::fixed}});
      const Tensor gradient({3.0f}, {1});
      float before = 0;
      for (int i = 0; i < 400; ++i) {
        const float now = step(gradient).to_vector<float>()[0];
        ASSERT_LT(now, before) << i;
        before = now;
      }
    }
}

/// f32, in which earlier versions counted, has no whole number between 2^24 and 2^24 + 2.
TEST(Optimizer, CountsBeyondTheWholeNumbersOfF32) {
  constexpr int many = 1 << 24;
  const Parameter w("w", Tensor({0.0f}, {1}));
  optim::Adam adam({.common = {.accumulate = many + 2}});
  const auto update = [&] { adam.update(std::array{w}, std::array{Tensor({1.0f}, {1})}); };
  const auto state = [&](const std::string& name) -> Tensor {
    for (const Parameter& p : adam.state())
      if (p.name() == name) return p;
    return {};
  };
  const Tensor begun(static_cast<float>(many)), zeros({0.0f}, {1});
  adam.load_state(std::vector<std::pair<std::string, Tensor>>{{"adam/learning_rate", Tensor(0.1f)},
                                                              {"adam/accumulated", begun},
                                                              {"adam/step", begun},
                                                              {"adam/w/accumulated", zeros},
                                                              {"adam/w/m", zeros},
                                                              {"adam/w/v", zeros}});
  update();
  EXPECT_EQ(state("adam/accumulated").item(), many + 1);
  EXPECT_EQ(w.read().item(), 0);
  update();
  EXPECT_EQ(state("adam/accumulated").item(), 0);
  EXPECT_EQ(state("adam/step").item(), many + 1);
  EXPECT_LT(w.read().item(), 0);
  std::vector<std::pair<std::string, Tensor>> saved;
  for (const Parameter& p : adam.state()) saved.emplace_back(p.name(), p.name() == "adam/step" ? begun : Tensor(p));
  adam.load_state(saved);  // a count in f32 for one that is there already
  EXPECT_EQ(state("adam/step").item(), many);
}

TEST(Optimizer, RefusesWhatIsOutOfRange) {
  using namespace optim;
  EXPECT_USER_ERROR(SGD({.learning_rate = -1}), "[sgd] the learning rate must be a finite number of at least 0, got -1");
  EXPECT_USER_ERROR(SGD({.momentum = 1}), "[sgd] momentum must be in [0, 1), got 1");
  EXPECT_USER_ERROR(SGD({.nesterov = true}), "[sgd] nesterov needs a momentum above 0");
  EXPECT_USER_ERROR(RMSprop({.rho = 1}), "[rmsprop] rho must be in [0, 1), got 1");
  EXPECT_USER_ERROR(RMSprop({.epsilon = 0}), "[rmsprop] epsilon must be a positive number, got 0");
  EXPECT_USER_ERROR(RMSprop({.epsilon = 1e-50}), "[rmsprop] epsilon must be a number that f32 holds, from 1.18e-38 to 3.40e38, got 1e-50");
  EXPECT_USER_ERROR(Adagrad({.initial_sum = -2}), "[adagrad] initial_sum must be a finite number of at least 0, got -2");
  EXPECT_USER_ERROR(Adadelta({.rho = -0.5}), "[adadelta] rho must be in [0, 1), got -0.5");
  EXPECT_USER_ERROR(Adam({.beta2 = 1}), "[adam] beta2 must be in [0, 1), got 1");
  EXPECT_USER_ERROR(AdamW({.weight_decay = -1}), "[adamw] weight_decay must be a finite number of at least 0, got -1");
  EXPECT_USER_ERROR(NAdam({.momentum_decay = -1}), "[nadam] momentum_decay must be a finite number of at least 0, got -1");
  EXPECT_USER_ERROR(Lion({.beta1 = 2}), "[lion] beta1 must be in [0, 1), got 2");
  EXPECT_USER_ERROR(Adam({.common = {.clip = {.norm = -1}}}),
                    "[clip] norm must be 0, for no limit, or a number that f32 holds, from 1.18e-38 to 3.40e38, got -1");
  EXPECT_USER_ERROR(Adam({.common = {.clip = {.global_norm = 1e39}}}), "[clip] global_norm must be 0, for no limit, or a number that f32 holds");
  EXPECT_USER_ERROR(Adam({.common = {.clip = {.value = 1e-40}}}), "[clip] value must be 0, for no limit, or a number that f32 holds");
  EXPECT_USER_ERROR(Adam({.epsilon = 1e-40f}), "[adam] epsilon must be a number that f32 holds");
  EXPECT_USER_ERROR(Adam({.common = {.accumulate = 0}}), "[adam] accumulate must be at least 1, got 0");
  EXPECT_USER_ERROR(Adam({.common = {.average_decay = 1}}), "[adam] average_decay must be in [0, 1), got 1");
}

TEST(OptimizerErrors, OfUpdates) {
  const Parameter w("w", Tensor({1, 2}, {2}));
  optim::SGD sgd({.common = {.average_decay = 0.5}});
  expect_errors({{"[sgd] needs one gradient per parameter, got 0 gradients for 1 parameters", [&] { sgd.update(std::array{w}, {}); }},
                 {"[sgd] the gradient of 'w' must be [2], got [3]", [&] { sgd.update(std::array{w}, std::array{Tensor({1, 2, 3}, {3})}); }},
                 {"[clip] value must be 0, for no limit, or a number that f32 holds, from 1.18e-38 to 3.40e38, got -1",
                  [] { optim::clip_gradients({}, {.value = -1}); }},
                 {"[adam] epsilon must be a positive number, got 0", [] { optim::Adam({.epsilon = 0}); }},
                 {"[adamw] epsilon must be a positive number, got 0", [] { optim::AdamW({.epsilon = 0}); }},
                 {"[adamw] beta2 must be in [0, 1), got 1", [] { optim::AdamW({.beta2 = 1}); }},
                 {"[nadam] epsilon must be a positive number, got 0", [] { optim::NAdam({.epsilon = 0}); }},
                 {"[nadam] beta2 must be in [0, 1), got 1", [] { optim::NAdam({.beta2 = 1}); }},
                 {"[adagrad] epsilon must be a positive number, got 0", [] { optim::Adagrad({.epsilon = 0}); }},
                 {"[adadelta] epsilon must be a positive number, got 0", [] { optim::Adadelta({.epsilon = 0}); }},
                 {"[lion] beta2 must be in [0, 1), got 1", [] { optim::Lion({.beta2 = 1}); }},
                 {"[schedule::cosine] the number of steps must not be negative, got -1", [] { schedule::cosine(1, 0, -1); }},
                 {"[schedule::piecewise] the boundaries must ascend", [] { schedule::piecewise({2, 1}, {1, 2, 3}); }},
                 {"[schedule::cosine_restarts] the growth must be at least 1, got 0.5", [] { schedule::cosine_restarts(1, 10, 0.5); }}});
  if (codegen::is_built()) {
    EXPECT_THAT(error_of([&] { compile([&](const Tensor& x) { return sgd.exchange_averages(), x; })(Tensor(1.0f)); }),
                HasSubstr("[sgd] exchange_averages() cannot be traced; call it between steps"));
  }
}

/// AdamW without decay is Adam, with the greatest second moment too.
TEST(Optimizer, AdamWWithoutDecayIsAdam) {
  for (const bool amsgrad : {false, true}) {
    const Parameter a("w", Tensor({1, 2}, {2})), b("w", Tensor({1, 2}, {2}));
    optim::Adam adam({.learning_rate = 0.1, .beta2 = 0.5, .epsilon = 1e-6, .amsgrad = amsgrad});
    optim::AdamW adamw({.learning_rate = 0.1, .beta2 = 0.5, .epsilon = 1e-6, .amsgrad = amsgrad, .weight_decay = 0});
    for (const float g : {3.0f, 0.5f, 0.1f}) {
      adam.update(std::array{a}, std::array{Tensor({g, -g}, {2})});
      adamw.update(std::array{b}, std::array{Tensor({g, -g}, {2})});
    }
    EXPECT_EQ(a.read().to_vector<float>(), b.read().to_vector<float>()) << amsgrad;
  }
}

}  // namespace
}  // namespace sinter::test::optimizer_test
