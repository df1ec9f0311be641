// Modules are values: copies, moved ones, members of what moves, and what containers hold share one state.
#include "tests/frontend/helpers.h"

namespace sinter::test::module_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Residual : nn::Module {
  nn::Dense inner{8, 8, Activation::relu};
  Residual() : Module("residual") { add(inner); }
  Tensor forward(const Tensor& x) override { return x + inner(x); }
};

struct Deep : nn::Module {
  std::vector<Residual> blocks;
  nn::Sequential head{Residual(), nn::Dense(8, 3)};
  explicit Deep(int count) : Module("deep") {
    for (int i = 0; i < count; ++i) blocks.emplace_back();  // the vector moves them as it grows
    for (Residual& block : blocks) add(block);
    add(head);
  }
  Tensor forward(const Tensor& x) override {
    Tensor y = x;
    for (Residual& block : blocks) y = block(y);
    return head(y);
  }
};

std::vector<std::string> names(const nn::Module& module) {
  std::vector<std::string> result;
  for (const Parameter& p : module.parameters()) result.push_back(p.name());
  return result;
}

TEST(Module, WithChildrenWorksInASequential) {
  nn::Sequential model{Residual(), nn::Dense(8, 3)};
  EXPECT_THAT(names(model), ElementsAre("residual_1.dense_1.weight", "residual_1.dense_1.bias", "dense_1.weight", "dense_1.bias"));
  EXPECT_EQ(model(random({5, 8}, 1)).shape(), Shape({5, 3}));
}

/// As in PyTorch: whatever class the model is of.
TEST(Module, NamesParametersByTheirPathBelowTheRoot) {
  const Residual residual;
  EXPECT_EQ(residual.name(), "");
  EXPECT_EQ(residual.label(), "residual");
  EXPECT_THAT(names(residual), ElementsAre("dense_1.weight", "dense_1.bias"));
  const nn::Dense dense(2, 3);
  EXPECT_THAT(names(dense), ElementsAre("weight", "bias"));
  EXPECT_EQ(dense.parameter("bias").shape(), Shape({3}));
  nn::Sequential around{residual};
  EXPECT_THAT(names(residual), ElementsAre("residual_1.dense_1.weight", "residual_1.dense_1.bias")) << "it is no root any more";
  around.set_name("net");
  EXPECT_THAT(names(residual), ElementsAre("net.residual_1.dense_1.weight", "net.residual_1.dense_1.bias"));
  EXPECT_EQ(around.label(), "net");
  EXPECT_THAT(error_of([&] { (void)dense.parameter("wight"); }), HasSubstr("[dense] there is no parameter 'wight'; there are weight, bias"));
  EXPECT_THAT(error_of([&] { nn::Dense(3, 2)(random({4, 5}, 1)); }), HasSubstr("[dense] input has 5 features"));
}

Deep made(int count) {
  Deep model(count);
  return model;
}

TEST(Module, NestedThreeDeepCanBeReturnedMovedAndKeptInVectors) {
  seed(1);
  Deep first = made(3);
  const Tensor x = random({4, 8}, 2), wanted = first(x);
  const auto path = names(first);
  EXPECT_EQ(path.size(), 10u);
  EXPECT_EQ(path[6], "sequential_1.residual_1.dense_1.weight");
  std::vector<Deep> list;
  list.push_back(std::move(first));
  list.push_back(list[0]);
  list.push_back(made(1));  // the list grows, and moves the others
  for (Deep& model : {std::ref(list[0]), std::ref(list[1])}) {
    EXPECT_EQ(model(x).to_vector<float>(), wanted.to_vector<float>());
    EXPECT_EQ(names(model), path);
  }
  EXPECT_EQ(list[0].parameters(), list[1].parameters()) << "a copy shares them";
  list[1].head.set_trainable(false);
  EXPECT_EQ(list[0].trainable_parameters().size(), 6u) << "and whether they are frozen";
  list.erase(list.begin());
  EXPECT_EQ(list[0](x).to_vector<float>(), wanted.to_vector<float>());
}

/// A class that holds a model and its trainer, and moves.
struct Owner {
  Deep model{2};
  Trainer trainer{model, loss::mean_squared_error, optim::Adam(), {.mode = modes().back()}};
};

TEST(Module, AndItsTrainerCanMoveTogether) {
  seed(1);
  std::vector<Owner> owners(1);
  owners.emplace_back();
  const Tensor x = random({16, 8}, 1), y = random({16, 3}, 2);
  const Dataset data{x, y};
  const double before = owners[0].trainer.evaluate(data).loss;
  owners.reserve(100);
  owners[0].trainer.fit(data, {.epochs = 20, .verbose = false});
  EXPECT_LT(owners[0].trainer.evaluate(data).loss, 0.9 * before);
  EXPECT_EQ(owners[0].trainer.predict(x).to_vector<float>(), owners[0].model(x).to_vector<float>());
}

TEST(TrainedModule, IsKeptAlive) {
  std::optional<Deep> model(std::in_place, 1);
  Trainer trainer(*model, loss::mean_squared_error, optim::SGD(), {.mode = modes().back()});
  const Tensor x = random({4, 8}, 1);
  trainer.evaluate({x, random({4, 3}, 2)});
  const std::vector<float> wanted = (*model)(x).to_vector<float>();
  model.reset();
  EXPECT_EQ(trainer.predict(x).to_vector<float>(), wanted);
}

