// sinter inspect, explain, verify and bench: what they say of a model.
#include <sinter/sinter.h>

#include <limits>

#include "tests/cli/cli.h"

namespace sinter::test::look_test {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class Look : public Cli {};

void inject_fault() { ::setenv("SINTER_FAULT", "%0", 1); }

TEST_F(Look, InspectPrintsWhatTheFileHolds) {
  EXPECT_THAT(
      sinter_with({"inspect", model()}),
      Prints(AllOf(StartsWith("trained for 1 epoch, learning rate 0.001\npredict: x0 f32[N,6], to f32[N,1] in "), HasSubstr("\n101 numbers, "),
                   HasSubstr("features: area area missing town=Bonn town=Kiel town=Ulm rooms\npredicts: price\n"))));
}

TEST_F(Look, InspectPrintsTheGraphOfAStep) {
  const std::string saved = model();
  EXPECT_THAT(sinter_with({"inspect", saved, "--graph"}), Prints(StartsWith("graph predict")));
  EXPECT_THAT(sinter_with({"inspect", saved, "--graph", "--step", "train"}), Prints(StartsWith("graph train")));
}

TEST_F(Look, InspectDrawsTheGraphOfAStep) {
  const std::string saved = model();
  for (const char* step : {"predict", "train"}) {
    EXPECT_THAT(sinter_with({"inspect", saved, "--step", step, "--dot", file("graph.dot"), "--svg", file("graph.svg")}),
                Prints(HasSubstr("features:")));
    EXPECT_THAT(read_bytes(file("graph.dot")),
                AllOf(StartsWith("digraph"), step == std::string("train") ? testing::Matcher<std::string>(HasSubstr("sqrt"))
                                                                          : testing::Matcher<std::string>(Not(HasSubstr("sqrt")))));  // Adam's
    EXPECT_THAT(read_bytes(file("graph.svg")), HasSubstr("<svg"));
  }
}

TEST_F(Look, InspectPrintsStatisticsOfWeights) {
  seed(1);
  nn::Sequential net{nn::Dense(2, 2), nn::Dropout(0.1)};
  Trainer trainer(net, loss::mean_squared_error, optim::Adam(), {.mode = Mode::eager});
  (void)trainer.train_on_batch(Tensor::zeros({DType::f32, {1, 2}}), Tensor::zeros({DType::f32, {1, 2}}));
  net.parameters()[0].assign(Tensor({-1, 0, 0, 3}, {2, 2}));
  net.parameters()[1].assign(Tensor({0.5f, std::numeric_limits<float>::quiet_NaN()}, {2}));
  trainer.save(file("net.sinter"));
  EXPECT_THAT(
      sinter_with({"inspect", file("net.sinter"), "--weights"}),
      Prints(
          "weights               count         mean          std          min          max     mean |w|      zeros %          NaN     infinite\n"
          "dense_1.weight            4          0.5          1.5           -1            3            1           50            0            0\n"
          "dense_1.bias              2          0.5            0          0.5          0.5          0.5            0            1            0\n"));
}

TEST_F(Look, ExplainTellsWhatTheCompilerDid) {
  const std::string saved = model();
  EXPECT_THAT(sinter_with({"explain", saved}),
              Prints(AllOf(StartsWith("step predict, variants: 1"), HasSubstr("kernels:"), HasSubstr("threads at N = 64: "))));
  EXPECT_THAT(sinter_with({"explain", saved, "--step", "train", "--batch-size", "7"}),
              Prints(AllOf(StartsWith("step train"), HasSubstr("threads at N = 7: "))));
}

TEST_F(Look, VerifyAgrees) {
  EXPECT_THAT(sinter_with({"verify", model()}),
              Prints(AllOf(ContainsRegex("predict: verify: [0-9]+ values agree"), ContainsRegex("train: verify: [0-9]+ values agree"))));
}

TEST_F(Look, VerifyThatFindsAWrongResultFails) {
  EXPECT_THAT(sinter_with({"verify", model()}, inject_fault),
              Fails(fault, HasSubstr("model.sinter] internal error: the compiled step 'predict' is wrong; this is a bug in Sinter, please report")));
}

TEST_F(Look, BenchTimesPrediction) {
  const std::string saved = model();
  EXPECT_THAT(sinter_with({"bench", saved, "--repeats", "2", "--batch-size", "3", "--threads", "1"}),
              Prints(ContainsRegex("^eager .*, graph .*, compile ")));
  EXPECT_THAT(sinter_with({"bench", saved, "--repeats", "2", "--details"}),
              Prints(testing::AllOf(HasSubstr("\n  graph us   eager us  layer\n"), HasSubstr("\n kernel   graph us   eager us  node\n"))));
}

TEST_F(Look, BenchComparesNumbersOfThreads) {
  const std::string saved = model();
  EXPECT_THAT(sinter_with({"bench", saved, "--repeats", "2", "--batch-size", "3", "--threads", "1,2,5"}),
              Prints(ContainsRegex("^threads   used   graph us   speed-up   efficiency\n"
                                   "      1      1 +[0-9.]+ +1.00        100 %\n"
                                   "      2      1 +[0-9.]+ +[0-9.]+ +[0-9]+ %\n"  // 3 rows are too little work for two
                                   "      5      1 +[0-9.]+ +[0-9.]+ +[0-9]+ %\n$")));
  EXPECT_THAT(sinter_with({"bench", saved, "--repeats", "2", "--threads", "2,2"}), Prints(HasSubstr(" 1.00        100 %\n")));
  for (const char* wrong : {"1,", "0,1", "2,x", "1025", "1,,2", "01", ""})
    EXPECT_THAT(sinter_with({"bench", saved, "--threads", wrong}),
                Fails(bad_command_line, HasSubstr("[--threads] must be a whole number from 0 to 1024, or several from 1 on, such as 1,2,4, got '" +
                                                  std::string(wrong) + "'")));
}

TEST_F(Look, EachSaysWhatIsWrongWithTheFile) {
  write_bytes(file("text.sinter"), "no model");
  for (const char* command : {"inspect", "explain", "verify", "bench"}) {
    EXPECT_THAT(sinter_with({command, file("nowhere.sinter")}), Fails(failure, HasSubstr("nowhere.sinter] cannot open the file: No such file")));
    EXPECT_THAT(sinter_with({command, file("text.sinter")}), Fails(failure, HasSubstr("text.sinter]")));
  }
}

}  // namespace
}  // namespace sinter::test::look_test
