// nn::UpTo: the outputs of layers within a model.
#include "frontend/nn/up_to.h"

#include "tests/frontend/helpers.h"

namespace sinter::test::up_to_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// 3 → 4 → 5 → 2, each by another function.
nn::Sequential chain() {
  seed(3);
  return nn::Sequential{nn::Dense(3, 4, Activation::tanh), nn::Dense(4, 5, Activation::sigmoid), nn::Dropout(0.5), nn::Dense(5, 2)};
}

std::vector<float> numbers(const Tensor& tensor) { return tensor.to_vector<float>(); }

TEST(UpTo, GivesTheOutputOfALayer) {
  nn::Sequential model = chain();
  const Tensor x = random({7, 3}, 1), wanted = model[1](model[0](x));
  nn::UpTo inner(model, "dense_2");
  EXPECT_EQ(numbers(inner(x)), numbers(wanted));
  for (const Mode mode : modes()) {
    auto step = compile([&](const Tensor& in) { return inner(in); }, {.mode = mode});
    EXPECT_EQ(numbers(step(x)), numbers(wanted));
    EXPECT_EQ(numbers(step(random({1, 3}, 1))), numbers(inner(random({1, 3}, 1))));
  }
}

TEST(UpTo, SeveralLayersGiveSeveralOutputs) {
  nn::Sequential model = chain();
  nn::UpTo inner(model, {"dense_3", "dense_1"});
  const Tensor x = random({2, 3}, 1);
  const std::vector<Tensor> both = inner.call_all(std::array{x});
  ASSERT_EQ(both.size(), 2u);
  EXPECT_EQ(numbers(both[0]), numbers(model(x)));
  EXPECT_EQ(numbers(both[1]), numbers(model[0](x)));
}

TEST(UpTo, SharesTheParameters) {
  nn::Sequential model = chain();
  nn::UpTo inner(model, "dense_1");
  EXPECT_EQ(inner.parameters(), model.parameters());
  EXPECT_EQ(inner.parameter("dense_1.weight").name(), "dense_1.weight");
  model.parameter("dense_1.weight").assign(Tensor::zeros({DType::f32, {3, 4}}));
  EXPECT_EQ(numbers(inner(random({1, 3}, 1))), std::vector<float>(4, 0.0f));
}

TEST(UpTo, FollowsALayerThatIsRenamed) {
  nn::Sequential model = chain();
  nn::UpTo inner(model, "dense_2");
  const Tensor x = random({2, 3}, 1);
  const std::vector<float> wanted = numbers(inner(x));
  model.set_name("encoder");
  EXPECT_EQ(numbers(inner(x)), wanted);
  EXPECT_EQ(numbers(nn::UpTo(model, "encoder.dense_2")(x)), wanted);
}

/// The layers after the last one that is wanted do not run: their states stay, and compiled code does not have them.
TEST(UpTo, StopsAfterTheLastOfThem) {
  struct Counts : nn::Module {
    Parameter calls = add_state("calls", Tensor(0.0f));
    Counts() : Module("counts") {}
    Tensor forward(const Tensor& x) override {
      calls.assign(calls + 1);
      return x;
    }
  };
  Counts before, after;
  nn::Sequential model{before, nn::Dense(3, 4), after, nn::Dense(4, 2)};
  nn::UpTo inner(model, "dense_1");
  (void)inner(random({2, 3}, 1));
  EXPECT_EQ(before.calls.read().item(), 1);
  EXPECT_EQ(after.calls.read().item(), 0);
  if (!codegen::is_built()) return;
  auto step = compile([&](const Tensor& in) { return inner(in); });
  (void)step(random({2, 3}, 1));
  EXPECT_EQ(before.calls.read().item(), 2);
  EXPECT_EQ(after.calls.read().item(), 0);
  EXPECT_EQ(step.core()->cells().size(), 3u);  // the first count, weight and bias
}

TEST(UpTo, HasGradients) {
  nn::Sequential model = chain();
  nn::UpTo inner(model, "dense_2");
  const Tensor x = random({6, 3}, 1);
  const std::vector<Parameter> used{model.parameter("dense_1.weight"), model.parameter("dense_2.bias")};
  const auto gradients = [&](const auto& f) { return grad(sum(square(f(x))), used); };
  const std::vector<Tensor> wanted = gradients([&](const Tensor& in) { return model[1](model[0](in)); });
  for (const Mode mode : modes()) {
    auto step = compile([&](const Tensor& in) { return grad(sum(square(inner(in))), used); }, {.mode = mode});
    const std::vector<Tensor> got = step(x);
    for (std::size_t i = 0; i < used.size(); ++i)
      for (std::size_t k = 0; k < numbers(wanted[i]).size(); ++k) EXPECT_NEAR(numbers(got[i])[k], numbers(wanted[i])[k], 1e-5);
  }
}

