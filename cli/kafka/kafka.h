// Kafka as `sinter consume` uses it: records of one topic in, results out, and positions that are committed with them. librdkafka stays behind these
// classes; a build without it has absent.cpp in their place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sinter::cli::kafka {

/// Whether this build has Kafka.
bool is_built();

/// Settings of librdkafka, as NAME and value.
using Properties = std::vector<std::pair<std::string, std::string>>;

struct ClientOptions {
  std::string brokers;         ///< HOST:PORT, with commas
  Properties properties = {};  ///< for both clients
  double timeout = 30;         ///< seconds that an answer of the brokers is waited for, at the start and later
  /// Receives what a user should know, but what ends nothing: a broker was lost.
  std::function<void(const std::string&)> warn = {};
  /// Whether to give up waiting.
  std::function<bool()> stopped = [] { return false; };
};

/// Throws UserError for a property that librdkafka does not know, with the nearest, one with a value that it does not take, and those that options of
/// the command set.
void check_properties(const Properties& properties);

/// A record that was received.
class Record {
 public:
  std::optional<std::string_view> key() const;
  std::optional<std::string_view> value() const;
  std::int32_t partition() const;
  std::int64_t offset() const;

 private:
  friend class Consumer;
  explicit Record(void* message);
  struct Free {
    void operator()(void* message) const;
  };
  std::unique_ptr<void, Free> message_;
};

struct ConsumerOptions {
  ClientOptions client;
  std::string topic, group;
  bool from_latest = false;  ///< where the group has no position yet: only records that are produced from now on
  /// Called by Consumer::poll before partitions are given to another consumer: records that were received are to be worked on and committed now, or,
  /// if the partitions are `lost`, which others have by now, to be aborted.
  std::function<void(bool lost)> before_revoke = [](bool) {};
};

/// A member of a consumer group. Knows of each of its partitions which records were received since the last commit.
class Consumer {
 public:
  /// Throws UserError for settings that do not fit together.
  explicit Consumer(const ConsumerOptions& options);
  ~Consumer();
  Consumer(const Consumer&) = delete;
  Consumer& operator=(const Consumer&) = delete;

  /// Throws UserError if the brokers cannot be reached within the timeout, do not let us in, or have no such topic.
  void require_topic(const std::string& topic);
  /// Joins the group.
  void subscribe();
  /// Appends records that are there, until there are `most`; waits up to `seconds` for the first. Throws UserError for what ends a consumer: the
  /// group or the topic may not be read, no broker has answered for the timeout.
  void poll(std::size_t most, double seconds, std::vector<Record>& records);
  /// Whether all records that were there have been received.
  bool at_end() const;
  /// Whether records were received since the last commit.
  bool has_uncommitted() const;
  /// All that were received since the last commit will be received again.
  void rewind();
  /// Leaves the group.
  void close();

 private:
  friend class Producer;
  class Impl;
  std::unique_ptr<Impl> impl_;
};

struct ProducerOptions {
  ClientOptions client;
  std::string transactional_id = {};  ///< none: results are written at least once
  double longest_transaction = 0.1;   ///< seconds, without those that its end takes
};

/// Writes results, and commits the positions of a consumer with them.
class Producer {
 public:
  /// Throws UserError for settings that do not fit together.
  explicit Producer(const ProducerOptions& options);
  ~Producer();
  Producer(const Producer&) = delete;
  Producer& operator=(const Producer&) = delete;

  /// With a transactional_id, ends what an earlier producer of this name has left open. Throws UserError if the brokers do not let us.
  void start();
  /// Begins a transaction, if there is none.
  void begin();
  /// Writes a result; waits while more are under way than librdkafka keeps.
  void send(const std::string& topic, std::optional<std::string_view> key, std::string_view value);
  /// Waits until the results are written, and commits what the consumer has received. False if the transaction was aborted, so that nothing was
  /// written or committed: rewind the consumer. Throws UserError if neither is possible.
  [[nodiscard]] bool commit(Consumer& consumer);
  /// Nothing of what was sent since begin() is ever seen by those who read what is committed.
  void abort();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sinter::cli::kafka
