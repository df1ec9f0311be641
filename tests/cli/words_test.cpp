// The words of the library's messages, and those of the command line.
#include "cli/words.h"

#include <regex>
#include <set>

#include "tests/cli/cli.h"

namespace sinter::test::words_test {
namespace {

using cli::in_words_of_the_shell;
TEST(Words, NameOptionsAsAShellSetsThem) {
  EXPECT_EQ(in_words_of_the_shell("name it in EncoderOptions::ignore or EncoderOptions::categorical."), "name it in --ignore or --categorical.");
  EXPECT_EQ(in_words_of_the_shell("[EncoderOptions::thousands] was FitOptions::batch_size 3"), "[--thousands] was --batch-size 3");
  EXPECT_EQ(in_words_of_the_shell(R"(EncoderOptions::strip = {"$", "EUR"} and EncoderOptions::decimal = ',' or so)"),
            "--strip '$,EUR' and --decimal ',' or so");
  EXPECT_EQ(in_words_of_the_shell(R"(EncoderOptions::missing = {"n.a."})"), "--missing n.a.");
  EXPECT_EQ(in_words_of_the_shell(R"(EncoderOptions::missing = {"a\"b\\c'd"}, or)"), R"(--missing 'a"b\c'\''d', or)");
  EXPECT_EQ(in_words_of_the_shell("with FitOptions::class_weights 1 2"), "with --balance 1 2");
  EXPECT_EQ(in_words_of_the_shell("SplitOptions::stratify needs"), "--split stratified needs");
  EXPECT_EQ(in_words_of_the_shell("holds a step, not a trainer; load it with load_step"),
            "holds a step, not a trainer; give a file that sinter train wrote");
  for (const char* text : {"", "x", "1 = {\"a\"}", "EncoderOptions", "'Options: a'"}) EXPECT_EQ(in_words_of_the_shell(text), text);
}

// Every option that a message of the data, of fit or of checkpoints names is one of sinter train, under the same name.
TEST(Words, KnowTheOptionsOfTheMessages) {
  const std::string help = sinter_with({"train", "--help"}).out;
  // sinter train sets none of these.
  const std::set<std::string> unreachable{"--shuffle",        "--steps-per-epoch",   "--find-non-finite", "--fixed-batch",
                                          "--shuffle-buffer", "--evaluate-training", "--bucket-batches"};
  // Those of splits, folds and scalers are only for programs, but for --split stratified.
  const std::regex for_programs(R"((Split|Fold|MinMaxScaler)Options::\w+)");
  const std::regex literal(R"re("(?:[^"\\\n]|\\.)*")re"), option(R"(\w+Options::\w+)");
  int found = 0;
  for (const char* folder : {"data", "checkpoint", "train"})
    for (const auto& entry : std::filesystem::directory_iterator(std::string(SINTER_TEST_FIXTURES) + "/../../frontend/" + folder)) {
      if (entry.path().extension() != ".cpp") continue;
      const std::string code = read_bytes(entry.path().string());
      for (std::sregex_iterator text(code.begin(), code.end(), literal), end; text != end; ++text) {
        const std::string words = text->str();
        for (std::sregex_iterator name(words.begin(), words.end(), option); name != end; ++name) {
          if (std::regex_match(name->str(), for_programs)) continue;
          const std::string flag = in_words_of_the_shell(name->str());
          ++found;
          EXPECT_TRUE(unreachable.contains(flag) || help.find("  " + flag + " ") != std::string::npos) << entry.path() << ": " << words;
        }
      }
    }
  EXPECT_GT(found, 8);
}

TEST(Words, ErrorsOfAFileNameIt) {
  EXPECT_EQ(cli::at("x.csv", [] { return 3; }), 3);
  try {
    cli::at("x.csv", []() -> int { throw UserError("encoder", "was wrong"); });
    FAIL();
  } catch (const UserError& error) {
    EXPECT_STREQ(error.what(), "[x.csv] was wrong");
  }
}

}  // namespace
}  // namespace sinter::test::words_test
