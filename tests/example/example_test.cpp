// The examples, on small data: what they print and how they end.
#include <cstdlib>

#include "tests/support/expect_program.h"
#include "tests/support/temporary_folder.h"

namespace sinter::test {
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

TEST(Example, MlpMnistLearns) { EXPECT_THAT(example("mlp_mnist", {"--epochs", "1"}, true), Prints(HasSubstr("mean test accuracy of "))); }

TEST(Example, LenetMnistLearns) {
  EXPECT_THAT(example("lenet_mnist", {"--epochs", "2", "--samples", "6400"}), Prints(ContainsRegex("test accuracy [78][0-9.]* %")));
}

TEST(Example, VggCifar10Runs) {
  EXPECT_THAT(example("vgg_cifar10", {"--epochs", "4", "--samples", "320", "--augment"}), Prints(ContainsRegex("test accuracy [0-9.]+ %")));
}

TEST(Example, Conv1dSignalRuns) {
  EXPECT_THAT(example("conv1d_signal", {"--samples", "256", "--epochs", "4"}), Prints(ContainsRegex("test accuracy +[0-9.]+ % +[0-9.]+ %")));
}

// ---- the programs of a first day, which judge themselves by their status ----

TEST(FirstDay, ResidualNetworkLearns) {
  EXPECT_THAT(example("resnet", {"/usr/share/datasets/fashion-mnist", "2240"}),
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

/// Each mistake has an error, in the words that a user of the library reads.
TEST(FirstDay, EachMistakeIsNamed) {
  const Finished finished = example("misuse");
  EXPECT_THAT(finished, Prints(Not(HasSubstr("NO ERROR"))));
}

}  // namespace
}  // namespace sinter::test