struct Residual : nn::Module {
  nn::Dense inner{4, 4, Activation::relu};
  Residual() : Module("residual") { add(inner); }
  Tensor forward(const Tensor& x) override { return x + inner(inner(x)); }
};

TEST(UpTo, FindsLayersOfModulesOfOnesOwnAndTheirCalls) {
  seed(1);
  nn::Sequential model{nn::Dense(3, 4), Residual(), nn::Add{nn::Identity(), Residual()}};
  const Tensor x = random({5, 3}, 1), h = model[0](x);
  Residual& own = dynamic_cast<Residual&>(model[1]);
  EXPECT_EQ(numbers(nn::UpTo(model, {"residual_1.dense_1", 1})(x)), numbers(own.inner(h)));
  EXPECT_EQ(numbers(nn::UpTo(model, {"residual_1.dense_1", 2})(x)), numbers(own.inner(own.inner(h))));
  EXPECT_EQ(numbers(nn::UpTo(model, "add_1.residual_1")(x)), numbers(dynamic_cast<nn::Add&>(model[2])[1](own(h))));
  const std::string several = "[sequential] calls 'residual_1.dense_1' 2 times; say which, from 1: {\"residual_1.dense_1\", 1}";
  nn::UpTo unclear(model, "residual_1.dense_1");
  EXPECT_EQ(error_of([&] { unclear(x); }), several);
  EXPECT_EQ(error_of([&] { unclear(x); }), several);  // a second call is no way around it
  EXPECT_EQ(error_of([&] { (void)nn::UpTo(model, {"residual_1.dense_1", 3})(x); }),
            "[sequential] calls 'residual_1.dense_1' 2 times, so it has no call 3");
}

TEST(UpTo, AnOutputIsALayerAndACall) {
  const nn::LayerOutput only("dense_1"), second("dense_1", 2);
  EXPECT_EQ(only.layer, second.layer);
  EXPECT_EQ(only.call, 0);
  EXPECT_EQ(second.call, 2);
}

TEST(UpTo, TakesSeveralInputs) {
  struct Pair : nn::Model {
    nn::Embedding words{10, 4};
    nn::Dense numbers{2, 4}, score{8, 1};
    Pair() : Model("pair") { add(words), add(numbers), add(score); }
    std::vector<Tensor> forward_all(std::span<const Tensor> in) override { return {score(concat({words(in[0]), numbers(in[1])}, -1)), in[1]}; }
  };
  Pair model;
  const Tensor words(std::vector<std::int32_t>{1, 7, 7}, {3}), x = random({3, 2}, 1);
  nn::UpTo inner(model, {"embedding_1", "dense_1"});
  const std::vector<Tensor> out = inner.call_all(std::vector{words, x});
  EXPECT_EQ(numbers(out[0]), numbers(model.words(words)));
  EXPECT_EQ(numbers(out[1]), numbers(model.numbers(x)));
}

TEST(UpTo, KeepsMasks) {
  nn::Sequential model{nn::Embedding(10, 4, {.mask_zero = true}), nn::GRU(4, 3, {.return_sequences = true}), nn::GRU(3, 2)};
  const Tensor words(std::vector<std::int32_t>{1, 2, 0, 3, 0, 0}, {2, 3});
  nn::UpTo inner(model, "gru_1");
  const Tensor out = inner(words);
  EXPECT_EQ(nn::mask_of(out).to_vector<std::uint8_t>(), (std::vector<std::uint8_t>{1, 1, 0, 1, 0, 0}));
  EXPECT_EQ(numbers(model[2](out)), numbers(model(words)));
  nn::UpTo last(nn::Sequential{nn::GRU(4, 3)}, "gru_1");  // a mask of the input
  const Tensor embedded = model[0](words);
  EXPECT_EQ(numbers(last(embedded)), numbers(last(Tensor(embedded, std::make_shared<const Tensor>(nn::mask_of(embedded))))));
}

