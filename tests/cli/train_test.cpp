// sinter train and predict: what they make of tables, arrays and folders.
#include <sinter/sinter.h>

#include "tests/cli/cli.h"

namespace sinter::test::train_test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ContainsRegex;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

class Train : public Cli {
 protected:
  Finished predict(const std::string& model, const Arguments& more = {}) const {
    return sinter_with(Arguments{"predict", model, "--data", houses} + more);
  }
  /// A .npy file of elements of this type and shape.
  void write_npy(const std::string& name, const std::string& type, const std::string& shape, const std::string& elements) const {
    const std::string header = "{'descr': '" + type + "', 'fortran_order': False, 'shape': " + shape + ", }\n";
    write_bytes(file(name), std::string("\x93NUMPY\1\0", 8) + static_cast<char>(header.size()) + '\0' + header + elements);
  }
};

// ---- tables ----

TEST_F(Train, LearnsATableWithTheSettingsOfAFileAndPredictsIt) {
  write_bytes(file("settings.json"), R"({"hidden": [16, 8], "epochs": 40, "batch_size": 16, "ignore": ["id"], "quiet": true})");
  EXPECT_THAT(sinter_with({"train", "--data", houses, "--target", "price", "--config", file("settings.json"), "--learning-rate", "0.01", "-o",
                           file("good.sinter")}),
              Prints(AllOf(ContainsRegex("validation: R² 0\\.[89]"), EndsWith("saved " + file("good.sinter") + "\n"))));
  const Finished printed = predict(file("good.sinter")), written = predict(file("good.sinter"), {"-o", file("prices.csv")});
  for (const Finished& finished : {printed, written}) {
    EXPECT_EQ(finished.status, 0);
    EXPECT_THAT(finished.err, ContainsRegex("r2 0\\.[89][0-9]*\nroot_mean_squared_error [0-9.]+\n"));
  }
  EXPECT_EQ(written.out, "");
  EXPECT_THAT(read_bytes(file("prices.csv")), StartsWith("price\n"));
  EXPECT_EQ(std::ranges::count(read_bytes(file("prices.csv")), '\n'), std::ranges::count(read_bytes(houses), '\n'));
  EXPECT_EQ(printed.out, read_bytes(file("prices.csv")));
}

TEST_F(Train, LearnsClasses) {
  const Arguments command{"train", "--data",   houses, "--target", "rooms", "--categorical",     "rooms", "--ignore",
                          "id",    "--epochs", "2",    "--quiet",  "-o",    file("rooms.sinter")};
  EXPECT_THAT(sinter_with(command), Prints(HasSubstr("validation: accuracy ")));
  EXPECT_THAT(sinter_with({"inspect", file("rooms.sinter")}), Prints(HasSubstr("predicts: rooms 1 2 3 4 5 6\n")));
  EXPECT_THAT(predict(file("rooms.sinter")).out, StartsWith("rooms,p(1),p(2),p(3),p(4),p(5),p(6)\n"));
  EXPECT_THAT(predict(file("rooms.sinter")).err, StartsWith("accuracy 0."));
}

TEST_F(Train, PrintsTheModelAndALineAnEpochUnlessQuiet) {
  const Arguments command{"train", "--data", houses, "--target", "price", "--ignore", "id", "--epochs", "3", "-o", file("model.sinter")};
  EXPECT_THAT(sinter_with(command),
              Prints(AllOf(StartsWith("192 rows to train on, 48 to validate, 6 features\n"), HasSubstr("epoch 1/3: "), HasSubstr("epoch 3/3: "))));
  EXPECT_THAT(sinter_with(command + Arguments{"--quiet"}), Prints(Not(HasSubstr("epoch"))));
}

TEST_F(Train, WritesLogReportAndEvents) {
  EXPECT_EQ(
      sinter_with(training() + Arguments{"--epochs", "3", "--log", file("log.csv"), "--report", file("page.html"), "--tensorboard", file("events")})
          .status,
      0);
  const std::string log = read_bytes(file("log.csv"));
  EXPECT_THAT(log, ContainsRegex("^epoch,loss,r2,root_mean_squared_error,val_loss,val_r2,val_root_mean_squared_error,learning_rate,seconds\n1,"));
  EXPECT_EQ(std::ranges::count(log, '\n'), 4);
  EXPECT_THAT(read_bytes(file("page.html")), AllOf(StartsWith("<!DOCTYPE html>"), HasSubstr("Eager and compiled times"), EndsWith("</html>\n")));
  EXPECT_TRUE(fs::exists(file("events") + "/train") && fs::exists(file("events") + "/validation"));
}

