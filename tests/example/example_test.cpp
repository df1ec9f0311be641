// The examples, on small data: what they print and how they end.
#include <cstdlib>

#include "tests/support/expect_program.h"
#include "tests/support/temporary_folder.h"

namespace sinter::test {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;

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

}  // namespace
}  // namespace sinter::test
