// sinter consume from outside: a cluster in the test's process, a model, records, and the program.
#pragma once

#include <sinter/sinter.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <future>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/kafka/cluster.h"
#include "tests/support/expect_program.h"
#include "tests/support/temporary_folder.h"

namespace sinter::test {

using Arguments = std::vector<std::string>;

inline Arguments operator+(Arguments first, const Arguments& more) {
  first.insert(first.end(), more.begin(), more.end());
  return first;
}

/// Records of the tests of what is lost or written twice: a few, or as many as SINTER_KAFKA_RECORDS says.
inline int many_records() {
  const char* const wanted = std::getenv("SINTER_KAFKA_RECORDS");
  return wanted ? std::atoi(wanted) : 5000;
}

/// Looks again and again, for half a minute at most; whether it was so at last.
template <class Condition>
bool comes_true(const Condition& condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

/// A payment as JSON; great amounts late in the evening are frauds.
inline std::string payment(int number, bool with_label = false) {
  const int amount = number * 37 % 101, hour = number * 7 % 24;
  return str("{\"amount\":", amount, ".5,\"hour\":", hour, with_label ? str(",\"kind\":\"", amount + hour > 80 ? "fraud" : "normal", "\"") : "", "}");
}

/// Payments numbered from `first`, with their numbers as keys.
inline std::vector<KafkaRecord> payments(int count, int first = 0, bool with_labels = false) {
  std::vector<KafkaRecord> result;
  for (int i = first; i < first + count; ++i) result.push_back({std::to_string(i), payment(i, with_labels)});
  return result;
}

class Consume : public testing::Test {
 protected:
  static constexpr int partitions = 6;

  Consume() {
    cluster.create("in", partitions);
    cluster.create("out", 3);
    save_model(model);
  }

  /// A classifier of payments that has been trained for a moment.
  static void save_model(const std::string& path, std::uint64_t weights = 1) {
    data::Table table({"amount", "hour", "kind"});
    for (int i = 0; i < 101; ++i) {
      const int amount = i * 37 % 101, hour = i * 7 % 24;
      table.add_row({std::to_string(amount), std::to_string(hour), amount + hour > 80 ? "fraud" : "normal"});
    }
    const data::Encoder encoder = data::Encoder::fit(table, {.target = "kind"});
    seed(weights);
    nn::Sequential network{nn::Dense(encoder.width(), 2)};
    Trainer trainer(network, loss::sparse_categorical_crossentropy_from_logits, optim::SGD({.learning_rate = 0.5}), {.mode = Mode::eager});
    trainer.fit(encoder.dataset(table), {.epochs = 2, .verbose = false});
    trainer.set_metadata("encoder", encoder.to_json());
    trainer.save(path);
  }

  /// The command, which ends at the end of the records.
  Arguments command(const Arguments& more = {}) const { return endless(Arguments{"--until-end"} + more); }
  Arguments endless(const Arguments& more = {}) const {
    // Of a consumer that was killed the group learns after session.timeout.ms; mock brokers let the first member wait for three seconds.
    return Arguments{"consume",
                     model,
                     "--brokers",
                     cluster.brokers(),
                     "--topic",
                     "in",
                     "--out",
                     "out",
                     "--counters-every",
                     "0",
                     "--property",
                     "session.timeout.ms=3100",
                     "--property",
                     "heartbeat.interval.ms=200",
                     "--property",
                     "fetch.wait.max.ms=50",
                     "--property",
                     "compression.type=lz4"} +
           more;
  }
  static Finished consume(const Arguments& arguments) { return run(SINTER_CLI_PROGRAM, arguments); }
  /// Runs a consumer that is killed at the moment that `set` sets, on another thread.
  template <class Set>
  static void consume_until_killed(const Arguments& arguments, const Set& set) {
    Started consumer(SINTER_CLI_PROGRAM, arguments);
    const auto sent = std::make_shared<std::promise<void>>();
    set([&consumer, sent] {
      consumer.send(SIGKILL);
      sent->set_value();
    });
    const Finished finished = consumer.wait();
    ASSERT_EQ(finished.status, 128 + SIGKILL) << finished;
    sent->get_future().wait();  // until then that thread uses the consumer
  }

  /// How often each key occurs.
  static std::map<std::string, int> keys(const std::vector<KafkaRecord>& records) {
    std::map<std::string, int> result;
    for (const KafkaRecord& record : records) ++result[record.key.value_or("")];
    return result;
  }
  static int twice(const std::map<std::string, int>& keys) {
    int result = 0;
    for (const auto& [key, count] : keys) result += count > 1;
    return result;
  }

  Cluster cluster;
  const TemporaryFolder folder;
  const std::string model = folder / "model.sinter";
};

}  // namespace sinter::test