TEST_F(Train, ReportsWhatTheModelPredicts) {
  const auto page = [&](const Arguments& more) {
    const Finished finished = sinter_with(
        Arguments{"train", "--hidden", "4", "--epochs", "1", "--quiet", "--report", file("page.html"), "-o", file("model.sinter")} + more);
    EXPECT_EQ(finished.status, 0) << finished.err;
    return std::pair{finished.out, read_bytes(file("page.html"))};
  };
  const auto [said, prices] = page({"--data", houses, "--target", "price", "--ignore", "id"});
  const std::string error = said.substr(said.find("error ") + 6, said.find('\n') - said.find("error ") - 6);  // in the target's unit
  EXPECT_THAT(prices, AllOf(HasSubstr("<h2>Predictions for 48 validation samples: price</h2>"),
                            HasSubstr("Root mean squared error</div><div class=\"value\">" + error + "</div>"), HasSubstr(">true price</text>")));
  const std::string rooms =
      page({"--data", houses, "--target", "rooms", "--categorical", "rooms", "--ignore", "id", "--validation-split", "0"}).second;
  EXPECT_THAT(rooms, AllOf(HasSubstr("<h2>Predictions for 240 training samples: rooms</h2>"), HasSubstr("class=\"confusion\""),
                           HasSubstr("Probabilities are the softmax of the predictions."), Not(HasSubstr("<img"))));
  // Images, and numbers that are all 0 or 1, which are no classes here.
  write_npy("images.npy", "|u1", "(12, 8, 9)", std::string(static_cast<std::size_t>(12 * 8 * 9), 'x'));
  write_npy("kinds.npy", "|u1", "(12,)", std::string("\0\1\2\0\1\2\0\1\2\0\1\2", 12));
  EXPECT_THAT(page({"--data", file("images.npy"), "--labels", file("kinds.npy")}).second,
              AllOf(HasSubstr("<h2>Predictions for 2 validation samples</h2>"), HasSubstr("<img src=\"data:image/png;base64,")));
  std::string numbers(static_cast<std::size_t>(12 * 4), '\0');
  numbers.replace(4, 4, std::string("\0\0\x80\x3f", 4));
  write_npy("numbers.npy", "<f4", "(12,)", numbers);
  EXPECT_THAT(page({"--data", file("images.npy"), "--labels", file("numbers.npy")}).second,
              AllOf(HasSubstr("Predicted against true"), Not(HasSubstr("ROC curve"))));
}

TEST_F(Train, GoesOnFromCheckpoints) {
  const Arguments whole = training() + Arguments{"--epochs", "4"},
                  command = whole + Arguments{"--checkpoints", file("checkpoints"), "--checkpoint-every", "3"};
  EXPECT_THAT(sinter_with(command), Prints(HasSubstr("saved")));
  EXPECT_TRUE(fs::exists(file("checkpoints") + "/checkpoint-000000000024.sinter"));  // 6 steps an epoch
  EXPECT_TRUE(fs::exists(file("checkpoints") + "/checkpoint-000000000021.sinter"));  // in the middle of the fourth
  const std::string expected = predict(file("model.sinter")).out;
  fs::remove(file("checkpoints") + "/checkpoint-000000000024.sinter");  // as if it had died there
  EXPECT_THAT(sinter_with(command), Prints(HasSubstr("saved")));
  EXPECT_EQ(predict(file("model.sinter")).out, expected);
  write_bytes(file("checkpoints") + "/checkpoint-000000000024.sinter", "damaged");
  EXPECT_THAT(sinter_with(command).err, AllOf(StartsWith("warning: ["), HasSubstr("checkpoint-000000000024.sinter")));
  EXPECT_THAT(sinter_with(command + Arguments{"--batch-size", "16"}),
              Fails(failure, HasSubstr("the checkpoint was made with --batch-size 32, now it is 16")));
  EXPECT_THAT(sinter_with(command + Arguments{"--validation-split", "0"}),
              Fails(failure, HasSubstr("the checkpoint was made with a number of samples per epoch of 192, now it is 240; use the same")));
  EXPECT_THAT(sinter_with(command + Arguments{"--epochs", "2"}), Fails(failure, HasSubstr("the checkpoint is of epoch 4 but --epochs is 2")));
  EXPECT_THAT(sinter_with(command + Arguments{"--patience", "3"}),
              Fails(failure, HasSubstr("[checkpoint] was made with another --patience, --log or --tensorboard (number 1: ")));
}

