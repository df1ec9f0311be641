// Steps: what StepCore and Spec offer beyond a call, and what they refuse.
#include <filesystem>
#include <thread>

#include "ir/graph.h"
#include "tests/frontend/mistakes.h"

namespace sinter::test::step_test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

StepCore doubling(StepOptions options) {
  return {[](std::span<const Tensor> in) { return std::vector{in[0] * 2}; }, std::move(options), std::source_location::current()};
}

TEST(Step, IsSavedAndRunsWithoutItsFunction) {
  const TemporaryFolder folder;
  const std::string path = folder.path + "/step.sinter";
  const Tensor x({1, 2, 3}, {3});
  auto step = compile([](const Tensor& t) { return t * t + 1; }, {.name = "poly", .mode = modes().back()});
  const std::vector<float> wanted = step(x).to_vector<float>();
  if (codegen::is_built()) {
    step.save(path);
    for (const Mode mode : modes()) {
      const auto loaded = load_step(path, {.mode = mode});
      const Tensor* const in[] = {&x};
      EXPECT_EQ(loaded->call(in)[0].to_vector<float>(), wanted);
      expect_errors({{"[poly] takes 1 inputs, got 0", [&] { loaded->call({}); }},
                     {"[poly] input 'x0' must be f32[N], got f32[N,3]",
                      [&] {
                        const Tensor wide = random({2, 3}, 1);
                        const Tensor* const other[] = {&wide};
                        loaded->call(other);
                      }},
                     {"[poly] a step loaded from a file cannot be called inside a trace",
                      [&] { compile([&](const Tensor& t) { return loaded->call(std::array{&t})[0]; })(x); }}});
    }
  }
}

TEST(Step, OptionsChangeBetweenCalls) {
  StepCore step = doubling({.name = "doubling", .mode = modes().back()});
  const Tensor x = random({40, 3}, 1);
  const Tensor* const in[] = {&x};
  const std::vector<float> wanted = step.call(in)[0].to_vector<float>();
  step.set_threads(3, true);
  EXPECT_EQ(step.options().threads, 3);
  EXPECT_TRUE(step.options().force);
  EXPECT_EQ(step.call(in)[0].to_vector<float>(), wanted);
  EXPECT_THAT(error_of([&] { step.set_threads(-1, false); }), HasSubstr("[doubling] threads must not be negative, got -1"));
  EXPECT_THAT(error_of([&] { doubling({.name = "doubling", .threads = -5}); }), HasSubstr("[doubling] threads must not be negative, got -5"));
  if (codegen::is_built()) {
    EXPECT_EQ(step.last_threads(), 3);
    EXPECT_EQ(step.compile_count(), 1u);
    EXPECT_GT(step.compile_seconds(), 0);
    EXPECT_EQ(step.graph().inputs()[0].kind, InputKind::batch);
    StepCore fixed = doubling({});
    fixed.set_kinds({InputKind::fixed});
    EXPECT_EQ(fixed.call(in)[0].to_vector<float>(), wanted);
    EXPECT_EQ(fixed.graph().inputs()[0].kind, InputKind::fixed);
    std::vector<float> one(120);
    fixed.call_one(x.to_vector<float>(), one);
    EXPECT_EQ(one, wanted);
  }
}

/// A fixed input has all its dimensions compiled in, and each other size is a variant.
TEST(Spec, FixedInputsHaveNoBatch) {
  NEEDS_CODEGEN();
  auto step = compile([](const Tensor& x, const Tensor& w) { return matmul(x, w); }, Spec::batch(DType::f32, {2}), Spec::fixed(DType::f32, {2, 2}));
  EXPECT_EQ(step.compile_count(), 1u);
  const ir::InputSpec& spec = step.graph().inputs()[1];
  EXPECT_EQ(spec.kind, InputKind::fixed);
  EXPECT_EQ(spec.type.shape, Shape({2, 2}));
  EXPECT_THAT(step(Tensor({1, 2}, {1, 2}), Tensor({0, 1, 1, 0}, {2, 2})).to_vector<float>(), ElementsAre(2, 1));
  EXPECT_EQ(step(random({7, 2}, 1), random({2, 2}, 2)).shape(), Shape({7, 2}));
  EXPECT_EQ(step.compile_count(), 1u);
  EXPECT_EQ(step(random({7, 2}, 1), random({2, 3}, 2)).shape(), Shape({7, 3}));
  EXPECT_EQ(step.compile_count(), 2u) << "another fixed shape";
}

