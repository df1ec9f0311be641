// What sinter consume makes of records, and what it refuses.
#include <csignal>

#include "tests/kafka/consume.h"
#include "tests/support/bytes.h"

namespace sinter::test::consume_test {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::Each;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

constexpr int failure = 1, bad_command_line = 2;

/// The values of records by their keys.
std::map<std::string, std::string> by_key(const std::vector<KafkaRecord>& records) {
  std::map<std::string, std::string> result;
  for (const KafkaRecord& record : records) result[record.key.value_or("none")] = record.value.value_or("none");
  return result;
}

TEST_F(Consume, AnswersKeepTheKeysOfTheirRecords) {
  cluster.produce("in", payments(100));
  const Finished finished = consume(command({"--metrics", folder / "metrics.txt"}));
  EXPECT_EQ(finished.status, 0) << finished;
  EXPECT_THAT(finished.err, HasSubstr("100 records, 0 errors, 0 skipped, 100 results"));
  EXPECT_THAT(read_bytes(folder / "metrics.txt"), AllOf(HasSubstr("sinter_records_total 100\n"), HasSubstr("sinter_model_generation 1\n")));
  const serve::Scorer scorer(model);
  serve::RecordScorer expected(scorer);
  const std::vector<KafkaRecord> answers = cluster.read_committed("out");
  ASSERT_THAT(answers, SizeIs(100));
  for (const KafkaRecord& answer : answers) {
    expected.add(payment(std::stoi(answer.key.value())));
    EXPECT_EQ(answer.value, expected.flush().front().text);
  }
}

TEST_F(Consume, BadRecordsAreAnsweredAndCounted) {
  cluster.create("bad", 1);
  cluster.produce("in", {{"good", payment(1)},
                         {"cut", "{\"amount\":1,"},
                         {"text", "{\"amount\":\"much\",\"hour\":1}"},
                         {"nan", "{\"amount\":NaN,\"hour\":1}"},
                         {"nested", "{\"amount\":{\"euro\":1},\"hour\":1}"},
                         {"empty", ""},
                         {"tombstone", std::nullopt},
                         {std::nullopt, payment(2)}});
  const Finished finished = consume(command({"--errors", "bad"}));
  EXPECT_EQ(finished.status, 0) << finished;
  EXPECT_THAT(finished.err, AllOf(HasSubstr("8 records, 6 errors, 0 skipped, 2 results"), HasSubstr("warning: a record is answered by an error: ")));
  const std::map<std::string, std::string> good = by_key(cluster.read_committed("out")), bad = by_key(cluster.read_committed("bad"));
  EXPECT_THAT(good, SizeIs(2));
  EXPECT_TRUE(good.contains("good") && good.contains("none"));
  ASSERT_THAT(bad, SizeIs(6));
  for (const auto& [key, error] : bad)
    EXPECT_THAT(error, ContainsRegex("^\\{\"error\":\".*\",\"topic\":\"in\",\"partition\":[0-5],\"offset\":[0-9]+\\}$")) << key;
  EXPECT_THAT(bad.at("text"), HasSubstr("much"));
  EXPECT_THAT(bad.at("tombstone"), HasSubstr("the record has no value"));
}

TEST_F(Consume, OnlyAnswersPastTheThresholdAreWritten) {
  cluster.produce("in", payments(101));
  cluster.produce("in", {{"bad", "?"}});
  EXPECT_THAT(consume(command({"--threshold", "0.5", "--score", "fraud"})).err, HasSubstr("102 records, 1 error"));
  const std::map<std::string, std::string> answers = by_key(cluster.read_committed("out"));
  EXPECT_THAT(answers.at("bad"), HasSubstr("{\"error\":"));
  int frauds = 0;
  for (const auto& [key, answer] : answers) frauds += answer.starts_with("{\"prediction\":\"fraud\"");
  EXPECT_GT(frauds, 0);
  EXPECT_EQ(static_cast<std::size_t>(frauds) + 1, answers.size());
}

TEST_F(Consume, ReadsDelimitedRecordsAndWritesDelimitedAnswers) {
  cluster.produce("in", {{"a", "7;x;20.5"}, {"b", "7;;"}});
  const Finished finished = consume(command({"--format", "csv", "--columns", "hour,note,amount", "--delimiter", ";", "--answers", "csv", "--delivery",
                                             "at-least-once", "--property", "linger.ms=1", "--transactional-id", "till", "--max-records", "1"}));
  EXPECT_THAT(finished, Fails(failure, HasSubstr("[--transactional-id] is for --delivery exactly-once")));
  const Arguments arguments = command({"--format", "csv", "--columns", "hour,note,amount", "--delimiter", ";", "--answers", "csv"});
  EXPECT_THAT(consume(arguments + Arguments{"--delivery", "at-least-once", "--max-records", "1"}).err, HasSubstr("1 record, 0 errors"));
  EXPECT_THAT(consume(arguments).err, HasSubstr("1 record, 0 errors"));  // the other one
  const std::map<std::string, std::string> answers = by_key(cluster.read_all("out"));
  ASSERT_THAT(answers, SizeIs(2));
  EXPECT_THAT(answers.at("a"), ContainsRegex("^(normal|fraud);[0-9.e-]+;[0-9.e-]+;$"));
}

TEST_F(Consume, BeginsAtTheEndIfItIsTold) {
  cluster.produce("in", payments(10));
  EXPECT_THAT(consume(command({"--offset-reset", "latest"})).err, HasSubstr("0 records"));
  EXPECT_THAT(consume(command({"--group", "another"})).err, HasSubstr("10 records"));
}

TEST_F(Consume, TakesAnotherModelAtASignal) {
  Started consumer(SINTER_CLI_PROGRAM, endless({"--metrics", folder / "metrics.txt"}));
  cluster.produce("in", payments(1));
  ASSERT_TRUE(cluster.wait_for("out", 1)) << consumer.err();
  write_bytes(model, "no model");
  consumer.send(SIGHUP);
  ASSERT_TRUE(comes_true([&] { return consumer.err().find("; the model stays as it was") != std::string::npos; })) << consumer.err();
  save_model(model, 2);
  consumer.send(SIGHUP);
  const serve::Scorer scorer(model);
  serve::RecordScorer expected(scorer);
  expected.add(payment(0));
  const std::string wanted(expected.flush().front().text);
  std::size_t sent = 1;
  EXPECT_TRUE(comes_true([&] {  // the next record, or one of those after it, meets the new model
    cluster.produce("in", payments(1));
    if (!cluster.wait_for("out", ++sent)) return false;
    const std::vector<KafkaRecord> answers = cluster.read_all("out");
    return std::any_of(answers.begin(), answers.end(), [&](const KafkaRecord& answer) { return answer.value == wanted; });
  }));
  consumer.send(SIGTERM);
  EXPECT_EQ(consumer.wait().status, 0);
  EXPECT_THAT(read_bytes(folder / "metrics.txt"), HasSubstr("sinter_model_generation 2\n"));
}

// ---- what is refused, and how soon ----

TEST_F(Consume, RefusesBrokersAndTopicsThatCannotBeUsed) {
  const auto with = [&](const std::string& option, const std::string& value, const Arguments& more = {}) {
    Arguments arguments = command(Arguments{"--timeout", "0.5"} + more);
    *(std::find(arguments.begin(), arguments.end(), option) + 1) = value;
    return consume(arguments);
  };
  EXPECT_THAT(with("--brokers", "127.0.0.1:1"), Fails(failure, AllOf(HasSubstr("[--brokers] no answer from 127.0.0.1:1 for 0.5 s: "),
                                                                     HasSubstr("Connection refused"), HasSubstr("or raise --timeout"))));
  EXPECT_THAT(with("--topic", "inn"), Fails(failure, HasSubstr("[kafka] there is no topic 'inn' at 127.0.0.1:")));
  EXPECT_THAT(with("--topic", "inn"), Fails(failure, HasSubstr("the nearest is 'in'; create it, or check that we may see it")));
  EXPECT_THAT(with("--out", "outt"), Fails(failure, HasSubstr("there is no topic 'outt'")));
  EXPECT_THAT(with("--out", "in"), Fails(failure, HasSubstr("[--out] must be another topic than --topic, or answers would be read as records")));
  constexpr int topic_authorization_failed = 29;
  cluster.refuse("out", topic_authorization_failed);
  EXPECT_THAT(consume(command()), Fails(failure, HasSubstr("the topic 'out' cannot be used: Broker: Topic authorization failed; ask who runs")));
  const auto secured = [&](const std::string& protocol) {
    return consume({"consume", model, "--brokers", cluster.brokers(), "--topic", "in", "--out", "out", "--timeout", "0.5", "--property",
                    "security.protocol=" + protocol, "--property", "sasl.mechanism=PLAIN", "--property", "sasl.username=me", "--property",
                    "sasl.password=secret"});
  };
  EXPECT_THAT(secured("sasl_plaintext"),
              Fails(failure, AllOf(HasSubstr("[--brokers] the brokers refuse us: "), HasSubstr("; check the security settings of --property"))));
  EXPECT_THAT(secured("ssl"), Fails(failure, ContainsRegex("\\[--brokers\\] .*SSL[_ ](HANDSHAKE|handshake)")));
}

TEST_F(Consume, RefusesPropertiesWithTheirReason) {
  const auto with = [&](const std::string& property) { return consume(command({"--property", property})); };
  EXPECT_THAT(with("fetch.wait.max"), Fails(failure, HasSubstr("[--property] must be NAME=VALUE, as security.protocol=ssl")));
  EXPECT_THAT(with("fetch.wait.max=1"),
              Fails(failure, HasSubstr("[--property] librdkafka has no property 'fetch.wait.max'; the nearest is 'fetch.wait.max.ms'")));
  EXPECT_THAT(with("fetch.wait.max.ms=soon"), Fails(failure, HasSubstr("[--property] librdkafka refuses 'fetch.wait.max.ms': Invalid value")));
  EXPECT_THAT(with("group.id=mine"), Fails(failure, HasSubstr("'group.id' is not for --property: it follows from --group")));
  EXPECT_THAT(with("enable.partition.eof=false"), Fails(failure, HasSubstr("sinter consume needs it as it is")));
  EXPECT_THAT(with("max.in.flight=100"), Fails(failure, HasSubstr("[--property] librdkafka refuses its settings: ")));
  write_bytes(folder / "kafka.properties", "# comment\n\n  security.protocol = plaintext\r\nsasl.mechanism=PLAIN\nsasl.pasword=secret\n");
  EXPECT_THAT(consume(command({"--properties", folder / "kafka.properties"})),
              Fails(failure, AllOf(HasSubstr("no property 'sasl.pasword'; the nearest is 'sasl.password'"), Not(HasSubstr("secret")))));
}

TEST_F(Consume, RefusesOptionsThatDoNotFit) {
  EXPECT_THAT(consume(command({"--format", "csv"})), Fails(failure, HasSubstr("[--format] csv needs --columns, the names of the fields")));
  EXPECT_THAT(consume(command({"--format", "avro"})), Fails(bad_command_line, HasSubstr("[--format] must be json or csv, got 'avro'")));
  EXPECT_THAT(consume(command({"--columns", "amount,our"})), Fails(failure, HasSubstr("'hour'")));
  EXPECT_THAT(consume(command({"--score", "fraud"})), Fails(failure, HasSubstr("[--score] says of which class --threshold is; give both")));
  EXPECT_THAT(consume(command({"--threshold", "0.5", "--score", "fruad"})), Fails(failure, HasSubstr("the nearest is 'fraud'")));
  EXPECT_THAT(consume({"consume", model, "--brokers", "127.0.0.1:1", "--topic", "in"}), Fails(bad_command_line, HasSubstr("needs --out")));
}

TEST_F(Consume, ServesAModelWithoutEncoderFromArrays) {
  nn::Sequential network{nn::Dense(2, 1)};
  Trainer trainer(network, loss::mean_squared_error, optim::SGD(), {.mode = Mode::eager});
  (void)trainer.evaluate({Tensor({1, 2, 3, 4}, {2, 2}), Tensor({1, 2}, {2, 1})});
  trainer.save(model);
  cluster.produce("in", {{"array", "[1,2]"}, {"short", "[1]"}});
  EXPECT_THAT(consume(command()).err, HasSubstr("2 records, 1 error"));
  EXPECT_THAT(by_key(cluster.read_committed("out")).at("array"), ContainsRegex("^\\{\"prediction\":-?[0-9.]+\\}$"));
  EXPECT_THAT(
      consume(command({"--train", "--checkpoint", folder / "learnt"})),
      Fails(failure, HasSubstr("does not say how the target of a record is read; --train needs a model that sinter train made from a table")));
}

}  // namespace
}  // namespace sinter::test::consume_test
