// What is lost and what comes twice when consumers are killed, brokers go away and partitions move: exactly once, and at least once.
#include <csignal>

#include "tests/kafka/consume.h"

namespace sinter::test::delivery_test {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class Delivery : public Consume {
 protected:
  Delivery() { cluster.produce("in", payments(records)); }

  /// A commit after each batch.
  Arguments often(const Arguments& more = {}) const { return command(Arguments{"--commit-interval", "1"} + more); }
  /// A consumer whose results stay uncommitted until something makes it commit.
  Arguments never(const std::string& name) const { return endless({"--commit-interval", "600000", "--train", "--checkpoint", folder / name}); }
  /// Runs a consumer to the end of the records, while a broker is lost and comes back at its first request of this kind.
  void with_lost_broker(const Arguments& arguments, Api at) {
    constexpr int broker = 2;
    Started consumer(SINTER_CLI_PROGRAM, arguments);
    cluster.relay().before(at, 1, [this] { cluster.set_down(broker); });
    EXPECT_TRUE(comes_true([&] { return consumer.err().find("trying again") != std::string::npos; })) << consumer.err();
    cluster.set_up(broker);
    const Finished finished = consumer.wait();
    EXPECT_EQ(finished.status, 0) << finished;
  }
  void expect_each_once(const std::map<std::string, int>& seen, int count) const {
    EXPECT_THAT(seen, SizeIs(static_cast<std::size_t>(count)));
    EXPECT_EQ(twice(seen), 0);
  }

