// save_state and load_state: a loop written by hand continues as if it had not stopped.
#include "tests/frontend/mistakes.h"

namespace sinter::test::loop_state_test {
namespace {

using ::testing::HasSubstr;

/// Two networks with an optimizer each, dropout, and a counter.
struct Loop {
  nn::Sequential maker, judge;
  optim::Adam maker_adam, judge_adam;
  Parameter count{"count", Tensor::zeros({DType::u32, {}}), false};
  Step<Tensor(Tensor)> step;

  explicit Loop(Mode mode) {
    seed(7);  // dropout draws from a stream that depends on the order of construction
    maker += nn::Dense(3, 5, Activation::tanh);
    maker += nn::Dropout(0.3);
    maker += nn::Dense(5, 2);
    judge += nn::Dense(2, 4, Activation::relu);
    judge += nn::Dense(4, 1);
    step = compile(
        [this](const Tensor& x) {
          const nn::TrainingScope training;
          const Tensor score = mean(judge(maker(x)));
          const auto a = maker.parameters(), b = judge.trainable_parameters();
          maker_adam.update(maker.trainable_parameters(), grad(score, maker.trainable_parameters()));
          judge_adam.update(b, grad(mean(square(judge(maker(x)) - 1)), b));
          count.assign(count + 1);
          return score;
        },
        {.mode = mode});
  }
  void save(const std::string& path) const { save_state(path, maker, judge, maker_adam, judge_adam, count); }
  void load(const std::string& path) const { load_state(path, maker, judge, maker_adam, judge_adam, count); }
};

TEST(LoopState, GoesOnAsIfItHadNotStopped) {
  const TemporaryFolder folder;
  const Tensor x = random({8, 3}, 1);
  for (const Mode mode : modes())
    for (const char* name : {"/loop.safetensors", "/loop.npz"}) {
      const std::string path = folder.path + name;
      Loop first(mode);
      for (int i = 0; i < 3; ++i) first.step(x);
      first.save(path);
      std::vector<double> wanted, got;
      for (int i = 0; i < 3; ++i) wanted.push_back(first.step(x).item());
      Loop second(mode);
      second.load(path);  // its optimizers have no slots yet
      for (int i = 0; i < 3; ++i) got.push_back(second.step(x).item());
      EXPECT_EQ(got, wanted);
      EXPECT_EQ(second.count.read().item(), 6);
      second.load(path);  // now they have
      got.clear();
      for (int i = 0; i < 3; ++i) got.push_back(second.step(x).item());
      EXPECT_EQ(got, wanted);
    }
}

TEST(LoopState, OfOtherPartsIsRefusedAndChangesNothing) {
  const TemporaryFolder folder;
  const std::string path = folder.path + "/loop.safetensors";
  nn::Dense dense(2, 3), other(2, 4);
  optim::Adam adam;
  adam.update(std::array{dense.weight}, std::array{Tensor::zeros({DType::f32, {2, 3}})});
  save_state(path, dense, adam);
  const std::vector<float> before = other.weight.read().to_vector<float>();
  const nn::Dense unbiased(2, 3, Activation::none, {.use_bias = false});
  const Parameter twice("twice", Tensor(1.0f));
  expect_errors({{"'weight' of part 0 is f32[2,3] in the file, but f32[2,4] here", [&] { load_state(path, other, adam); }},
                 {"belongs to none of the 1 parts; load the parts that were saved, in their order", [&] { load_state(path, dense); }},
                 {"part 2 needs 'twice', which the file lacks", [&] { load_state(path, dense, adam, twice); }},
                 {"part 0 needs 'adam/learning_rate', which the file lacks", [&] { load_state(path, adam, dense); }},
                 {"part 0 has no 'bias'; the nearest is 'weight'", [&] { load_state(path, unbiased, adam); }},
                 {"weights are written to .safetensors or .npz files", [&] { save_state(folder.path + "/loop.txt", dense); }}});
  EXPECT_EQ(other.weight.read().to_vector<float>(), before);
  struct Same : nn::Module {
    Parameter a = add("a", Tensor(1.0f)), b = add("b", Tensor(2.0f));
    Same() : Module("same") { b.set_name("a"); }
    Tensor forward(const Tensor& x) override { return x; }
  };
  EXPECT_THAT(error_of([&] { save_state(path, Same()); }),
              HasSubstr("[save_state] part 0 has two parameters 'a'; name them or their modules with set_name"));
}

TEST(LoopState, PartsSayWhatTheyHold) {
  const nn::Dense dense(2, 3);
  const optim::Adam adam;
  EXPECT_EQ(StatePart(dense).parameters(), dense.parameters());
  EXPECT_EQ(StatePart(dense).optimizer(), nullptr);
  EXPECT_EQ(StatePart(adam).optimizer(), &adam);
}

TEST(LoopState, OfAnOptimizerIsLoadedByName) {
  const Parameter w("w", Tensor({1, 2}, {2}));
  const Tensor g({1, -1}, {2});
  optim::Adam first, second;
  first.update(std::array{w}, std::array{g});
  std::vector<std::pair<std::string, Tensor>> state;
  for (const Parameter& p : first.state()) state.emplace_back(p.name(), p.read());
  second.load_state(state);
  second.update(std::array{w}, std::array{g});
  first.update(std::array{w}, std::array{g});
  ASSERT_EQ(first.state().size(), second.state().size());
  for (std::size_t i = 0; i < first.state().size(); ++i)
    EXPECT_EQ(min(equal(first.state()[i], second.state()[i])).item(), 1) << first.state()[i].name();
  optim::Adam third;
  using Entry = std::pair<std::string, Tensor>;
  third.load_state(std::array{Entry{"adam/learning_rate", Tensor(0.5f)}, Entry{"adam/w/m", Tensor(1.0f)}});
  EXPECT_EQ(third.learning_rate().read().item(), 0.5);
  expect_errors({{"[adam] 'sgd/x' is no state of this optimizer, whose names begin with adam/",
                  [&] { first.load_state(std::array{std::pair<std::string, Tensor>{"sgd/x", Tensor(1.0f)}}); }},
                 {"[adam] the state 'adam/learning_rate' is missing", [&] { first.load_state({}); }},
                 {"[adam] load_state() cannot be traced; call it between steps",
                  [&] { compile([&](const Tensor& x) { return first.load_state({}), x; }, Spec::batch(DType::f32, {2})); }},
                 {"[adam] the state 'adam/learning_rate' is f32[], got f32[2]",
                  [&] { optim::Adam().load_state(std::array{std::pair<std::string, Tensor>{"adam/learning_rate", g}}); }},
                 {"[adam] the loaded state 'adam/w/m' must be f32[2], got f32[]", [&] { third.update(std::array{w}, std::array{g}); }}});
}

}  // namespace
}  // namespace sinter::test::loop_state_test