TEST(UpTo, OfOneThatIsWithinAnother) {
  nn::Sequential model = chain();
  nn::UpTo outer(nn::UpTo(model, "dense_3"), "dense_1");
  const Tensor x = random({2, 3}, 1);
  EXPECT_EQ(numbers(outer(x)), numbers(model[0](x)));
  nn::UpTo inner(model, "dense_1");
  nn::Sequential longer{inner, nn::Dense(4, 2)};
  EXPECT_EQ(longer(x).shape(), Shape({2, 2}));
  EXPECT_THAT(longer.summary({DType::f32, {Dim::batch(), 3}}), HasSubstr("dense_1 (dense)"));
  EXPECT_THAT(longer.summary({DType::f32, {Dim::batch(), 3}}), testing::Not(HasSubstr("sequential_1.dense_2")));
}

/// A new head on frozen features.
TEST(UpTo, IsTheBodyOfAModelThatIsTrained) {
  for (const Mode mode : modes()) {
    nn::Sequential body = chain();
    const std::vector<float> before = numbers(body.parameter("dense_1.weight").read());
    body.set_trainable(false);
    nn::Sequential model{nn::UpTo(body, "dense_2"), nn::Dense(5, 1)};
    Trainer trainer(model, loss::mean_squared_error, optim::Adam({.learning_rate = 0.05}), {.mode = mode});
    const Tensor x = random({64, 3}, 1);
    const auto history = trainer.fit({x, reshape(sum(x, {1}), {64, 1})}, {.epochs = 20, .verbose = false});
    EXPECT_LT(history.back().loss, 0.9 * history.front().loss);
    EXPECT_EQ(numbers(body.parameters()[0].read()), before);
  }
}

TEST(UpTo, SaysWhatItCannotGive) {
  nn::Sequential model = chain();
  const Tensor x = random({2, 3}, 1);
  EXPECT_EQ(error_of([&] { (void)nn::UpTo(model, "dence_2"); }), "[sequential] has no layer 'dence_2'; the nearest is 'dense_2'");
  EXPECT_EQ(error_of([&] { (void)nn::UpTo(model, std::vector<nn::LayerOutput>{}); }), "[UpTo] needs the name of at least one layer");
  EXPECT_EQ(error_of([&] { (void)nn::UpTo(model, {"dense_1", -1}); }), "[sequential] calls of 'dense_1' count from 1, got -1");
  EXPECT_EQ(error_of([&] { (void)nn::UpTo(std::shared_ptr<nn::Module>(), "dense_1"); }), "[UpTo] the model is null");
  struct Skips : nn::Module {
    nn::Dense used{3, 2}, unused{3, 2};
    Skips() : Module("skips") { add(used), add(unused); }
    Tensor forward(const Tensor& in) override { return used(in); }
  };
  Skips skips;
  EXPECT_EQ(error_of([&] { (void)nn::UpTo(skips, "dense_2")(x); }),
            "[skips] did not call 'dense_2'; only what is called by layer(x) or layer.call_all(...) has an output to take");
  EXPECT_EQ(error_of([&] { (void)nn::UpTo(model, {"dense_1", 2})(x); }), "[sequential] calls 'dense_1' 1 time, so it has no call 2");
  struct Loops : nn::Module {
    nn::Dense each{3, 3};
    Loops() : Module("loops") { add(each); }
    Tensor forward(const Tensor& in) override {
      return scan([&](const Tensor& h, const Tensor& element) { return each(element) + h; }, {broadcast_to(Tensor(0.0f), {in.dim(0), 3})}, {in})
          .carries[0];
    }
  };
  Loops loops;
  EXPECT_THAT(error_of([&] { (void)nn::UpTo(loops, "dense_1")(random({2, 4, 3}, 1)); }),
              HasSubstr("is called within a loop over time, where each step has an output of its own; take that of the loop's layer"));
}

/// One that looks at values cannot be counted: its first call is taken.
TEST(UpTo, OfAModelThatLooksAtValues) {
  struct Looks : nn::Module {
    nn::Dense a{3, 2}, b{2, 2};
    Looks() : Module("looks") { add(a), add(b); }
    Tensor forward(const Tensor& x) override {
      const Tensor y = a(x);
      return sum(y).item() > 1e9 ? y : b(y);
    }
  };
  Looks model;
  const Tensor x = random({2, 3}, 1);
  EXPECT_EQ(numbers(nn::UpTo(model, "dense_1")(x)), numbers(model.a(x)));
}

}  // namespace
}  // namespace sinter::test::up_to_test