  const int records = many_records();
};

TEST_F(Delivery, ExactlyOnceThroughKillsAndALostBroker) {
  consume_until_killed(often(), [&](auto kill) { cluster.relay().before(Api::end_txn, 2, kill); });
  consume_until_killed(often(), [&](auto kill) { cluster.relay().after(Api::end_txn, 1, kill); });
  with_lost_broker(often(), Api::end_txn);
  expect_each_once(keys(cluster.read_committed("out")), records);
  EXPECT_GT(twice(keys(cluster.read_all("out"))), 0) << "nothing was interrupted";
}

TEST_F(Delivery, AtLeastOnceWritesAgainWhatWasNotCommitted) {
  const Arguments arguments = often({"--delivery", "at-least-once"});
  consume_until_killed(arguments, [&](auto kill) { cluster.relay().before(Api::offset_commit, 2, kill); });
  with_lost_broker(arguments, Api::offset_commit);
  const std::map<std::string, int> seen = keys(cluster.read_all("out"));
  EXPECT_THAT(seen, SizeIs(static_cast<std::size_t>(records)));
  EXPECT_GT(twice(seen), 0) << "nothing was interrupted";
}

TEST_F(Delivery, AnAbortedTransactionIsDoneAgain) {
  constexpr int unknown_member = 25;
  cluster.fail(Api::txn_offset_commit, unknown_member, 2);
  const Finished finished = consume(command());
  EXPECT_EQ(finished.status, 0) << finished;
  EXPECT_THAT(finished.err, HasSubstr(str(records, " records, 0 errors, 0 skipped, ", records, " results")));
  expect_each_once(keys(cluster.read_committed("out")), records);
  EXPECT_GT(twice(keys(cluster.read_all("out"))), 0) << "nothing was aborted";
}

TEST_F(Delivery, EndsWhereTransactionsAreAbortedAgainAndAgain) {
  constexpr int unknown_member = 25;
  cluster.fail(Api::txn_offset_commit, unknown_member, 5);
  EXPECT_THAT(consume(command()), Fails(1, HasSubstr("[kafka] the last 5 transactions were aborted; look into the logs of the brokers")));
  EXPECT_THAT(cluster.read_committed("out"), IsEmpty());
}

TEST_F(Delivery, EndsWhenAnotherTakesItsName) {
  constexpr int fenced = 90;
  cluster.fail(Api::end_txn, fenced);
  EXPECT_THAT(consume(command({"--transactional-id", "till"})),
              Fails(1, AllOf(HasSubstr("results cannot be written: "), HasSubstr("another consumer has taken over this --transactional-id"))));
  EXPECT_THAT(cluster.read_committed("out"), IsEmpty());
}

TEST_F(Delivery, EndsWhenItMayNotReadOrCommit) {
  constexpr int group_authorization_failed = 30;
  cluster.fail(Api::join_group, group_authorization_failed);
  EXPECT_THAT(consume(command()), Fails(1, HasSubstr("[kafka] no more records of 'in' can be had: ")));
  cluster.fail(Api::offset_commit, group_authorization_failed);
  EXPECT_THAT(consume(command({"--delivery", "at-least-once"})), Fails(1, HasSubstr("results cannot be written: positions cannot be committed: ")));
}

TEST_F(Delivery, EndsWhenTheBrokersStayAway) {
  cluster.relay().before(Api::end_txn, 1, [this] {
    for (int broker = 1; broker <= 3; ++broker) cluster.set_down(broker);
  });
  EXPECT_THAT(consume(endless({"--timeout", "1"})), Fails(1, ContainsRegex("\\[--brokers\\] no answer from 127.*for 1 s: .*check the address")));
}

TEST_F(Delivery, TerminationCommitsWhatWasRead) {
  Started consumer(SINTER_CLI_PROGRAM, never("a"));
  ASSERT_TRUE(cluster.wait_for("out", static_cast<std::size_t>(records))) << consumer.err();
  EXPECT_THAT(cluster.read_committed("out"), IsEmpty());
  consumer.send(SIGTERM);
  const Finished finished = consumer.wait();
  EXPECT_EQ(finished.status, 0) << finished;
  EXPECT_THAT(finished.err, HasSubstr(str(records, " records, 0 errors")));
  expect_each_once(keys(cluster.read_committed("out")), records);
}

/// Gives half of the partitions of a consumer with an open transaction to another one.
class Moving : public Delivery, public testing::WithParamInterface<const char*> {};

TEST_P(Moving, PartitionsGoToASecondConsumerWithoutLoss) {
  const Arguments strategy{"--property", std::string("partition.assignment.strategy=") + GetParam()};
  Started first(SINTER_CLI_PROGRAM, never("a") + strategy);
  ASSERT_TRUE(cluster.wait_for("out", static_cast<std::size_t>(records))) << first.err();
  EXPECT_THAT(cluster.read_committed("out"), IsEmpty());
  Started second(SINTER_CLI_PROGRAM, endless(strategy));
  // The first one commits before it gives a partition away.
  ASSERT_TRUE(comes_true([&] { return cluster.read_committed("out").size() == static_cast<std::size_t>(records); })) << first.err() << second.err();
  int sent = records;
  const auto has_partitions = [&] {  // the second one answers payments, and commits soon
    const std::size_t before = cluster.read_committed("out").size();
    cluster.produce("in", payments(60, sent));
    sent += 60;
    return cluster.wait_for("out", static_cast<std::size_t>(sent)) && cluster.read_committed("out").size() > before;
  };
  EXPECT_TRUE(comes_true(has_partitions)) << second.err();
  first.send(SIGTERM);
  second.send(SIGINT);
  EXPECT_EQ(first.wait().status, 0);
  const Finished finished = second.wait();
  EXPECT_EQ(finished.status, 0) << finished;
  EXPECT_THAT(consume(command()), testing::Field(&Finished::status, 0));  // the rest, if there is any
  expect_each_once(keys(cluster.read_committed("out")), sent);
}

INSTANTIATE_TEST_SUITE_P(Strategies, Moving, testing::Values("range", "cooperative-sticky"),
                         [](const auto& info) { return std::string(info.param) == "range" ? "Range" : "Cooperative"; });

}  // namespace
}  // namespace sinter::test::delivery_test
