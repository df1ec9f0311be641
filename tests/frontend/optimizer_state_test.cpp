// The states of optimizers in files: none is lost, and each has a name of its own.
#include "tests/frontend/mistakes.h"

namespace sinter::test::optimizer_state_test {
namespace {

using ::testing::HasSubstr;

using Parameters = std::vector<Parameter>;

std::vector<std::shared_ptr<optim::Optimizer>> all_optimizers() {
  return {std::make_shared<optim::SGD>(optim::SGDOptions{.momentum = 0.9}),
          std::make_shared<optim::RMSprop>(optim::RMSpropOptions{.momentum = 0.9, .centered = true}),
          std::make_shared<optim::Adagrad>(),
          std::make_shared<optim::Adadelta>(),
          std::make_shared<optim::Adam>(optim::AdamOptions{.amsgrad = true}),
          std::make_shared<optim::AdamW>(),
          std::make_shared<optim::NAdam>(),
          std::make_shared<optim::Lion>()};
}

void update(optim::Optimizer& optimizer, const Parameters& parameters, int times) {
  for (int i = 0; i < times; ++i) {
    std::vector<Tensor> gradients;
    for (const Parameter& p : parameters) gradients.push_back(p.read().detach() * 0.5 + 1);
    optimizer.update(parameters, gradients);
  }
}

std::vector<float> values(const Parameters& parameters) {
  std::vector<float> all;
  for (const Parameter& p : parameters)
    for (const float x : p.read().to_vector<float>()) all.push_back(x);
  return all;
}

/// A program that loads and is killed before its first step has saved what it loaded.
TEST(OptimizerState, SurvivesSavingBeforeTheFirstStep) {
  const TemporaryFolder folder;
  const auto optimizers = all_optimizers(), again = all_optimizers(), last = all_optimizers();
  for (std::size_t i = 0; i < optimizers.size(); ++i) {
    const std::string path = folder.path + "/state.npz", copy = folder.path + "/copy.npz";
    const Parameter w("w", Tensor({1, 2}, {2})), other("w", Tensor({1, 2}, {2}));
    update(*optimizers[i], {w}, 2);
    save_state(path, std::vector<StatePart>{w, *optimizers[i]});
    load_state(path, std::vector<StatePart>{other, *again[i]});
    save_state(copy, std::vector<StatePart>{other, *again[i]});
    EXPECT_EQ(weights::read(copy).size(), weights::read(path).size()) << optimizers[i]->name();
    load_state(copy, std::vector<StatePart>{other, *last[i]});
    update(*optimizers[i], {w}, 2);
    update(*last[i], {other}, 2);
    EXPECT_EQ(values({w}), values({other})) << optimizers[i]->name();
  }
}

/// What was loaded for slots that do not exist yet gives way to the next file.
TEST(OptimizerState, IsThatOfTheLastFile) {
  const TemporaryFolder folder;
  const Parameter w("w", Tensor({1, 2}, {2}));
  optim::Adam trained, fresh, adam;
  update(trained, {w}, 1);
  save_state(folder / "trained.npz", trained);
  save_state(folder / "fresh.npz", fresh);
  load_state(folder / "trained.npz", adam);
  EXPECT_EQ(adam.state().size(), 4u);
  EXPECT_EQ(adam.created_state().size(), 1u) << "the learning rate";
  load_state(folder / "fresh.npz", adam);
  EXPECT_EQ(adam.state().size(), 1u);
}

TEST(OptimizerState, OfTwoContainersIsSavedAndLoaded) {
  const TemporaryFolder folder;
  const std::string path = folder.path + "/state.safetensors";
  struct Nets {
    nn::Sequential encoder{(seed(3), nn::Dense(2, 3))}, decoder{nn::Dense(3, 2)};
    nn::Dense first{2, 2}, second{2, 2};
    optim::Adam adam;
    Parameters all() const {
      Parameters result;
      for (const nn::Module* module : std::initializer_list<const nn::Module*>{&encoder, &decoder, &first, &second})
        for (const Parameter& p : module->parameters()) result.push_back(p);
      return result;
    }
    std::vector<StatePart> parts() const { return {encoder, decoder, first, second, adam}; }
  } one, two;
  update(one.adam, one.all(), 2);
  save_state(path, one.parts());
  load_state(path, two.parts());
  update(one.adam, one.all(), 2);
  update(two.adam, two.all(), 2);
  EXPECT_EQ(values(one.all()), values(two.all()));
  save_state(path, two.parts());
  update(two.adam, two.all(), 2);
  const auto wanted = values(two.all());
  load_state(path, two.parts());  // now it has slots
  update(two.adam, two.all(), 2);
  EXPECT_EQ(values(two.all()), wanted);
}

TEST(OptimizerState, IsNamedLikeItsOwner) {
  nn::Sequential encoder{nn::Dense(2, 3)}, decoder{nn::Dense(3, 2)};
  optim::SGD sgd({.momentum = 0.9});
  update(sgd, {encoder.parameters()[0], decoder.parameters()[0]}, 1);
  const auto names = [&] {
    std::vector<std::string> result;
    for (const Parameter& p : sgd.state()) result.push_back(p.name());
    return result;
  };
  EXPECT_THAT(names(), testing::ElementsAre("sgd/learning_rate", "sgd/dense_1.weight/velocity", "sgd/dense_1.weight#2/velocity"));
  encoder.set_name("encoder");
  decoder.set_name("decoder");
  EXPECT_EQ(encoder.parameters()[1].name(), "encoder.dense_1.bias");
  EXPECT_THAT(names(), testing::ElementsAre("sgd/learning_rate", "sgd/encoder.dense_1.weight/velocity", "sgd/decoder.dense_1.weight/velocity"));
  nn::Dense dense(2, 2);
  dense.set_name("head");
  EXPECT_EQ(dense.weight.name(), "head.weight");
  EXPECT_THAT(error_of([&] { dense.set_name(""); }), HasSubstr("[Module] a name"));
}

}  // namespace
}  // namespace sinter::test::optimizer_state_test
