// What a consumer and a producer have in common: their settings, and what librdkafka tells them while they wait. Only files of this folder, tests and
// examples include librdkafka.
#pragma once

#include <librdkafka/rdkafka.h>
#include <sinter/sinter.h>

#include <chrono>
#include <memory>
#include <string>

#include "cli/kafka/kafka.h"

namespace sinter::cli::kafka {

template <auto free>
struct FreedBy {
  template <class T>
  void operator()(T* object) const {
    free(object);
  }
};
using Configuration = std::unique_ptr<rd_kafka_conf_t, FreedBy<rd_kafka_conf_destroy>>;
using Partitions = std::unique_ptr<rd_kafka_topic_partition_list_t, FreedBy<rd_kafka_topic_partition_list_destroy>>;
using Fault = std::unique_ptr<rd_kafka_error_t, FreedBy<rd_kafka_error_destroy>>;

/// Whether an error lasts: trying again is of no use. All others are told, and tried again.
bool is_final(rd_kafka_resp_err_t code);

/// The end of a wait.
class Deadline {
 public:
  explicit Deadline(double seconds) : end_(Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds))) {}
  bool is_over() const { return Clock::now() >= end_; }
  /// What is left of it, but at most so much.
  int milliseconds(int most) const;

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point end_;
};

/// A configuration with the properties of the user, those that both clients need, and `more`, which the user may not set.
Configuration configuration(const ClientOptions& options, const Properties& defaults, const Properties& more);

/// A handle of librdkafka, and what was said to it.
class Client {
 public:
  /// Throws UserError for settings that do not fit together.
  Client(ClientOptions options, rd_kafka_type_t type, Configuration configuration);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  rd_kafka_t* handle() const { return handle_; }
  const ClientOptions& options() const { return options_; }
  Deadline deadline() const { return Deadline(options_.timeout); }
  /// Lets librdkafka say what it has to say, to a handle whose events poll() of a consumer does not fetch.
  void serve(int milliseconds = 0) const { rd_kafka_poll(handle_, milliseconds); }
  /// Throws UserError if the brokers have refused us, which waiting does not change.
  void require_admitted() const;
  /// The user is told that something is wrong and tried again, once until it is over.
  void tell(const std::string& reason);
  /// The brokers have answered: what was told is over.
  void is_answered() { lost_ = {}; }
  /// Throws UserError if all brokers have been lost for the timeout.
  void require_broker();
  [[noreturn]] void fail_unanswered() const;

 private:
  static void on_error(rd_kafka_t*, int code, const char* reason, void* client);
  static void on_log(const rd_kafka_t* handle, int level, const char* facility, const char* text);

  ClientOptions options_;
  rd_kafka_t* handle_ = nullptr;
  std::string reason_, refusal_;  ///< what was said last, and why we may not come in
  struct Loss {
    bool is_told = false;
    std::unique_ptr<Deadline> patience = nullptr;  ///< once all brokers are gone
  };
  Loss lost_;
};

}  // namespace sinter::cli::kafka
