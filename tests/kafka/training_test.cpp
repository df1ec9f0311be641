// sinter consume --train: a model that goes on learning while it serves.
#include <sys/file.h>
#include <unistd.h>

#include <fcntl.h>
#include <csignal>
#include <filesystem>

#include "tests/kafka/consume.h"
#include "tests/support/bytes.h"

namespace sinter::test::training_test {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;

class Learning : public Consume {
 protected:
  static constexpr int labels = 1000;
  struct Interrupted {
    int before, at_end;
  };
  /// Steps of a label each that a consumer has done when it is killed, at the moment that `set` sets, and another one at the end of the records.
  template <class Set>
  Interrupted interrupted(const Set& set) {
    cluster.produce("in", payments(labels, 0, true));
    consume_until_killed(learning(), set);
    const int before = steps();
    const Finished finished = consume(learning());
    EXPECT_EQ(finished.status, 0) << finished;
    EXPECT_THAT(finished.err, HasSubstr(str("goes on with ", learnt, "/checkpoint-")));
    const std::map<std::string, int> answers = keys(cluster.read_committed("out"));
    EXPECT_EQ(answers.size(), static_cast<std::size_t>(labels));
    EXPECT_EQ(twice(answers), 0);
    return {before, steps()};
  }
  Arguments learning(const Arguments& more = {}) const {
    return command(Arguments{"--train", "--checkpoint", learnt, "--batch-size", "1", "--commit-interval", "1"} + more);
  }
  /// Steps of the newest checkpoint, by its name.
  int steps() const {
    const std::string path = newest_checkpoint(learnt).value_or("");
    return path.empty() ? 0 : std::stoi(path.substr(path.find("checkpoint-") + 11));
  }
  /// Labels that a model guesses, of 100 payments.
  static int guessed(const std::string& path) {
    const serve::Scorer scorer(path);
    serve::RecordScorer records(scorer);
    for (int i = 0; i < 100; ++i) records.add(payment(i));
    int result = 0, i = 0;
    for (const serve::Answer& answer : records.flush()) {
      const bool is_fraud = payment(i++, true).find("fraud") != std::string::npos;
      result += (answer.text.find("\"prediction\":\"fraud\"") != answer.text.npos) == is_fraud;
    }
    return result;
  }

  const std::string learnt = folder / "learnt";
};

TEST_F(Learning, LearnsFromLabelsAndServesWhatItHasLearnt) {
  constexpr int labelled = 1000;
  cluster.produce("in", payments(labelled, 0, true));
  cluster.produce("in", payments(50, labelled));
  cluster.produce("in", {{"odd", R"({"amount":1,"hour":1,"kind":"odd"})"}, {"none", R"({"amount":1,"hour":1,"kind":null})"}});
  const Finished finished = consume(learning({"--batch-size", "32", "--publish-every", "5", "--metrics", folder / "metrics.txt"}));
  EXPECT_EQ(finished.status, 0) << finished;
  EXPECT_THAT(finished.err, AllOf(HasSubstr("1052 records, 0 errors"), HasSubstr("; learnt from 1000 records, 1 bad label, step "),
                                  HasSubstr("a record cannot be learnt from, as its label is bad: ")));
  EXPECT_THAT(read_bytes(folder / "metrics.txt"), AllOf(HasSubstr("sinter_training_records 1000\n"), HasSubstr("sinter_training_bad_labels 1\n"),
                                                        ContainsRegex("sinter_model_generation ([2-9]|[1-9][0-9]+)\n")));
  EXPECT_GE(steps(), labelled / 32);
  EXPECT_GT(guessed(*newest_checkpoint(learnt)), guessed(model));
  std::size_t files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(learnt)) ++files;
  EXPECT_LE(files, 3u);
}

TEST_F(Learning, KilledBeforeACommitItLearnsAgainFromThoseLabels) {
  const Interrupted steps = interrupted([this](auto kill) { cluster.relay().before(Api::end_txn, 2, kill); });
  EXPECT_GT(steps.before, 0);
  EXPECT_LT(steps.before, labels);
  EXPECT_GT(steps.at_end, labels);
  EXPECT_LE(steps.at_end, labels + steps.before);
}

TEST_F(Learning, KilledAfterACommitItLosesNoLabelAndLearnsFromNoneTwice) {
  const Interrupted steps = interrupted([this](auto kill) { cluster.relay().after(Api::end_txn, 2, kill); });
  EXPECT_LT(steps.before, labels);
  EXPECT_EQ(steps.at_end, labels);
}

TEST_F(Learning, ReadsLabelsOfAnotherNameFromDelimitedRecords) {
  cluster.produce("in", {{"a", "1,20,normal"}, {"b", "100,23,fraud"}, {"c", "5,5,"}});
  const Arguments csv{"--format", "csv", "--columns", "amount,hour,verdict"};
  EXPECT_THAT(consume(learning(csv)), Fails(1, HasSubstr("[--labels] there is no column 'kind' in --columns")));
  EXPECT_THAT(consume(learning(csv + Arguments{"--labels", "verdict"})).err, HasSubstr("3 records, 0 errors, 0 skipped, 3 results"));
  EXPECT_EQ(steps(), 2);
}

TEST_F(Learning, EndsBeforeItWritesAModelThatIsNotFinite) {
  cluster.produce("in", payments(64, 0, true));
  const Finished finished = consume(learning({"--learning-rate", "3e38"}));
  EXPECT_THAT(finished,
              Fails(1, ContainsRegex("\\[--train\\] the (loss of step [0-9]+ is|parameter 'dense.*' holds) .*; lower --learning-rate, now 3e\\+38")));
  EXPECT_THAT(finished.err, HasSubstr("The checkpoints before stay, and records since then are read again"));
  const std::string newest = newest_checkpoint(learnt).value_or(model);
  for (const Parameter& p : Trainer::load(newest).parameters()) {
    if (p.type().dtype != DType::f32) continue;
    for (const float x : p.read().to_vector<float>()) EXPECT_TRUE(std::isfinite(x)) << p.name();
  }
}

TEST_F(Learning, RefusesFoldersAndOptionsThatDoNotFit) {
  EXPECT_THAT(consume(command({"--train"})), Fails(1, HasSubstr("[--train] needs --checkpoint FOLDER")));
  EXPECT_THAT(consume(command({"--labels", "kind"})), Fails(1, HasSubstr("[--labels] is for --train")));
  std::filesystem::create_directory(learnt);
  write_bytes(learnt + "/checkpoint-000000000007.sinter", "cut off");
  const int lock = ::open(learnt.c_str(), O_RDONLY | O_DIRECTORY);
  ASSERT_EQ(::flock(lock, LOCK_EX), 0);
  EXPECT_THAT(consume(learning()), Fails(1, HasSubstr("[--checkpoint] another program writes models to ")));
  ::close(lock);
  const Finished finished = consume(learning());
  EXPECT_EQ(finished.status, 0) << finished;
  EXPECT_THAT(finished.err, HasSubstr("; it is set aside as .damaged"));
  EXPECT_TRUE(std::filesystem::exists(learnt + "/checkpoint-000000000007.sinter.damaged"));
  EXPECT_THAT(consume(command({"--train", "--checkpoint", model + "/folder"})), Fails(1, HasSubstr("model.sinter")));
}

}  // namespace
}  // namespace sinter::test::training_test
