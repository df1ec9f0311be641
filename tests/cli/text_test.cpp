// sinter train, evaluate and predict on texts, and models of layers that one line names.
#include <sinter/sinter.h>

#include "frontend/data/npz.h"
#include "tests/cli/cli.h"

namespace sinter::test::text_test {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class TextCommand : public Cli {
 protected:
  TextCommand() {
    for (const char* part : {"folder/good", "folder/bad"}) std::filesystem::create_directories(file(part));
    const std::vector<std::string> good{"great", "wonderful", "moving"}, bad{"dull", "awful", "boring"};
    std::string table = "id\treview\tstars\tlabel\n", bare, lines;
    for (int i = 0; i < 120; ++i) {
      const bool is_good = i % 2;
      const std::string word = (is_good ? good : bad)[static_cast<std::size_t>(i / 2 % 3)],
                        review = "The film \"" + word + (i % 5 ? "\" was " + word : "") + "!";
      const std::string label = is_good ? "1" : "0";
      table += std::to_string(i) + "\t" + review + "\t" + std::to_string(i % 7) + "\t" + label + "\n";
      bare += label + "\t" + review + "\n";
      lines += "{\"review\": \"" + word + " film\", \"label\": \"" + (is_good ? "good" : "bad") + "\"}\n";
      write_bytes(file("folder/" + std::string(is_good ? "good/" : "bad/") + std::to_string(i) + ".txt"), word + " it was");
    }
    write_bytes(file("reviews.tsv"), table);
    write_bytes(file("bare.tsv"), bare);
    write_bytes(file("reviews.jsonl"), lines);
  }

