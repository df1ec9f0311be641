#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

#include "cli/kafka/client.h"
#include "cli/kafka/consumer.h"

namespace sinter::cli::kafka {

class Producer::Impl : public Client {
 public:
  explicit Impl(const ProducerOptions& options);
  /// Aborts an open transaction: readers need not wait until its time is over, and librdkafka 2.0 does not end well with one.
  ~Impl();

  void start();
  void begin();
  void send(const std::string& topic, std::optional<std::string_view> key, std::string_view value);
  bool commit(Consumer::Impl& consumer);
  void abort();

 private:
  static void on_delivery(rd_kafka_t*, const rd_kafka_message_t* message, void* client);
  bool commit_transaction(Consumer::Impl& consumer);
  void commit_written(Consumer::Impl& consumer);
  void flush();
  /// Does a part of a transaction until it is done; false if the transaction must be aborted. Throws UserError if nothing helps.
  template <class Work>
  bool carry_out(const Work& work);
  rd_kafka_topic_t* topic(const std::string& name);
  [[noreturn]] void fail(const std::string& reason) const;

  using Topic = std::unique_ptr<rd_kafka_topic_t, FreedBy<rd_kafka_topic_destroy>>;
  std::map<std::string, Topic> topics_;
  bool is_transactional_, is_open_ = false;
  bool is_doomed_ = false;   ///< the open transaction can only be aborted
  std::string undelivered_;  ///< why a result was not written; empty if all were
};

namespace {

Configuration producer_configuration(const ProducerOptions& options) {
  Properties defaults{{"enable.idempotence", "true"}}, own;
  if (!options.transactional_id.empty()) {
    constexpr int least = 60'000;  // milliseconds, as librdkafka has it
    defaults.emplace_back("transaction.timeout.ms", str(least + std::lround(options.longest_transaction * 1000)));
    own.emplace_back("transactional.id", options.transactional_id);
  }
  return configuration(options.client, defaults, own);
}

Configuration with_deliveries(Configuration configuration, void (*on_delivery)(rd_kafka_t*, const rd_kafka_message_t*, void*)) {
  rd_kafka_conf_set_dr_msg_cb(configuration.get(), on_delivery);
  return configuration;
}

}  // namespace

Producer::Impl::Impl(const ProducerOptions& options)
    : Client(options.client, RD_KAFKA_PRODUCER, with_deliveries(producer_configuration(options), &Impl::on_delivery)),
      is_transactional_(!options.transactional_id.empty()) {}

Producer::Impl::~Impl() {
  constexpr double patience = 5;
  if (is_open_) (void)Fault(rd_kafka_abort_transaction(handle(), Deadline(std::min(patience, options().timeout)).milliseconds(60'000)));
}

void Producer::Impl::start() {
  if (!is_transactional_) return;
  for (const Deadline end = deadline(); !options().stopped(); serve()) {
    const Fault fault(rd_kafka_init_transactions(handle(), std::max(1, end.milliseconds(250))));
    if (!fault) return;
    if (!rd_kafka_error_is_retriable(fault.get())) fail(rd_kafka_error_string(fault.get()));
    serve();
    require_admitted();
    if (end.is_over()) fail_unanswered();
  }
}

void Producer::Impl::on_delivery(rd_kafka_t*, const rd_kafka_message_t* message, void* client) {
  Impl& self = *static_cast<Impl*>(static_cast<Client*>(client));
  if (message->err && self.undelivered_.empty()) self.undelivered_ = rd_kafka_err2str(message->err);
  if (!message->err) self.is_answered();
}

void Producer::Impl::begin() {
  if (!is_transactional_ || is_open_) return;
  if (const Fault fault{rd_kafka_begin_transaction(handle())}) fail(rd_kafka_error_string(fault.get()));
  is_open_ = true;
  is_doomed_ = false;
  undelivered_.clear();
}

rd_kafka_topic_t* Producer::Impl::topic(const std::string& name) {
  Topic& result = topics_[name];
  if (!result) result.reset(rd_kafka_topic_new(handle(), name.c_str(), nullptr));
  if (!result) fail(rd_kafka_err2str(rd_kafka_last_error()));
  return result.get();
}

void Producer::Impl::send(const std::string& name, std::optional<std::string_view> key, std::string_view value) {
  if (is_doomed_) return;
  rd_kafka_topic_t* const to = topic(name);
  for (const Deadline end = deadline();;) {
    const int failed = rd_kafka_produce(to, RD_KAFKA_PARTITION_UA, RD_KAFKA_MSG_F_COPY, const_cast<char*>(value.data()), value.size(),
                                        key ? key->data() : nullptr, key ? key->size() : 0, nullptr);
    if (!failed) break;
    const rd_kafka_resp_err_t code = rd_kafka_last_error();
    if (code == RD_KAFKA_RESP_ERR__STATE && is_transactional_) {  // something of this transaction has failed: commit() will be told
      is_doomed_ = true;
      return;
    }
    if (code != RD_KAFKA_RESP_ERR__QUEUE_FULL) fail(rd_kafka_err2str(code));
    serve(100);
    if (end.is_over()) fail_unanswered();
  }
  serve();
}

template <class Work>
bool Producer::Impl::carry_out(const Work& work) {
  for (const Deadline end = deadline();; serve(100)) {
    const Fault fault(work(std::max(1, end.milliseconds(1000))));
    serve();
    if (!fault) {
      is_answered();
      return true;
    }
    if (rd_kafka_error_is_fatal(fault.get())) fail(rd_kafka_error_string(fault.get()));
    if (rd_kafka_error_txn_requires_abort(fault.get())) return false;
    if (!rd_kafka_error_is_retriable(fault.get())) fail(rd_kafka_error_string(fault.get()));
    if (end.is_over()) fail_unanswered();
  }
}

bool Producer::Impl::commit(Consumer::Impl& consumer) {
  if (is_transactional_) return commit_transaction(consumer);
  commit_written(consumer);
  return true;
}

bool Producer::Impl::commit_transaction(Consumer::Impl& consumer) {
  begin();
  const Partitions positions = consumer.uncommitted();
  const std::unique_ptr<rd_kafka_consumer_group_metadata_t, FreedBy<rd_kafka_consumer_group_metadata_destroy>> member(
      rd_kafka_consumer_group_metadata(consumer.handle()));
  const bool is_done = !is_doomed_ &&
                       carry_out([&](int wait) { return rd_kafka_send_offsets_to_transaction(handle(), positions.get(), member.get(), wait); }) &&
                       carry_out([&](int wait) { return rd_kafka_commit_transaction(handle(), wait); });
  if (!is_done) {
    abort();
    return false;
  }
  is_open_ = false;
  consumer.settle();
  return true;
}

void Producer::Impl::abort() {
  if (!std::exchange(is_open_, false)) return;
  if (!carry_out([&](int wait) { return rd_kafka_abort_transaction(handle(), wait); }))
    throw InternalError("kafka", "an aborted transaction is to be aborted");
}

void Producer::Impl::flush() {
  for (const Deadline end = deadline(); rd_kafka_flush(handle(), std::max(1, end.milliseconds(1000))) != RD_KAFKA_RESP_ERR_NO_ERROR;)
    if (end.is_over()) fail_unanswered();
  if (!undelivered_.empty()) fail(undelivered_);
}

void Producer::Impl::commit_written(Consumer::Impl& consumer) {
  flush();
  const Partitions positions = consumer.uncommitted();
  if (!positions->cnt) return;
  for (const Deadline end = deadline();; serve(100)) {
    switch (const rd_kafka_resp_err_t code = rd_kafka_commit(consumer.handle(), positions.get(), 0)) {
      case RD_KAFKA_RESP_ERR_NO_ERROR:
        return consumer.settle();
      // The group has given partitions away: whoever has them now writes these results once more.
      case RD_KAFKA_RESP_ERR_ILLEGAL_GENERATION:
      case RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID:
      case RD_KAFKA_RESP_ERR_REBALANCE_IN_PROGRESS:
      case RD_KAFKA_RESP_ERR__ASSIGNMENT_LOST:
        return;
      default:
        if (end.is_over() || is_final(code)) fail(str("positions cannot be committed: ", rd_kafka_err2str(code)));
    }
  }
}

void Producer::Impl::fail(const std::string& reason) const {
  std::string text = reason;
  std::array<char, 512> fatal{};
  const rd_kafka_resp_err_t code = rd_kafka_fatal_error(handle(), fatal.data(), fatal.size());
  if (code != RD_KAFKA_RESP_ERR_NO_ERROR) text = fatal.data();
  const bool is_fenced =
      code == RD_KAFKA_RESP_ERR__FENCED || code == RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH || code == RD_KAFKA_RESP_ERR_PRODUCER_FENCED;
  throw UserError("kafka", str("results cannot be written: ", printable(text),
                               is_fenced ? "; another consumer has taken over this --transactional-id: give each its own" : ""));
}

Producer::Producer(const ProducerOptions& options) : impl_(std::make_unique<Impl>(options)) {}
Producer::~Producer() = default;
void Producer::start() { impl_->start(); }
void Producer::begin() { impl_->begin(); }
void Producer::send(const std::string& topic, std::optional<std::string_view> key, std::string_view value) { impl_->send(topic, key, value); }
bool Producer::commit(Consumer& consumer) { return impl_->commit(*consumer.impl_); }
void Producer::abort() { impl_->abort(); }

}  // namespace sinter::cli::kafka