TEST(Sequential, TakesSequentialsAndLayersOneByOne) {
  seed(1);
  nn::Sequential encoder{nn::Dense(8, 4), nn::ReLU()}, decoder{nn::Dense(4, 8)};
  nn::Sequential both{encoder, decoder};
  EXPECT_THAT(names(both),
              ElementsAre("sequential_1.dense_1.weight", "sequential_1.dense_1.bias", "sequential_2.dense_1.weight", "sequential_2.dense_1.bias"));
  const Tensor x = random({3, 8}, 1);
  EXPECT_EQ(both(x).to_vector<float>(), decoder(encoder(x)).to_vector<float>());
  nn::Sequential model;
  for (const std::int64_t size : {8, 6, 4}) model += nn::Dense(size, size - 2);
  model.add(nn::LeakyReLU(0.3f)).add(std::make_shared<Residual>());
  EXPECT_EQ(model.size(), 5u);
  EXPECT_EQ(model[4].kind(), "residual");
  nn::Sequential copy = model;
  copy += nn::Flatten();
  EXPECT_EQ(model.size(), 6u) << "copies share the list";
}

TEST(Module, SaysWhatCannotBe) {
  struct Twice : nn::Module {
    Twice() : Module("twice") { add("w", Tensor(1.0f)), add_state("w", Tensor(1.0f)); }
    Tensor forward(const Tensor& x) override { return x; }
  };
  EXPECT_THAT(error_of([] { Twice(); }), HasSubstr("[twice] has a parameter 'w' already; give each its own name"));
  EXPECT_THAT(error_of([] { nn::Sequential()(Tensor(1.0f)); }), HasSubstr("[Sequential] has no layers; add() some first"));
  nn::Sequential model{nn::Dense(1, 1)};
  EXPECT_THAT(error_of([&] { model.add(model); }), HasSubstr("[sequential] cannot be part of itself: 'sequential' is this module or contains it"));
  EXPECT_THAT(error_of([&] { nn::Sequential(nn::Flatten(), nn::Sequential(nn::Flatten(), nn::Flatten()))[2]; }),
              HasSubstr("there is no layer 2; there are 2"));
  EXPECT_THAT(error_of([&] { model.add(std::shared_ptr<nn::Module>()); }), HasSubstr("[sequential] layer 2 is null"));
  struct Derived : nn::Sequential {
    Tensor forward(const Tensor& x) override { return x; }
  } derived;
  const nn::Sequential& base = derived;
  EXPECT_THAT(error_of([&] { model.add(base); }),
              HasSubstr("is known here only as a base class, and a copy would lose its forward(); pass a std::shared_ptr"));
  EXPECT_THAT(error_of([&] { Trainer(std::shared_ptr<nn::Module>(), loss::mean_squared_error, optim::SGD()); }),
              HasSubstr("[Trainer] the model is null"));
  EXPECT_THAT(error_of([&] { Trainer(model, loss::mean_squared_error, std::shared_ptr<optim::Optimizer>()); }), HasSubstr("the optimizer is null"));
}

/// A layer that nobody registered would silently stay as it is.
struct Forgetful : nn::Module {
  nn::Dense known{2, 2}, forgotten{2, 1};
  Forgetful() : Module("forgetful") { add(known); }
  Tensor forward(const Tensor& x) override { return forgotten(known(x)); }
};

TEST(TrainedModule, HasNoUnregisteredParameters) {
  Trainer trainer(Forgetful(), loss::mean_squared_error, optim::SGD());
  EXPECT_THAT(
      error_of([&] { trainer.train_on_batch(random({4, 2}, 1), random({4, 1}, 2)); }),
      HasSubstr(
          "[Trainer] the model uses the parameter 'dense.weight', which is none of its parameters() and would not be trained; add() the layer"));
}

struct State {
  double scale = 3;
};
struct Layer {
  double shift = 1;
};
/// Types of one's own are not hidden by any of nn::Module's.
struct Shifted : nn::Module {
  Shifted() : Module("shifted") {}
  Tensor forward(const Tensor& x) override { return x * State{}.scale + Layer{}.shift; }
};

TEST(Module, LeavesNamesOfTypesToItsUsers) { EXPECT_EQ(Shifted()(Tensor({1, 2}, {2, 1})).to_vector<float>(), (std::vector<float>{4, 7})); }

TEST(Initializer, IsRefusedInACompiledFunction) {
  auto step = compile([](const Tensor& x) { return x + init::normal(1)({3}); }, {.mode = modes().back()});
  if (codegen::is_built()) {
    EXPECT_THAT(error_of([&] { step(random({2, 3}, 1)); }),
                HasSubstr("[init] random numbers that a compiled function takes from an initializer would be the "
                          "same at every call; draw them with random_normal"));
  }
}

TEST(OptimizerCopies, ShareTheirSlots) {
  const Parameter w("w", Tensor({1, 2}, {2}));
  optim::Adam first, second = first;
  for (optim::Adam* optimizer : {&first, &second}) optimizer->update(std::array{w}, std::array{Tensor({1, 1}, {2})});
  EXPECT_EQ(first.state(), second.state());
}

}  // namespace
}  // namespace sinter::test::module_test