  /// Trains on texts, briefly.
  Arguments learning(const std::string& data, const Arguments& more) const {
    return Arguments{"train", "--data",          file(data), "--epochs", "30", "--batch-size",
                     "16",    "--learning-rate", "0.01",     "--quiet",  "-o", file("text.sinter")} +
           more;
  }
  const Arguments tabs{"--delimiter", "tab", "--quotes", "none"};
};

TEST_F(TextCommand, LearnsReviewsAndJudgesNewOnes) {
  EXPECT_THAT(sinter_with(learning("bare.tsv", tabs + Arguments{"--names", "label,review", "--text", "review", "--target", "label", "--layers",
                                                                "embedding 8; gru 6"})),
              Prints(ContainsRegex("validation: accuracy (9[0-9]|100)")));
  EXPECT_THAT(sinter_with({"predict", file("text.sinter"), "--text", "a wonderful film", "--text", "dull, dull"}),
              Prints(ContainsRegex("^label,p\\(0\\),p\\(1\\)\n1,0\\.[0-9]+,0\\.[0-9]+\n0,0\\.[0-9]+,0\\.[0-9]+\n$")));
  EXPECT_THAT(sinter_with(Arguments{"evaluate", file("text.sinter"), "--data", file("bare.tsv"), "--names", "label,review"} + tabs),
              Prints(ContainsRegex("^120 samples\naccuracy (0\\.9|1)")));
  EXPECT_THAT(sinter_with({"inspect", file("text.sinter")}), Prints(AllOf(HasSubstr("predicts: label 0 1\n"), HasSubstr("texts: review, "))));
  for (const char* command : {"explain", "verify", "bench"})
    EXPECT_EQ(sinter_with({command, file("text.sinter"), "--batch-size", "4"}).status, 0) << command;
}

TEST_F(TextCommand, MayStandBesideNumbers) {
  EXPECT_THAT(sinter_with(learning("reviews.tsv", tabs + Arguments{"--text", "review", "--target", "label", "--ignore", "id"})),
              Prints(ContainsRegex("validation: accuracy (9[0-9]|100)")));
  const Finished predicted = sinter_with(Arguments{"predict", file("text.sinter"), "--data", file("reviews.tsv")} + tabs);
  EXPECT_THAT(predicted.out, StartsWith("label,p(0),p(1)\n0,"));
  EXPECT_THAT(predicted.err, ContainsRegex("accuracy (0\\.9|1)"));
  EXPECT_THAT(sinter_with({"predict", file("text.sinter"), "--text", "dull"}),
              Fails(failure, HasSubstr("[--text] is not enough: the model also reads the column 'stars'; give it a table with --data")));
}

TEST_F(TextCommand, OfJsonLinesAndOfFolders) {
  EXPECT_THAT(sinter_with(learning("reviews.jsonl", {"--text", "review", "--target", "label"})), Prints(ContainsRegex("accuracy (9[0-9]|100)")));
  EXPECT_THAT(sinter_with({"predict", file("text.sinter"), "--text", "moving"}), Prints(ContainsRegex("^label,p\\(bad\\),p\\(good\\)\ngood,")));
  EXPECT_THAT(sinter_with(learning("folder", {"--text", "text", "--target", "class"})), Prints(ContainsRegex("accuracy (9[0-9]|100)")));
  EXPECT_THAT(sinter_with({"evaluate", file("text.sinter"), "--data", file("folder")}), Prints(ContainsRegex("^120 samples\naccuracy (0\\.9|1)")));
}

TEST_F(TextCommand, RemembersHowItsTableIsWritten) {
  (void)sinter_with(learning("bare.tsv", tabs + Arguments{"--names", "label,review", "--text", "review", "--target", "label", "--epochs", "1"}));
  EXPECT_THAT(sinter_with({"evaluate", file("text.sinter"), "--data", file("bare.tsv")}), Prints(StartsWith("120 samples\n")));
  Trainer trainer = Trainer::load(file("text.sinter"));
  for (const auto& [csv, error] : {std::pair{"{", "the entry 'csv' is damaged ("},
                                   {"[[[]]]", "nest"},
                                   {R"({"delimiter": ""})", "the entry 'csv' has a delimiter of 0 characters; the file is damaged"}}) {
    trainer.set_metadata("csv", csv);
    trainer.save(file("damaged.sinter"));
    EXPECT_THAT(sinter_with({"evaluate", file("damaged.sinter"), "--data", file("bare.tsv")}), Fails(failure, HasSubstr(error)));
  }
}

TEST_F(TextCommand, AsSubwords) {
  const std::string model = file("pieces.model");
  for (const auto& [name, array] : data::read_npz(SINTER_TEST_FIXTURES "/subwords.npz"))
    if (name == "bpe") write_bytes(model, std::string(reinterpret_cast<const char*>(array.bytes.data()), array.bytes.size()));
  const Arguments pieces{"--text", "review", "--target", "label", "--subwords", model};
  EXPECT_THAT(sinter_with(learning("reviews.jsonl", pieces)), Prints(ContainsRegex("accuracy (9[0-9]|100)")));
  std::filesystem::remove(model);  // the model's file has all of it
  EXPECT_THAT(sinter_with({"predict", file("text.sinter"), "--text", "wonderful"}), Prints(ContainsRegex("\ngood,")));
  EXPECT_THAT(sinter_with({"inspect", file("text.sinter")}), Prints(ContainsRegex("texts: review, [0-9]+ pieces")));
  EXPECT_THAT(sinter_with(learning("reviews.jsonl", pieces)), Fails(failure, HasSubstr("pieces.model]")));
  EXPECT_THAT(sinter_with(learning("reviews.jsonl", pieces + Arguments{"--max-words", "9"})),
              Fails(failure, HasSubstr("[--max-words] is for a vocabulary of words, but --subwords has its own pieces")));
  EXPECT_THAT(sinter_with(learning("reviews.jsonl", {"--target", "label", "--subwords", model})),
              Fails(failure, HasSubstr("[--subwords] is for texts; name their column with --text")));
}

TEST_F(TextCommand, OfStandardInput) {
  (void)sinter_with(
      learning("reviews.jsonl", {"--text", "review", "--target", "label", "--max-words", "100", "--max-length", "5", "--keep-words", "first"}));
  const auto answer = [&](const std::string& lines) {
    write_bytes(file("lines"), lines);
    return run("/bin/sh", {"-c", std::string("exec ") + SINTER_CLI_PROGRAM + " predict " + file("text.sinter") + " --text - < " + file("lines")});
  };
  EXPECT_THAT(answer("great\n\nawful\n"), Prints(ContainsRegex("\ngood,.*\n.*\nbad,.*\n$")));
  EXPECT_THAT(answer(""), Fails(failure, HasSubstr("[--text] standard input has no lines")));
  EXPECT_THAT(answer("caf\xe9\n"), Fails(failure, HasSubstr("the text is not UTF-8 at byte 3")));
}

TEST_F(TextCommand, RefusesWhatDoesNotFit) {
  const auto error = [&](const Arguments& more) { return sinter_with(learning("reviews.tsv", tabs + Arguments{"--target", "label"} + more)); };
  EXPECT_THAT(error({"--text", "revew"}), Fails(failure, HasSubstr("[--text] ")));
  EXPECT_THAT(error({"--text", "label"}), Fails(failure, HasSubstr("[--text] is the target 'label'; name another column")));
  EXPECT_THAT(error({"--text", "review", "--layers", "embedding 8; gru 6 sequences"}),
              Fails(failure, HasSubstr("[--layers] must end with numbers per sample, [N, numbers], but end with f32[N,T,6]")));
  EXPECT_THAT(error({"--text", "review", "--layers", "embeding 8"}),
              Fails(failure, HasSubstr("character 1, 'embeding 8': [layers] there is no layer 'embeding'; the nearest is 'embedding'")));
  EXPECT_THAT(error({"--layers", "dense 8", "--dropout", "0.1"}), Fails(failure, HasSubstr("[--dropout] is for the layers of --hidden")));
  (void)sinter_with(learning("reviews.tsv", tabs + Arguments{"--target", "label", "--ignore", "id,review", "--epochs", "1"}));
  EXPECT_THAT(sinter_with({"predict", file("text.sinter"), "--text", "dull"}),
              Fails(failure, HasSubstr("[--text] is for models of texts, but " + file("text.sinter") + " reads none")));
  EXPECT_THAT(sinter_with({"predict", file("text.sinter"), "--data", file("reviews.tsv"), "--text", "dull"}),
              Fails(failure, HasSubstr("[predict] --data, --text and images stand in place of each other; give one of them")));
  write_bytes(file("untold.tsv"), "stars\n4\n");
  EXPECT_THAT(sinter_with({"evaluate", file("text.sinter"), "--data", file("untold.tsv")}),
              Fails(failure, HasSubstr("untold.tsv] has no usable targets in a column 'label' to judge by")));
  EXPECT_THAT(sinter_with({"evaluate", file("text.sinter")}), Fails(bad_command_line, HasSubstr("[evaluate] needs --data (")));
}

TEST_F(TextCommand, LayersOfTables) {
  EXPECT_THAT(sinter_with({"train", "--data", houses, "--target", "price", "--ignore", "id", "--layers", "dense 16 relu; batch_norm; dense 8",
                           "--epochs", "40", "--learning-rate", "0.01", "--quiet", "-o", file("table.sinter")}),
              Prints(ContainsRegex("validation: R² 0\\.[5-9]")));
  EXPECT_THAT(sinter_with({"evaluate", file("table.sinter"), "--data", houses}), Prints(ContainsRegex("^240 samples\nr2 0\\.[5-9]")));
}

}  // namespace
}  // namespace sinter::test::text_test
