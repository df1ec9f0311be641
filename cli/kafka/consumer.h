// What is behind Consumer.
#pragma once

#include <exception>
#include <map>

#include "cli/kafka/client.h"

namespace sinter::cli::kafka {

class Consumer::Impl : public Client {
 public:
  explicit Impl(const ConsumerOptions& options);

  void require_topic(const std::string& topic);
  void subscribe();
  void poll(std::size_t most, double seconds, std::vector<Record>& records);
  void rewind();
  void close();
  bool at_end() const;
  /// The positions after what was received since the last commit, of partitions that sent any.
  Partitions uncommitted() const { return positions(&Progress::next); }
  /// These are committed.
  void settle();

 private:
  static constexpr std::int64_t none = -1;
  /// What was received of a partition since the last commit: from `first` to before `next`.
  struct Progress {
    std::int64_t first = none, next = none;
    bool at_end = false;
  };

  static void on_rebalance(rd_kafka_t* handle, rd_kafka_resp_err_t code, rd_kafka_topic_partition_list_t* partitions, void* client);
  void assign(rd_kafka_topic_partition_list_t& partitions);
  void revoke(rd_kafka_topic_partition_list_t& partitions);
  Partitions positions(std::int64_t Progress::* which) const;
  /// A message that is no record.
  void heed(const rd_kafka_message_t& message);
  void require(rd_kafka_resp_err_t code, const char* what) const;

  std::string topic_;
  std::function<void(bool)> before_revoke_;
  std::map<std::int32_t, Progress> progress_;  ///< of the partitions that are ours
  bool is_member_ = false;                     ///< the group has given us partitions, or none
  bool is_rebalancing_ = false, is_interrupted_ = false, is_rewound_ = false;
  std::exception_ptr failure_;  ///< of what librdkafka called, which knows no exceptions
};

}  // namespace sinter::cli::kafka
