// The options: what each changes, and which values are refused.
#include <sys/resource.h>
#include <sys/stat.h>

#include <set>

#include "ir/error.h"
#include "ir/sanitizers.h"
#include "tests/cli/cli.h"

namespace sinter::test::options_test {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class Options : public Cli {
 protected:
  /// What a model that is trained with these options predicts.
  std::string predictions(const Arguments& options, const Arguments& of_predict = {}) const {
    EXPECT_THAT(sinter_with(training() + options), Prints(HasSubstr("saved")));
    const Finished finished = sinter_with(Arguments{"predict", file("model.sinter"), "--data", houses} + of_predict);
    EXPECT_EQ(finished.status, 0) << finished;
    return finished.out;
  }
  /// Lines of a log of a training with these options.
  std::ptrdiff_t logged_epochs(const Arguments& options) const {
    EXPECT_THAT(sinter_with(training() + options + Arguments{"--log", file("log.csv")}), Prints(HasSubstr("saved")));
    return std::ranges::count(read_bytes(file("log.csv")), '\n') - 1;
  }
};

// ---- what they change ----

TEST_F(Options, OfTrainingChangeWhatIsLearned) {
  const Arguments more{"--epochs", "2", "--eager"};  // twice, so that what an optimizer remembers counts
  const std::string base = predictions(more);
  EXPECT_EQ(predictions(more), base);
  std::set<std::string> seen{base};
  const std::vector<Arguments> options{
      {"--hidden", "5"},          {"--activation", "tanh"},   {"--dropout", "0.5"},          {"--l2", "0.1"},
      {"--optimizer", "adamw"},   {"--optimizer", "rmsprop"}, {"--optimizer", "sgd"},        {"--learning-rate", "0.002"},
      {"--epochs", "3"},          {"--batch-size", "16"},     {"--validation-split", "0.5"}, {"--seed", "1"},
      {"--categorical", "rooms"}, {"--ignore", "id,town"}};
  for (const Arguments& option : options) EXPECT_TRUE(seen.insert(predictions(more + option)).second) << testing::PrintToString(option);
  const std::vector<Arguments> defaults{{"--activation", "relu"},     {"--dropout", "0"},           {"--l2", "0"},   {"--optimizer", "adam"},
                                        {"--learning-rate", "0.001"}, {"--batch-size", "32"},       {"--seed", "0"}, {"--patience", "0"},
                                        {"--threads", "1"},           {"--validation-split", "0.2"}};
  for (const Arguments& option : defaults) EXPECT_EQ(predictions(more + option), base) << testing::PrintToString(option);
}

TEST_F(Options, OptimizerIsTheOneThatIsNamed) {
  for (const char* name : {"adam", "adamw", "rmsprop", "sgd"}) {
    EXPECT_EQ(sinter_with(training() + Arguments{"--optimizer", name}).status, 0);
    EXPECT_THAT(sinter_with({"inspect", file("model.sinter")}), Prints(HasSubstr(std::string("\n  ") + name + "/learning_rate "))) << name;
  }
}

TEST_F(Options, PatienceStopsWhatDoesNotImprove) {
  const Arguments hopeless{"--epochs", "9", "--optimizer", "sgd", "--learning-rate", "1e-30"};  // the loss stays as it is
  EXPECT_EQ(logged_epochs(hopeless), 9);
  EXPECT_EQ(logged_epochs(hopeless + Arguments{"--patience", "1"}), 2);  // the best, and one without improvement
  EXPECT_EQ(logged_epochs(hopeless + Arguments{"--patience", "4"}), 5);
}

TEST_F(Options, BalanceMakesRareClassesCount) {
  std::string table = "x,kind\n";
  for (int i = 0; i < 60; ++i) table += i % 20 ? str(i % 3, ",often\n") : "2,rare\n";
  write_bytes(file("kinds.csv"), table);
  const Arguments command = Arguments{"train", "--data", file("kinds.csv"), "--target", "kind", "--hidden", "4", "--epochs", "60"} +
                            Arguments{"--learning-rate", "0.05", "--validation-split", "0", "--quiet", "-o", file("kinds.sinter")};
  const auto rare = [&](const Arguments& options) {
    EXPECT_THAT(sinter_with(command + options), Prints(HasSubstr("saved")));
    const std::string out = sinter_with({"predict", file("kinds.sinter"), "--data", file("kinds.csv")}).out;
    std::ptrdiff_t count = 0;
    for (std::size_t at = 0; (at = out.find("\nrare,", at)) != std::string::npos; ++at) ++count;
    return count;
  };
  EXPECT_EQ(rare({}), 0);  // one in twenty
  EXPECT_GE(rare({"--balance"}), 20);
}

TEST_F(Options, BalanceTakesClassesThatOnlyHeldOutRowsHave) {
  std::string table = "x,y\n";
  for (int i = 0; i < 10; ++i) table += std::to_string(i) + (i < 5 ? ",a\n" : i < 9 ? ",b\n" : ",c\n");
  write_bytes(file("rare.csv"), table);
  for (const char* seed : {"0", "1", "2", "3", "4", "5"})  // one of them holds c out
    EXPECT_THAT(
        sinter_with({"train", "--data", file("rare.csv"), "--target", "y", "--balance", "--epochs", "1", "--seed", seed, "-o", file("m.sinter")}),
        Prints(HasSubstr("saved")));
}

TEST_F(Options, DelimiterSeparatesFields) {
  std::string table = read_bytes(houses);
  for (const auto& [delimiter, option] : {std::pair{';', ";"}, std::pair{'\t', "\t"}}) {
    std::string other = table;
    std::replace(other.begin(), other.end(), ',', delimiter);
    write_bytes(file("other.csv"), other);
    const Arguments data{"--data", file("other.csv")}, delimited{"--delimiter", option};
    EXPECT_THAT(sinter_with(training() + data), Fails(failure, HasSubstr("there is no column")));
    EXPECT_THAT(sinter_with(training() + data + delimited), Prints(HasSubstr("saved")));
    const Arguments prediction = Arguments{"predict", file("model.sinter")} + data;
    EXPECT_EQ(sinter_with(prediction).status, 0) << "the model remembers it";
    EXPECT_EQ(sinter_with(prediction + delimited).status, 0);
    EXPECT_THAT(sinter_with(prediction + Arguments{"--delimiter", ","}), Fails(failure, HasSubstr("there is no column")));
  }
}

TEST_F(Options, ThreadsAreThoseThatAreStarted) {
  if (SINTER_ADDRESS_SANITIZER || SINTER_THREAD_SANITIZER) GTEST_SKIP() << "a sanitizer reserves more memory than the limit";
  const auto limited = [] {  // memory for the stacks of a few threads
    const rlimit stack{rlim_t{2} << 30, rlim_t{2} << 30}, most{rlim_t{10} << 30, rlim_t{10} << 30};
    ::setrlimit(RLIMIT_STACK, &stack);
    ::setrlimit(RLIMIT_AS, &most);
  };
  const Arguments wide = training() + Arguments{"--hidden", "256,256", "--batch-size", "192"},
                  bench{"bench", model(), "--repeats", "1", "--batch-size", "100000"};
  for (const Arguments& command : {wide, bench}) {
    EXPECT_EQ(sinter_with(command + Arguments{"--threads", "2"}, limited).status, 0);
    EXPECT_THAT(sinter_with(command + Arguments{"--threads", "16"}, limited), Fails(failure, HasSubstr("Thread creation failed")));
  }
}

TEST_F(Options, EagerDoesNotCompile) {
  EXPECT_EQ(sinter_with(training() + Arguments{"--report", file("page.html")}).status, 0);
  EXPECT_THAT(read_bytes(file("page.html")), Not(HasSubstr("ran eagerly")));
  EXPECT_EQ(sinter_with(training() + Arguments{"--eager", "--report", file("page.html")}).status, 0);
  EXPECT_THAT(read_bytes(file("page.html")), HasSubstr("the training step ran eagerly, line by line, and was not compiled"));
}

TEST_F(Options, LogHoldsALineAnEpoch) {
  EXPECT_EQ(logged_epochs({}), 1);
  EXPECT_EQ(logged_epochs({"--epochs", "4"}), 4);
}

TEST_F(Options, VersionAndHelpArePrinted) {
  EXPECT_THAT(sinter_with({"--version"}), Prints("sinter " SINTER_VERSION "\n"));
  EXPECT_THAT(sinter_with({"--help"}), Prints(AllOf(HasSubstr("train"), HasSubstr("predict"), HasSubstr("convert"))));
  for (const char* command : {"train", "predict", "bench", "inspect", "explain", "verify", "convert"})
    EXPECT_THAT(sinter_with({command, "--help"}), Prints(HasSubstr("sinter " + std::string(command) + " [OPTIONS]")));
}

// ---- which values are refused ----

TEST_F(Options, RefuseWhatIsNoNumberOfTheirKind) {
  const struct {
    const char *option, *rule;
    std::vector<std::string> refused;
  } cases[] = {
      {"--dropout", "a number in [0, 1)", {"nan", "-0.1", "1", "inf", "", "0.5x", "half"}},
      {"--l2", "a number of at least 0", {"nan", "-1e-3", "inf", "1e39", "", "0.1 "}},
      {"--learning-rate", "a number greater than 0", {"nan", "0", "-1", "inf", "1e-60", "1e60", "", "1e", "0,1"}},
      {"--validation-split", "a number in [0, 1)", {"nan", "-0.5", "1", "1.5", ""}},
      {"--epochs", "a whole number from 1 to 1000000000", {"0", "-3", "1.5", "1e3", "nan", "", "99999999999999999999", "0x10", "010", "5 epochs"}},
      {"--batch-size", "a whole number from 1 to 1000000000", {"0", "-32", "4294967297", "", "many"}},
      {"--patience", "a whole number from 0 to 1000000000", {"-5", "0.5", "nan", ""}},
      {"--checkpoint-every", "a whole number from 0 to 1000000000", {"-1", "1.5", ""}},
      {"--threads", "a whole number from 0 to 1024", {"-1", "1025", "2.0", "", "all"}},
      {"--seed", "a whole number from 0 to 18446744073709551615", {"-1", "18446744073709551616", "1.5", "010", ""}},
      {"--delimiter", "one character, no quote and no end of line", {"", "59", ";;", "\"", "\n", "space", "€"}},
      {"--data", "a name", {""}},
      {"--target", "a name", {""}},
      {"--labels", "a name", {""}},
      {"--out", "a name", {""}},
      {"--log", "a name", {""}},
      {"--report", "a name", {""}},
      {"--tensorboard", "a name", {""}},
      {"--checkpoints", "a name", {""}},
  };
  for (const auto& [option, rule, refused] : cases)
    for (const std::string& value : refused)
      EXPECT_THAT(sinter_with(training() + Arguments{option, value}),
                  Fails(bad_command_line, StartsWith("sinter: [" + std::string(option) + "] must be " + rule + ", got '" + value + "'\n")))
          << option << " " << value;
  const struct {
    const char *command, *option, *value, *rule;
  } others[] = {{"predict", "--delimiter", "59", "one character"},
                {"predict", "--out", "", "a name"},
                {"predict", "--data", "", "a name"},
                {"predict", "--labels", "", "a name"},
                {"inspect", "--dot", "", "a name"},
                {"inspect", "--svg", "", "a name"},
                {"explain", "--batch-size", "0", "a whole number"},
                {"verify", "--batch-size", "-1", "a whole number"},
                {"bench", "--batch-size", "nan", "a whole number"},
                {"bench", "--repeats", "0", "a whole number from 1 to 1000000"},
                {"bench", "--threads", "-1", "a whole number from 0 to 1024"}};
  for (const auto& [command, option, value, rule] : others)
    EXPECT_THAT(sinter_with({command, "model.sinter", option, value}),
                Fails(bad_command_line, StartsWith("sinter: [" + std::string(option) + "] must be " + rule)))
        << command << " " << option;
  for (const char* command : {"predict", "inspect", "explain", "verify", "bench"})
    EXPECT_THAT(sinter_with({command, ""}), Fails(bad_command_line, "sinter: [model] must be a name, got ''\n")) << command;
  EXPECT_THAT(sinter_with({"convert", "", "w.npz"}), Fails(bad_command_line, "sinter: [in] must be a name, got ''\n"));
  EXPECT_FALSE(std::filesystem::exists(file("model.sinter")));
}

TEST_F(Options, OfASettingsFileAreCheckedAlike) {
  for (const char* setting : {R"({"dropout": -1})", R"({"dropout": "nan"})", R"({"dropout": 1e400})"}) {
    write_bytes(file("settings.json"), setting);
    EXPECT_NE(sinter_with(training() + Arguments{"--config", file("settings.json")}).status, 0) << setting;
  }
  write_bytes(file("settings.json"), R"({"patience": -5})");
  EXPECT_THAT(sinter_with(training() + Arguments{"--config", file("settings.json")}),
              Fails(bad_command_line, StartsWith("sinter: [--patience] must be a whole number from 0 to 1000000000, got '-5'\n")));
  write_bytes(file("settings.json"), R"({"epohcs": 5})");
  EXPECT_THAT(sinter_with({"train", "--config", file("settings.json")}),
              Fails(failure, HasSubstr("there is no setting 'epohcs'; the nearest is 'epochs'")));
  write_bytes(file("settings.json"), "{\"hidden\": " + std::string(1'000'000, '[') + std::string(1'000'000, ']') + "}");
  EXPECT_THAT(sinter_with({"train", "--config", file("settings.json")}),
              Fails(failure, HasSubstr("settings.json] nests arrays and objects more than 8 deep (byte 18)")));
  write_bytes(file("settings.json"), R"({"epochs": 5)");
  EXPECT_THAT(sinter_with({"train", "--config", file("settings.json")}),
              Fails(failure, HasSubstr("settings.json] is not valid JSON: parse error at line 1, column 13")));
  write_bytes(file("settings.json"), R"([5])");
  EXPECT_THAT(sinter_with({"train", "--config", file("settings.json")}), Fails(failure, HasSubstr("settings.json] must hold a JSON object")));
  EXPECT_THAT(sinter_with({"train", "--config", file("nowhere.json")}),
              Fails(failure, HasSubstr("nowhere.json] cannot open the file: No such file")));
  EXPECT_THAT(sinter_with({"train", "--config", folder.path}),
              Fails(failure, HasSubstr("] cannot read the file: it is a folder; give a regular file")));
  ASSERT_EQ(::mkfifo(file("fifo.json").c_str(), 0600), 0);  // nobody writes to it
  EXPECT_THAT(sinter_with({"train", "--config", file("fifo.json")}), Fails(failure, HasSubstr("fifo.json] cannot read the file: it is a pipe")));
}

TEST_F(Options, RefuseNamesThatThereAreNot) {
  const std::pair<Arguments, std::string> cases[] = {
      {{}, "needs a command, such as train or predict; see sinter --help"},
      {{"tarin"}, "there is no command 'tarin'; the nearest is 'train'; see sinter --help"},
      {{"--hidden", "3"}, "there is no option --hidden before a command; see sinter --help"},
      {{"train", "--epohcs", "3"}, "[train] there is no option --epohcs; the nearest is '--epochs'; see sinter train --help"},
      {{"train", "--epohcs=3"}, "[train] there is no option --epohcs; the nearest is '--epochs'; see sinter train --help"},
      {{"train", "houses.csv"}, "[train] takes no further argument, got 'houses.csv'; see sinter train --help"},
      {{"train", "--epochs"}, "[--epochs] needs a value; see sinter train --help"},
      {{"train", "--quiet=maybe"}, "[--quiet] must be true or false; see sinter train --help"},
      {{"train", "--optimizer", "adan"}, "[--optimizer] must be adam, adamw, rmsprop or sgd, got 'adan'"},
      {{"train", "--decimal", ";"}, "[--decimal] must be . or ,, got ';'"},
      {{"predict"}, "[predict] needs model (Model file from sinter train); see sinter predict --help"},
      {{"convert", "a.npz"}, "[convert] needs --out (Weights file to write: .safetensors or .npz); see sinter convert --help"},
      {{"inspect", "m.sinter", "--step", "run"}, "[--step] must be predict or train, got 'run'"},
  };
  for (const auto& [arguments, message] : cases)
    EXPECT_THAT(sinter_with(arguments), Fails(bad_command_line, "sinter: " + message + "\n")) << testing::PrintToString(arguments);
  EXPECT_THAT(sinter_with(training() + Arguments{"--activation", "rleu"}),
              Fails(failure, HasSubstr("[--activation] there is no activation 'rleu'; the nearest is 'relu'")));
  for (const char* hidden : {"many", "0", "-4", "8,,8", "1.5", "99999999999999999999"})
    EXPECT_THAT(sinter_with(training() + Arguments{"--hidden", hidden}),
                Fails(failure, StartsWith("sinter: [--hidden] needs numbers of units of at least 1, as in 64,32, got '")))
        << hidden;
}

}  // namespace
}  // namespace sinter::test::options_test
