// A Kafka cluster in this process, of librdkafka's mock brokers, with a relay before them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/kafka/relay.h"

namespace sinter::test {

struct KafkaRecord {
  std::optional<std::string> key = {}, value = {};
  std::int32_t partition = -1;  ///< to send to: that which the key says
  std::int64_t offset = -1;     ///< of one that was read
};

class Cluster {
 public:
  explicit Cluster(int brokers = 3);
  ~Cluster();
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  Relay& relay() { return *relay_; }
  /// For clients.
  std::string brokers() const { return relay_->brokers(); }
  /// Each partition has the next broker, from 1 on, as its leader.
  void create(const std::string& topic, int partitions);
  /// What clients are told about a topic, a code of Kafka's protocol.
  void refuse(const std::string& topic, int code);
  /// The broker that looks after a group, or, by its transactional.id, a producer.
  void set_coordinator(const std::string& kind, const std::string& name, int broker);
  void set_down(int broker);
  void set_up(int broker);
  /// The next requests of this kind get this code of Kafka's protocol as their answer.
  void fail(Api api, int code, int times = 1);

  /// Sends records, and waits until they are there.
  void produce(const std::string& topic, const std::vector<KafkaRecord>& records);
  /// All records of a topic, those of a partition in their order.
  std::vector<KafkaRecord> read_all(const std::string& topic) const;
  /// Those that a reader of committed records sees.
  std::vector<KafkaRecord> read_committed(const std::string& topic) const;
  /// Waits until a topic has at least so many records, of all transactions. False if there are none for half a minute.
  bool wait_for(const std::string& topic, std::size_t records) const;

 private:
  struct Handle;
  std::unique_ptr<Handle> handle_;
  std::unique_ptr<Relay> relay_;
  int count_;
};

}  // namespace sinter::test
