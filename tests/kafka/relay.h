// What librdkafka's mock cluster lacks to judge promises about transactions. It takes part in transactions, but its topics show results of aborted
// ones like others, and positions that are sent with a transaction are forgotten. A relay stands between clients and the mock brokers, reads along,
// and adds what a cluster does: it knows which results were committed, and answers questions about positions with those that were committed with
// them.
//
// It also sees each request, so that a test can do something at the worst of moments: before a request reaches its broker, or before the client
// learns of the answer.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

namespace sinter::test {

/// Requests of Kafka's protocol, by their numbers.
enum class Api : std::int16_t {
  produce = 0,
  fetch = 1,
  metadata = 3,
  offset_commit = 8,
  offset_fetch = 9,
  find_coordinator = 10,
  join_group = 11,
  sync_group = 14,
  add_partitions_to_txn = 24,
  end_txn = 26,
  txn_offset_commit = 28
};

class Relay {
 public:
  /// To brokers at 127.0.0.1, on these ports.
  explicit Relay(const std::vector<std::uint16_t>& ports);
  ~Relay();
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;

  /// HOST:PORT of all brokers, as clients are to see them.
  std::string brokers() const;

  /// Calls `action` once: when the request of this kind that is `number` in the row, from 1 and from now on, comes. It is dropped with its
  /// connection.
  void before(Api api, int number, std::function<void()> action);
  /// The same when the broker's answer to it comes, which the client never gets.
  void after(Api api, int number, std::function<void()> action);
  /// Requests of this kind that have come.
  int count(Api api) const;

  /// Whether readers of what is committed see this record: it belongs to no transaction, or to one that was committed. Known of records that were
  /// fetched through the relay.
  bool is_visible(const std::string& topic, std::int32_t partition, std::int64_t offset) const;

 private:
  /// Records that were sent together; whoever sends them again says the same.
  using Batch = std::tuple<std::string, std::int32_t, std::int64_t, std::int16_t, std::int32_t>;  // topic, partition, producer, epoch, sequence
  using Place = std::tuple<std::string, std::int32_t>;
  using GroupPlace = std::tuple<std::string, std::string, std::int32_t>;
  using Producer = std::pair<std::int64_t, std::int16_t>;
  struct Transaction {
    std::set<Batch> batches;
    std::map<GroupPlace, std::int64_t> positions;
  };
  struct Fetched {
    std::int64_t end;
    Batch batch;
  };
  struct Request {
    std::int16_t api = 0, version = 0;
    std::string group = {};  ///< of offset_fetch
    Producer producer = {};  ///< of end_txn
    bool commits = false;
    std::function<void()> action = {};  ///< to be done when the answer comes
  };
  struct Connection {
    int client = -1, server = -1;
    std::string from_client, from_server;
    std::map<std::int32_t, Request> waiting;
  };
  struct Trap {
    Api api;
    int number;
    bool is_after;
    std::function<void()> action;
  };

  void run();
  void accept(std::size_t broker);
  /// False once the connection is of no more use.
  bool move(Connection& connection, bool has_client_sent, bool has_server_sent);
  bool take_request(Connection& connection, const std::string& frame);
  bool take_answer(Connection& connection, std::string frame);
  void read_request(Request& request, const std::string& frame, std::size_t at);
  void read_answer(const Request& request, std::string& frame);
  void read_records(const std::string& topic, std::int32_t partition, const std::string& records);
  void exchange_ports(std::string& frame) const;

  std::vector<std::uint16_t> ports_, own_ports_;
  std::vector<int> listeners_;
  int wake_[2] = {-1, -1};
  std::vector<std::unique_ptr<Connection>> connections_;

  mutable std::mutex mutex_;  ///< guards what follows
  std::map<Producer, Transaction> open_;
  std::set<Batch> committed_;
  std::map<GroupPlace, std::int64_t> positions_;
  std::map<Place, std::map<std::int64_t, Fetched>> fetched_;  ///< by the first offset
  std::map<Api, int> counts_;
  std::vector<Trap> traps_;
  std::thread thread_;
};

}  // namespace sinter::test