// ---- arrays ----

TEST_F(Train, LearnsArraysAndPredictsThem) {
  const Arguments arrays{"--data", fixture("x.npy"), "--labels", fixture("labels.npy")};
  EXPECT_THAT(sinter_with(Arguments{"train", "--validation-split", "0", "--epochs", "300", "--quiet", "-o", file("arrays.sinter")} + arrays),
              Prints(HasSubstr("training: accuracy 100 %")));
  const Finished finished = sinter_with(Arguments{"predict", file("arrays.sinter"), "-o", file("classes.csv")} + arrays);
  EXPECT_EQ(finished.status, 0);
  EXPECT_EQ(finished.err, "accuracy 1\n");
  EXPECT_THAT(read_bytes(file("classes.csv")), StartsWith("prediction,p(0),p(1),"));
  EXPECT_THAT(sinter_with(Arguments{"evaluate", file("arrays.sinter")} + arrays), Prints(ContainsRegex("^[0-9]+ samples\naccuracy 1\n$")));
  EXPECT_THAT(sinter_with({"evaluate", file("arrays.sinter"), "--data", fixture("x.npy")}),
              Fails(failure, HasSubstr("x.npy] has no targets to judge by; give --labels")));
}

TEST_F(Train, LearnsAFolderOfMnist) {
  const char* folder = "/usr/share/datasets/fashion-mnist";
  if (!fs::exists(folder)) GTEST_SKIP() << folder << " is missing";
  EXPECT_THAT(sinter_with({"train", "--data", folder, "--hidden", "32", "--epochs", "1", "--quiet", "-o", file("model.sinter")}),
              Prints(ContainsRegex("validation: accuracy [78]")));
  EXPECT_THAT(sinter_with({"train", "--data", folder, "--layers", "conv 4 5 relu strides=3; pool 2; flatten", "--epochs", "1", "--quiet", "-o",
                           file("conv.sinter")}),
              Prints(ContainsRegex("validation: accuracy [78]")));
  const std::string images = std::string(folder) + "/t10k-images-idx3-ubyte.gz", labels = std::string(folder) + "/t10k-labels-idx1-ubyte.gz";
  EXPECT_THAT(sinter_with({"evaluate", file("conv.sinter"), "--data", images, "--labels", labels}),
              Prints(ContainsRegex("^10000 samples\naccuracy 0\\.[78]")));
}

// ---- models that are not finite ----

TEST_F(Train, SavesNoModelThatIsNotFinite) {
  const Arguments hopeless = training() + Arguments{"--epochs", "3", "--learning-rate", "1e38"};
  const auto told = AllOf(StartsWith("sinter: [train] the model must stay finite, but after "),
                          HasSubstr("; lower --learning-rate, now 1e+38. Nothing was written to " + file("model.sinter")));
  EXPECT_THAT(sinter_with(hopeless), Fails(failure, told));
  EXPECT_FALSE(fs::exists(file("model.sinter")));
  // One step: parameters and loss are finite, but no later loss would be.
  const Arguments one_step{"--epochs", "1", "--batch-size", "1000", "--validation-split", "0", "--optimizer", "sgd", "--learning-rate", "1e30"};
  EXPECT_THAT(sinter_with(training() + one_step), Fails(failure, HasSubstr("the model must stay finite, but at the end the loss is inf; lower")));
  EXPECT_FALSE(fs::exists(file("model.sinter")));
  const Finished shown = sinter_with({"train", "--data", houses, "--target", "price", "--learning-rate", "1e38", "-o", file("model.sinter")});
  EXPECT_EQ(shown.status, failure);
  EXPECT_THAT(shown.out + shown.err, Not(HasSubstr("FitOptions")));
}