TEST(StepErrors, SayWhatIsWrong) {
  NEEDS_CODEGEN();
  const Tensor x = random({4, 3}, 1), scalar(1.0f);
  const Tensor *const in[] = {&x}, *const number[] = {&scalar};
  StepCore step = doubling({.name = "doubling"}), batch = doubling({.name = "batch", .kinds = {InputKind::batch}});
  std::vector<Tensor> two(2);
  expect_errors({{"[doubling] has not been compiled yet; call it once in graph mode, or compile it with the types of its inputs",
                  [&] { (void)step.explain(); }},
                 {"[batch] input 0 is declared a batch but is a scalar", [&] { batch.call(number); }},
                 {"[doubling] returns 1 tensors, not 2", [&] { step.call(in, two); }},
                 {"input 'x0' has no samples", [&] {
                    const Tensor none = Tensor::zeros({DType::f32, {0, 3}});
                    step.call(std::array{&none});
                  }}});
  std::vector<float> room(2);
  auto pair = compile([](const Tensor& a, const Tensor& b) { return a + b; }, {.name = "pair"});
  pair(x, x);
  auto one = compile([](const Tensor& a) { return a * 2; }, {.name = "one"});
  one(x);
  auto count = compile([](const Tensor& a) { return a * 2; }, {.name = "count"});
  count(Tensor::zeros({DType::i32, {4, 3}}));
  nn::Sequential layers{nn::Conv2D(3, 2, {1}), nn::Flatten()};
  auto image = compile([&](const Tensor& a) { return layers(a); }, {.name = "image"});
  expect_errors(
      {{"[pair] predict_one takes one sample of numbers, but the step has 2 inputs; call it", [&] { pair.predict_one(std::vector<float>(3), room); }},
       {"[count] predict_one takes one sample of f32 numbers, but the step's input is i32[N,3]; call it",
        [&] { count.predict_one(std::vector<float>(3), room); }},
       {"[image] predict_one: the step was never called, so the sample was taken for one of f32[N,12]; call it, or compile it with the type of its "
        "input, before. ",
        [&] { image.predict_one(std::vector<float>(12), room); }},
       {"[one] predict_one: the result is f32[1,3], but there is room for 2 numbers", [&] { one.predict_one(std::vector<float>(3), room); }}});
}

TEST(StepErrors, OfRun) {
  NEEDS_CODEGEN();
  const Parameter rate("rate", Tensor(1.0f));
  auto step = compile(
      [&](const Tensor& x) {
        rate.assign(rate * 0.5f);
        return sum(x) * rate;
      },
      {.name = "falling"});
  const std::vector<float> rates{1, 2};
  const Tensor x = random({4}, 1);
  expect_errors({{"[falling] run: learning_rates needs learning_rate, the parameter that takes them",
                  [&] { step.run(x, {.steps = 2, .learning_rates = rates}); }},
                 {"[falling] run: the step assigns 'rate' itself; leave learning_rates empty",
                  [&] { step.run(x, {.steps = 2, .learning_rate = rate, .learning_rates = rates}); }}});
}

/// The call waits in its own function until another thread has tried.
TEST(StepErrors, OneCallAtATime) {
  NEEDS_CODEGEN();
  StepCore* self = nullptr;
  std::string said;
  StepCore step(
      [&](std::span<const Tensor> in) {
        if (said.empty()) std::thread([&] { said = error_of([&] { self->call(std::array{&in[0]}); }); }).join();
        return std::vector{in[0] * 2};
      },
      {.name = "busy", .mode = Mode::eager}, std::source_location::current());
  self = &step;
  const Tensor x = random({2}, 1);
  step.call(std::array{&x});
  EXPECT_THAT(said, HasSubstr("[busy] this step is already running on another thread; give each thread a clone()"));
}

TEST(SettingErrors, UnwritableFolders) {
  NEEDS_CODEGEN();
  const Tensor x = random({2}, 1);
  {
    const Environment dump("SINTER_DUMP", "/proc/nowhere");
    EXPECT_THAT(error_of([&] { doubling({}).call(std::array{&x}); }), HasSubstr("[dump] cannot make the folder '/proc/nowhere"));
  }
  // A folder where a file should be, once for the passes and once for the code.
  const TemporaryFolder folder;
  const auto error = [&](const std::string& name) {
    const std::string path = folder.path + "/" + name;
    {
      const Environment dump("SINTER_DUMP", path.c_str());
      doubling({}).call(std::array{&x});
    }
    for (const auto& file : fs::recursive_directory_iterator(path))
      if (file.path().filename().string().ends_with(name)) {
        fs::remove(file.path());
        fs::create_directory(file.path());
        break;
      }
    const Environment dump("SINTER_DUMP", path.c_str());
    return error_of([&] { doubling({}).call(std::array{&x}); });
  };
  EXPECT_THAT(error("traced.txt"), AllOf(HasSubstr("[dump] cannot write '"), HasSubstr("traced.txt'; give a folder that can be written")));
  EXPECT_THAT(error("step.ll"), HasSubstr("[SINTER_DUMP] cannot write "));
}

}  // namespace
}  // namespace sinter::test::step_test
