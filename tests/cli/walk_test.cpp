// The way of a user through the command line with each kind of data: train, evaluate, predict, inspect.
#include "tests/cli/cli.h"

namespace sinter::test::walk_test {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::StartsWith;

class Walk : public Cli {
 protected:
  Walk() {
    std::string lines;
    for (int i = 0; i < 40; ++i)
      lines += std::string("{\"review\": \"") + (i % 2 ? "great" : "dull") + " film\", \"label\": \"" + (i % 2 ? "good" : "bad") + "\"}\n";
    write_bytes(file("reviews.jsonl"), lines);
  }
  /// Trains, with what it is to print in the end; then evaluates and predicts from the data, and inspects the model.
  void walk(const Arguments& training, const std::string& trained, const Arguments& data, const std::string& evaluated, const std::string& predicted,
            const std::string& inspected) const {
    const std::string saved = file("model.sinter");
    EXPECT_THAT(sinter_with(Arguments{"train", "--quiet", "-o", saved, "--epochs", "60", "--learning-rate", "0.01", "--batch-size", "8"} + training),
                Prints(ContainsRegex(trained + "[^\n]*\nsaved ")));
    EXPECT_THAT(sinter_with(Arguments{"evaluate", saved} + data), Prints(ContainsRegex("^[0-9]+ samples\n" + evaluated)));
    const Finished answers = sinter_with(Arguments{"predict", saved} + data);
    EXPECT_EQ(answers.status, 0) << answers;
    EXPECT_THAT(answers.out, StartsWith(predicted));
    EXPECT_THAT(sinter_with({"inspect", saved}), Prints(HasSubstr(inspected)));
  }
};

TEST_F(Walk, ATable) {
  walk({"--data", houses, "--target", "price", "--ignore", "id"}, "^validation: R² 0\\.[5-9]", {"--data", houses},
       "r2 0\\.[5-9][0-9]*\nroot_mean_squared_error ", "price\n", "predicts: price\n");
}

TEST_F(Walk, AnArray) {
  const Arguments arrays{"--data", fixture("x.npy"), "--labels", fixture("labels.npy")};
  walk(arrays + Arguments{"--validation-split", "0"}, "^training: accuracy 100 %", arrays, "accuracy 1\n", "prediction,p(0),p(1),",
       "predict: x0 f32[N,12], to f32[N,5] ");
}

TEST_F(Walk, IdxFiles) {
  const std::string folder = digits(20);
  const Arguments files{"--data", folder + "/train-images-idx3-ubyte", "--labels", folder + "/train-labels-idx1-ubyte"};
  walk(files + Arguments{"--layers", "conv 2 5 relu strides=3; flatten"}, "^validation: accuracy 100 %", files, "accuracy 1\n",
       "prediction,p(0),p(1)\n0,", "predict: x0 u8[N,28,28,1], to f32[N,2] ");
}

TEST_F(Walk, AFolderOfMnist) {
  walk({"--data", digits(20)}, "^validation: accuracy 100 %", {"--data", file("digits")}, "accuracy 1\n", "prediction,p(0),p(1)\n0,",
       "predict: x0 u8[N,784], to f32[N,2] ");
}

TEST_F(Walk, AFolderOfImagesAndAPicture) {
  walk({"--data", photos(), "--validation-split", "0"}, "^training: accuracy 100 %", {"--data", file("photos")}, "accuracy 1\n",
       "prediction,p(grey),p(rgb)\ngrey,", "predict: x0 u8[N,");
  EXPECT_THAT(sinter_with({"predict", file("model.sinter"), fixture("rgb.png")}), Prints(StartsWith("prediction,p(grey),p(rgb)\nrgb,")));
}

TEST_F(Walk, Texts) {
  const Arguments data{"--data", file("reviews.jsonl")};
  walk(data + Arguments{"--text", "review", "--target", "label"}, "^validation: accuracy 100 %", data, "accuracy 1\n", "label,p(bad),p(good)\nbad,",
       "texts: review, ");
  EXPECT_THAT(sinter_with({"predict", file("model.sinter"), "--text", "a great film"}), Prints(StartsWith("label,p(bad),p(good)\ngood,")));
}

TEST_F(Walk, Autoencoders) {
  walk({"--data", houses, "--target", "self", "--ignore", "id"}, "^validation: mean squared error [0-9.]+", {"--data", houses},
       "mean_squared_error [0-9.]+\nmedian ", "error\n", "reproduces its samples\n");
  walk({"--data", digits(20), "--target", "self"}, "^validation: mean squared error [0-9.]+", {"--data", file("digits")},
       "mean_squared_error [0-9.e-]+\nmedian ", "error\n", "reproduces its samples\n");
}

TEST_F(Walk, AFolderMustSuitTheModel) {
  ASSERT_EQ(sinter_with({"train", "--data", photos(), "--epochs", "1", "--quiet", "-o", file("model.sinter")}).status, 0);
  const auto evaluated = [&](const std::string& folder, const Arguments& more = {}) {
    return sinter_with(Arguments{"evaluate", file("model.sinter"), "--data", folder} + more);
  };
  EXPECT_THAT(evaluated(file("photos"), {"--labels", fixture("labels.npy")}),
              Fails(failure, HasSubstr("[--labels] is for .npy or IDX samples; " + file("photos") + " has the classes of its images itself")));
  EXPECT_THAT(evaluated(digits(4)), Fails(failure, HasSubstr("has 784 numbers per sample, but the model takes ")));
  std::filesystem::rename(file("photos/rgb"), file("photos/rgbb"));
  EXPECT_THAT(evaluated(file("photos")),
              Fails(failure, HasSubstr("photos] has a subfolder 'rgbb', which is none of the model's classes; the nearest is 'rgb'")));
  // In another order, and not all of them.
  std::filesystem::rename(file("photos/rgbb"), file("photos/rgb"));
  std::filesystem::remove_all(file("photos/grey"));
  EXPECT_THAT(evaluated(file("photos")), Prints(StartsWith("4 samples\naccuracy ")));
}

}  // namespace
}  // namespace sinter::test::walk_test