TEST_F(Train, KeepsCheckpointsFromBeforeAModelThatIsNotFinite) {
  const Arguments command =
      training() +
      Arguments{"--epochs", "9", "--optimizer", "sgd", "--learning-rate", "100", "--checkpoints", file("checkpoints"), "--checkpoint-every", "1"};
  EXPECT_THAT(sinter_with(command), Fails(failure, HasSubstr("; " + file("checkpoints") + " keeps the checkpoints before")));
  EXPECT_FALSE(fs::exists(file("model.sinter")));
  EXPECT_THAT(sinter_with(command), Fails(failure, HasSubstr("the model must stay finite, but after step ")));  // from a checkpoint that is finite
}

TEST_F(Train, GoesBackToTheBestEpochFromAModelThatIsNotFinite) {
  const Arguments command = training() + Arguments{"--epochs", "40", "--optimizer", "sgd", "--learning-rate", "1", "--patience", "40"};
  EXPECT_THAT(sinter_with(command), Prints(AllOf(HasSubstr(": training ended there, with the model of the best epoch\n"), HasSubstr("saved "))));
  EXPECT_THAT(predict(file("model.sinter")).out, Not(HasSubstr("nan")));
}

// ---- what does not fit ----

TEST_F(Train, SaysWhatTheDataLacks) {
  write_bytes(file("ragged.csv"), "a,b\n1,2\n3\n");
  write_bytes(file("constant.csv"), "a,b\n1,2.5\n3,2.5\n4,2.50\n");
  const std::string x = fixture("x.npy");
  const std::int64_t samples = data::array(x).shape()[0].factor();
  write_npy("constant.npy", "<f4", "(" + std::to_string(samples) + ",)", std::string(static_cast<std::size_t>(samples * 4), '\0'));
  const struct {
    Arguments arguments;
    const char* message;
  } cases[] = {
      {{}, "sinter: [train] needs --data; see sinter train --help\n"},
      {{"--data", houses}, "sinter: [train] needs --data FILE.csv and --target COLUMN, or --target self; see sinter train --help\n"},
      {{"--data", "nowhere.csv", "--target", "price"}, "nowhere.csv] cannot open the file: No such file or directory"},
      {{"--data", std::string(300, 'a'), "--target", "price"}, "aaa] cannot open the file: File name too long; check the path"},
      {{"--data", houses, "--target", "prise"}, "there is no column 'prise'; the nearest is 'price'"},
      {{"--data", houses, "--target", "town"}, "the target 'town' is missing in "},
      {{"--data", file("constant.csv"), "--target", "b"}, "constant.csv] all targets to learn are 2.5, so there is nothing to learn"},
      {{"--data", x, "--labels", file("constant.npy")}, "constant.npy] all targets to learn are 0, so there is nothing to learn"},
      {{"--data", file("ragged.csv"), "--target", "a"}, "row 3 has 1 field, but the first has 2"},
      {{"--data", x}, "needs --labels FILE with the targets of "},
      {{"--data", houses, "--labels", fixture("labels.npy")}, "[--labels] is for a .npy or IDX file"},
      {{"--data", houses, "--target", "price", "--balance"}, "sinter: [--balance] is for classes, but the targets are numbers\n"},
      {{"--data", houses, "--target", "price", "--checkpoint-every", "3"}, "sinter: [--checkpoint-every] needs --checkpoints FOLDER\n"},
      {{"--data", x, "--target", "price"}, "--target, --categorical and --ignore name columns of a table, but "},
  };
  for (const auto& [arguments, message] : cases)
    EXPECT_THAT(sinter_with(Arguments{"train", "-o", file("model.sinter")} + arguments), Fails(failure, HasSubstr(message)))
        << testing::PrintToString(arguments);
  EXPECT_FALSE(fs::exists(file("model.sinter")));
}

TEST_F(Train, SaysWhatTheModelLacks) {
  EXPECT_THAT(sinter_with({"predict", file("nowhere.sinter"), "--data", houses}),
              Fails(failure, HasSubstr("nowhere.sinter] cannot open the file: No such file")));
  EXPECT_THAT(predict(houses), Fails(failure, HasSubstr("houses.csv]")));
  write_bytes(file("other.csv"), "a,b\n1,2\n");
  EXPECT_THAT(sinter_with({"predict", model(), "--data", file("other.csv")}), Fails(failure, HasSubstr("there is no column 'area'")));
}

}  // namespace
}  // namespace sinter::test::train_test
