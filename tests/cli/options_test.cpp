// The options: what each changes, and which values are refused.
#include <sys/resource.h>

#include <set>

#include "tests/cli/cli.h"
#include "tests/support/sanitizers.h"

namespace sinter::test {
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
  EXPECT_EQ(logged_epochs(hopeless + Arguments{"--patience", "1"}), 3);  // the best, one without improvement, one too many
  EXPECT_EQ(logged_epochs(hopeless + Arguments{"--patience", "4"}), 6);
}

TEST_F(Options, BalanceMakesRareClassesCount) {
  std::string table = "x,kind\n";
  for (int i = 0; i < 60; ++i) table += std::to_string(i % 3) + (i % 20 ? ",often\n" : ",rare\n");
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
    EXPECT_THAT(sinter_with(prediction), Fails(failure, HasSubstr("there is no column")));
    EXPECT_THAT(sinter_with(prediction + delimited).status, 0);
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
  EXPECT_THAT(sinter_with({"--version"}), Prints("sinter 0.1.0\n"));
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
      {"--delimiter", "one character, no quote and no end of line", {"", "59", ";;", "\"", "\n", "tab", "€"}},
      {"--out", "a name", {""}},
      {"--log", "a name", {""}},
      {"--report", "a name", {""}},
      {"--tensorboard", "a name", {""}},
      {"--checkpoints", "a name", {""}},
  };
  for (const auto& [option, rule, refused] : cases)
    for (const std::string& value : refused)
      EXPECT_THAT(sinter_with(training() + Arguments{option, value}),
                  Fails(bad_command_line, StartsWith(std::string(option) + ": must be " + rule + ", got '" + value + "'\n")))
          << option << " " << value;
  const struct {
    const char *command, *option, *value, *rule;
  } others[] = {{"predict", "--delimiter", "59", "one character"},
                {"predict", "--out", "", "a name"},
                {"inspect", "--dot", "", "a name"},
                {"inspect", "--svg", "", "a name"},
                {"explain", "--batch-size", "0", "a whole number"},
                {"verify", "--batch-size", "-1", "a whole number"},
                {"bench", "--batch-size", "nan", "a whole number"},
                {"bench", "--repeats", "0", "a whole number from 1 to 1000000"},
                {"bench", "--threads", "-1", "a whole number from 0 to 1024"}};
  for (const auto& [command, option, value, rule] : others)
    EXPECT_THAT(sinter_with({command, "model.sinter", option, value}), Fails(bad_command_line, StartsWith(std::string(option) + ": must be " + rule)))
        << command << " " << option;
  EXPECT_FALSE(std::filesystem::exists(file("model.sinter")));
}

TEST_F(Options, OfASettingsFileAreCheckedAlike) {
  for (const char* setting : {R"({"dropout": -1})", R"({"dropout": "nan"})", R"({"dropout": 1e400})"}) {
    write_bytes(file("settings.json"), setting);
    EXPECT_NE(sinter_with(training() + Arguments{"--config", file("settings.json")}).status, 0) << setting;
  }
  write_bytes(file("settings.json"), R"({"patience": -5})");
  EXPECT_THAT(sinter_with(training() + Arguments{"--config", file("settings.json")}),
              Fails(bad_command_line, StartsWith("--patience: must be a whole number from 0 to 1000000000, got '-5'\n")));
  write_bytes(file("settings.json"), R"({"epohcs": 5})");
  EXPECT_THAT(sinter_with({"train", "--config", file("settings.json")}),
              Fails(failure, HasSubstr("there is no setting 'epohcs'; the nearest is 'epochs'")));
  write_bytes(file("settings.json"), "{\"hidden\": " + std::string(1'000'000, '[') + std::string(1'000'000, ']') + "}");
  EXPECT_THAT(sinter_with({"train", "--config", file("settings.json")}),
              Fails(failure, HasSubstr("settings.json] nests arrays and objects more than 8 deep (byte 18)")));
  write_bytes(file("settings.json"), R"({"epochs": 5)");
  EXPECT_THAT(sinter_with({"train", "--config", file("settings.json")}), Fails(failure, HasSubstr("settings.json] is not valid JSON (")));
  write_bytes(file("settings.json"), R"([5])");
  EXPECT_THAT(sinter_with({"train", "--config", file("settings.json")}), Fails(failure, HasSubstr("settings.json] must hold a JSON object")));
  EXPECT_THAT(sinter_with({"train", "--config", file("nowhere.json")}), Fails(failure, HasSubstr("nowhere.json] cannot be opened; does it exist?")));
}

TEST_F(Options, RefuseNamesThatThereAreNot) {
  EXPECT_THAT(sinter_with({}), Fails(bad_command_line, HasSubstr("A subcommand is required")));
  EXPECT_THAT(sinter_with({"tarin"}), Fails(bad_command_line, HasSubstr("A subcommand is required")));
  EXPECT_THAT(sinter_with({"train", "--epohcs", "3"}), Fails(bad_command_line, ContainsRegex("The following argument.* not expected: .*--epohcs")));
  EXPECT_THAT(sinter_with(training() + Arguments{"--optimizer", "adan"}),
              Fails(bad_command_line, ContainsRegex("--optimizer: adan not in \\{adam,adamw,rmsprop,sgd\\}")));
  EXPECT_THAT(sinter_with(training() + Arguments{"--activation", "rleu"}),
              Fails(failure, HasSubstr("there is no activation 'rleu'; the nearest is 'relu'")));
  for (const char* hidden : {"many", "0", "-4", "8,,8", "1.5", "99999999999999999999"})
    EXPECT_THAT(sinter_with(training() + Arguments{"--hidden", hidden}),
                Fails(failure, StartsWith("sinter: [--hidden] needs numbers of units of at least 1, as in 64,32, got '")))
        << hidden;
}

}  // namespace
}  // namespace sinter::test
