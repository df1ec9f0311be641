// The examples, on small data: what they print and how they end.
#include <cstdlib>
#include <regex>
#include <sstream>

#include "tests/support/expect_program.h"
#include "tests/support/temporary_folder.h"

namespace sinter::test::example_test {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

/// Runs an example; `verified`: each compiled step is verified, too.
Finished example(const std::string& name, const std::vector<std::string>& arguments = {}, bool verified = false) {
  return run(std::string(SINTER_EXAMPLE_FOLDER) + "/" + name, arguments,
             [=] { verified ? ::setenv("SINTER_VERIFY", "1", 1) : ::unsetenv("SINTER_VERIFY"); });
}

TEST(Example, LinearRegressionFindsTheClosedForm) {
  EXPECT_THAT(example("linear_regression", {}, true), Prints(AllOf(HasSubstr("eager: w = "), HasSubstr("graph: w = "))));
}

TEST(Example, CustomStepLearns) {
  EXPECT_THAT(example("custom_step", {}, true),
              Prints(AllOf(ContainsRegex("accuracy after 300 steps: (1|0\\.9)"), HasSubstr("verify: "), HasSubstr("kernels:"))));
}

TEST(Example, InspectShowsEachStage) {
  EXPECT_THAT(example("inspect", {}, true), Prints(AllOf(HasSubstr("=== as traced\ngraph "), HasSubstr("group.txt"), HasSubstr("=== explain()\n"))));
}

TEST(Example, SaveAndContinueGoesOn) {
  const TemporaryFolder folder;
  EXPECT_THAT(example("save_and_continue", {"train", folder / "saved.sinter"}, true), Prints(HasSubstr("accuracy")));
  EXPECT_THAT(example("save_and_continue", {"continue", folder / "saved.sinter"}, true), Prints(HasSubstr("a point at radius 3 scores ")));
  EXPECT_NE(example("save_and_continue", {"continue", folder / "nowhere.sinter"}).status, 0);
}

TEST(Example, FraudIsTrainedAndScored) {
  const TemporaryFolder folder;
  const std::vector<std::string> files{folder / "fraud.sinter", folder / "transactions.csv"};
  EXPECT_THAT(example("fraud_train", files, true), Prints(HasSubstr("saved " + files[0])));
  EXPECT_THAT(example("fraud_score", files, true), Prints(ContainsRegex("AUC 0\\.9[5-9]")));
}

#ifdef SINTER_KAFKA
TEST(Example, FraudStreamAlerts) {
  const TemporaryFolder folder;
  const Finished finished = example("fraud_stream", {"--payments", "3000", "--model", folder / "fraud.sinter"});
  EXPECT_EQ(finished.status, 0) << finished;
  EXPECT_THAT(finished.out, AllOf(HasSubstr("past payments of 34 columns"), ContainsRegex("payment [0-9]+: \\{\"prediction\":\"fraud\""),
                                  ContainsRegex("[1-9][0-9]* alerts, [1-9][0-9]* of them frauds; [1-9][0-9]* frauds were settled\n$")));
  EXPECT_THAT(finished.err, ContainsRegex("^3000 records, 0 errors, [1-9][0-9]* skipped, [1-9][0-9]* results"));
}
#endif

TEST(Example, MlpMnistLearns) { EXPECT_THAT(example("mlp_mnist", {"--epochs", "1"}, true), Prints(HasSubstr("mean test accuracy of "))); }

TEST(Example, LenetMnistLearns) {
  EXPECT_THAT(example("lenet_mnist", {"--epochs", "2", "--samples", "6400"}), Prints(ContainsRegex("test accuracy [78][0-9.]* %")));
}

TEST(Example, VggCifar10Runs) {
  EXPECT_THAT(example("vgg_cifar10", {"--epochs", "4", "--samples", "320", "--augment"}), Prints(ContainsRegex("test accuracy [0-9.]+ %")));
}

TEST(Example, SeriesAreForecastAndRead) {
  EXPECT_THAT(example("series_forecast", {"--hours", "1000", "--epochs", "2"}, true), Prints(ContainsRegex("LSTM +0\\.[0-9]+\n.*\n.*\nnext value")));
  EXPECT_THAT(example("gru_reviews", {}, true), Prints(ContainsRegex("epoch 3: [0-9.]+ s, test accuracy (9[5-9]|100)")));
}

TEST(Example, GruReviewsReadsFiles) {
  const TemporaryFolder folder;
  EXPECT_THAT(example("gru_reviews", {"--data", folder / ""}).err, HasSubstr("train.tsv]"));
}

TEST(Example, OwnCellLearnsToAdd) {
  EXPECT_THAT(example("own_cell", {"--steps", "300", "--length", "10", "--eager"}, true), Prints(ContainsRegex("eager .* 0\\.0")));
}

TEST(Example, Conv1dSignalRuns) {
  EXPECT_THAT(example("conv1d_signal", {"--samples", "256", "--epochs", "4"}), Prints(ContainsRegex("test accuracy +[0-9.]+ % +[0-9.]+ %")));
}

// ---- the programs of a first day, which judge themselves by their status ----

TEST(FirstDay, ResidualNetworkLearns) {
  EXPECT_THAT(example("resnet", {"/usr/share/datasets/fashion-mnist", "3200"}),
              Prints(ContainsRegex("block_1.*\n(.*\n)*.*test accuracy [5-9][0-9.]* %")));
}

TEST(FirstDay, GeneratorFindsTheCircle) { EXPECT_THAT(example("gan", {}, true), Prints(ContainsRegex("radius (1|0\\.9|1\\.0)"))); }

TEST(FirstDay, BanditServesGroupsOfEverySizeByTwoFunctions) {
  EXPECT_THAT(example("bandit", {}, true), Prints(HasSubstr("compiled 2 functions for 16 group sizes")));
}

TEST(FirstDay, PartsOfOnesOwnWorkTogether) {
  EXPECT_THAT(example("custom_parts", {}, true), Prints(ContainsRegex("^[1-9][0-9]? epochs, coverage 0\\.[89]")));
}

TEST(FirstDay, ServerAnswersWhileItTrains) { EXPECT_THAT(example("server", {}, true), Prints(HasSubstr("and the last one right"))); }

TEST(FirstDay, WeightsComeFromPyTorchAndGoToNumPy) {
  const TemporaryFolder folder;
  const std::string fixtures = SINTER_TEST_FIXTURES;
  const auto program = [&](const std::string& weights) {
    return example("torch_weights", {weights, fixtures + "/weights_x.npy", fixtures + "/torch_y.npy", folder / "net.npz"}, true);
  };
  EXPECT_THAT(program(fixtures + "/torch.safetensors"), Prints(AllOf(HasSubstr("0.weight f32[9,12]"), HasSubstr("and read it back"))));
  const Finished other = program(fixtures + "/torch_image.safetensors");
  EXPECT_EQ(other.status, 1);
  EXPECT_THAT(other.err, HasSubstr("layer 'dense_1' has weight [12,9], but layer '0' of the file has [3,3,2,6]"));
}

TEST(FirstDay, TableAgreesWithScikitLearn) {
  EXPECT_THAT(
      example("table", {SINTER_EXAMPLE_SOURCES "/first_day/rents.csv"}, true),
      Prints(AllOf(HasSubstr("post code: 8 categories, 0 missing"), HasSubstr("area: numbers, 52 missing"), HasSubstr("pinv             0.9029"))));
}

TEST(FirstDay, PhysicsInformedNetworkSolvesTheHeatEquation) { EXPECT_THAT(example("physics", {}, true), Prints(HasSubstr("values agree"))); }

// ---- and of a first month ----

TEST(FirstMonth, AutoencoderDraws) { EXPECT_THAT(example("vae", {}, true), Prints(HasSubstr("after: "))); }

TEST(FirstMonth, QLearningBalancesThePole) { EXPECT_THAT(example("dqn"), Prints(HasSubstr("steps until the pole falls, of 200: "))); }

TEST(FirstMonth, UNetFindsTheDiscs) { EXPECT_THAT(example("unet"), Prints(HasSubstr("intersection over union"))); }

TEST(FirstMonth, RecommenderKnowsWhatUsersWatch) { EXPECT_THAT(example("recommender", {}, true), Prints(HasSubstr("recall@20"))); }

TEST(FirstMonth, FlowLearnsTheMoons) { EXPECT_THAT(example("flow"), Prints(HasSubstr("log-likelihood"))); }

/// Each mistake has an error, in the words that a user of the library reads.
TEST(FirstDay, EachMistakeIsNamed) {
  const Finished finished = example("misuse");
  EXPECT_THAT(finished, Prints(Not(HasSubstr("NO ERROR"))));
  std::vector<std::string> errors;  // without the lines of the program
  std::istringstream out(finished.out);
  for (std::string line; std::getline(out, line);)
    if (line.starts_with("  ")) errors.push_back(std::regex_replace(line.substr(2), std::regex("^\\[[^\\]]*misuse[^\\]]*\\] "), ""));
  EXPECT_THAT(
      errors,
      testing::ElementsAre(
          "shape [2,2] has 4 elements, got 3", "add: shapes [8,4] and [3] do not broadcast: 4 against 3; equal dimensions or 1 are needed",
          "matmul: the contracted dimensions differ: 4 of [8,4] against 3 of [3,2]",
          "[dense_2] input has 8 features but the layer was built for 6; make it Dense(8, 2)",
          "axis 2 does not exist in [8,4], which has 2 dimensions",
          "add: operands must have one element type, got f32[8,4] and i32[8,4]; convert one with cast",
          "grad needs a scalar f32 loss, got f32[8,2]; take its mean or sum first",
          "the loss was not computed from trainable parameters or watched tensors, so it has no gradient; was it detached or returned by a compiled "
          "step?",
          "item() needs a value, but %1: f32[] has none while it is traced; use where() for choices, or return the tensor and read it after the step",
          "if (tensor) needs a value, but %3: bool[] has none while it is traced; use where() for choices, or return the tensor and read it after "
          "the step",
          "[step] inputs 'x0' and 'x1' have 8 and 4 samples; all batch inputs need the same number, declare others fixed",
          "matmul: at most one batch dimension per shape, got [N,N]; sum over N first, as x^T y does, or give the batch a size, with which [N, N] is "
          "a shape: TrainerOptions::fixed_batch or Spec::fixed",
          "[Trainer] the model uses the parameter 'dense.weight', which is none of its parameters() and would not be trained; add() the layer that "
          "holds it in the constructor, or freeze it",
          testing::HasSubstr("] one_hot: index "), "[fit] x has 8 samples but y has 9",
          "[fit] x has nan at [0, 0], sample number first; leave such samples out or fill them in, as data::Encoder does",
          "[fit] epochs and batch_size must be at least 1, got 0 and 32", "[fit] epochs and batch_size must be at least 1, got 1 and 0",
          "[fit] a callback monitors 'val_los', which no epoch of this fit will have; the nearest is 'loss'; give it validation data",
          "[sequential] there is no parameter 'dense_1.weigth'; there are dense_1.weight, dense_1.bias",
          "[save] the shapes of the data are not known yet; call fit, train_on_batch or evaluate first",
          "[nowhere.sinter] cannot open the file: No such file or directory; check the path",
          "is no Sinter file: it does not begin with 'SINTER' (byte 0); check the path",
          "[load] 'dense_1.weight' is f32[4,5] in the file but f32[4,3] in the model",
          "[adam] the learning rate must be a finite number of at least 0, got -1", "[Dropout] the rate must be in [0, 1), got 1"));
}

}  // namespace
}  // namespace sinter::test::example_test
