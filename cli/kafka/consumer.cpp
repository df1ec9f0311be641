#include "cli/kafka/consumer.h"

#include <algorithm>
#include <cmath>
#include <span>

namespace sinter::cli::kafka {

namespace {

const rd_kafka_message_t& message(const void* record) { return *static_cast<const rd_kafka_message_t*>(record); }

std::optional<std::string_view> bytes(const void* data, std::size_t size) {
  if (!data) return std::nullopt;
  return std::string_view(static_cast<const char*>(data), size);
}

bool is_cooperative(rd_kafka_t* handle) { return rd_kafka_rebalance_protocol(handle) == std::string_view("COOPERATIVE"); }

/// Throws UserError if the topic is not in a list of all topics, or cannot be used.
void require_listed(const rd_kafka_metadata_t& metadata, const std::string& topic, const std::string& brokers) {
  std::vector<std::string> known;
  for (const rd_kafka_metadata_topic& listed : std::span(metadata.topics, static_cast<std::size_t>(metadata.topic_cnt))) {
    known.emplace_back(listed.topic);
    if (topic != listed.topic) continue;
    if (listed.err == RD_KAFKA_RESP_ERR_NO_ERROR) return;
    throw UserError("kafka", str("the topic '", printable(topic), "' cannot be used: ", rd_kafka_err2str(listed.err), "; ask who runs the brokers"));
  }
  throw UserError("kafka", str("there is no topic '", printable(topic), "' at ", printable(brokers), nearest_hint(topic, known),
                               "; create it, or check that we may see it"));
}

}  // namespace

bool is_built() { return true; }

Record::Record(void* message) : message_(message) {}
void Record::Free::operator()(void* message) const { rd_kafka_message_destroy(static_cast<rd_kafka_message_t*>(message)); }
std::optional<std::string_view> Record::key() const { return bytes(message(message_.get()).key, message(message_.get()).key_len); }
std::optional<std::string_view> Record::value() const { return bytes(message(message_.get()).payload, message(message_.get()).len); }
std::int32_t Record::partition() const { return message(message_.get()).partition; }
std::int64_t Record::offset() const { return message(message_.get()).offset; }

Consumer::Impl::Impl(const ConsumerOptions& options)
    : Client(options.client, RD_KAFKA_CONSUMER,
             [&] {
               Configuration result = configuration(options.client, {},
                                                    {{"group.id", options.group},
                                                     {"enable.auto.commit", "false"},
                                                     {"enable.auto.offset.store", "false"},
                                                     {"enable.partition.eof", "true"},
                                                     {"auto.offset.reset", options.from_latest ? "latest" : "earliest"}});
               rd_kafka_conf_set_rebalance_cb(result.get(), &Impl::on_rebalance);
               return result;
             }()),
      topic_(options.topic),
      before_revoke_(options.before_revoke) {}

void Consumer::Impl::require_topic(const std::string& topic) {
  for (const Deadline end = deadline(); !options().stopped(); serve()) {
    const rd_kafka_metadata_t* metadata = nullptr;
    // Of all topics: a question about one would create it on some brokers.
    const rd_kafka_resp_err_t code = rd_kafka_metadata(handle(), 1, nullptr, &metadata, std::max(1, end.milliseconds(250)));
    if (code == RD_KAFKA_RESP_ERR_NO_ERROR) {
      const std::unique_ptr<const rd_kafka_metadata_t, FreedBy<rd_kafka_metadata_destroy>> owner(metadata);
      return require_listed(*metadata, topic, options().brokers);
    }
    serve();
    require_admitted();
    if (end.is_over()) fail_unanswered();
  }
}

void Consumer::Impl::subscribe() {
  rd_kafka_poll_set_consumer(handle());
  const Partitions topics(rd_kafka_topic_partition_list_new(1));
  rd_kafka_topic_partition_list_add(topics.get(), topic_.c_str(), RD_KAFKA_PARTITION_UA);
  require(rd_kafka_subscribe(handle(), topics.get()), "subscribe to the topic");
}

void Consumer::Impl::poll(std::size_t most, double seconds, std::vector<Record>& records) {
  is_interrupted_ = false;
  for (int wait = static_cast<int>(std::lround(seconds * 1000)); records.size() < most && !is_interrupted_; wait = 0) {
    rd_kafka_message_t* const received = rd_kafka_consumer_poll(handle(), wait);
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
    if (!received) break;
    Record record(received);
    if (received->err) {
      heed(*received);
      continue;
    }
    is_answered();
    const auto found = progress_.find(received->partition);
    if (found == progress_.end()) continue;  // it was on its way when the partition was taken from us
    Progress& progress = found->second;
    if (progress.first == none) progress.first = received->offset;
    progress.next = received->offset + 1;
    progress.at_end = false;
    records.push_back(std::move(record));
  }
  if (std::exchange(is_rewound_, false)) rewind();
  require_admitted();
  require_broker();
}

void Consumer::Impl::heed(const rd_kafka_message_t& message) {
  switch (message.err) {
    case RD_KAFKA_RESP_ERR__PARTITION_EOF:
      is_answered();
      if (const auto found = progress_.find(message.partition); found != progress_.end()) found->second.at_end = true;
      return;
    default:
      if (is_final(message.err))
        throw UserError("kafka", str("no more records of '", printable(topic_), "' can be had: ", printable(rd_kafka_message_errstr(&message))));
      tell(printable(rd_kafka_message_errstr(&message)));
  }
}

bool Consumer::Impl::at_end() const {
  return is_member_ && std::all_of(progress_.begin(), progress_.end(), [](const auto& entry) { return entry.second.at_end; });
}

Partitions Consumer::Impl::positions(std::int64_t Progress::* which) const {
  Partitions result(rd_kafka_topic_partition_list_new(static_cast<int>(progress_.size())));
  for (const auto& [partition, progress] : progress_)
    if (progress.first != none) rd_kafka_topic_partition_list_add(result.get(), topic_.c_str(), partition)->offset = progress.*which;
  return result;
}

void Consumer::Impl::settle() {
  for (auto& [partition, progress] : progress_) progress.first = progress.next = none;
}

void Consumer::Impl::rewind() {
  if (is_rebalancing_) {
    is_rewound_ = true;  // of what will be left to us
    return;
  }
  const Partitions begins = positions(&Progress::first);
  settle();
  for (auto& [partition, progress] : progress_) progress.at_end = false;
  if (!begins->cnt) return;
  const Fault fault(rd_kafka_seek_partitions(handle(), begins.get(), deadline().milliseconds(10'000)));
  if (fault) require(rd_kafka_error_code(fault.get()), "go back to uncommitted records");
  for (const rd_kafka_topic_partition_t& partition : std::span(begins->elems, static_cast<std::size_t>(begins->cnt)))
    require(partition.err, "go back to uncommitted records");
}

void Consumer::Impl::on_rebalance(rd_kafka_t*, rd_kafka_resp_err_t code, rd_kafka_topic_partition_list_t* partitions, void* client) {
  Impl& self = *static_cast<Impl*>(static_cast<Client*>(client));
  self.is_rebalancing_ = self.is_interrupted_ = true;
  try {
    if (code == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS) self.assign(*partitions);
    else self.revoke(*partitions);
  } catch (...) {
    self.failure_ = std::current_exception();
  }
  self.is_rebalancing_ = false;
}

void Consumer::Impl::assign(rd_kafka_topic_partition_list_t& partitions) {
  is_member_ = true;
  for (const rd_kafka_topic_partition_t& partition : std::span(partitions.elems, static_cast<std::size_t>(partitions.cnt)))
    progress_.try_emplace(partition.partition);
  if (is_cooperative(handle())) (void)Fault(rd_kafka_incremental_assign(handle(), &partitions));
  else rd_kafka_assign(handle(), &partitions);
}

void Consumer::Impl::revoke(rd_kafka_topic_partition_list_t& partitions) {
  try {
    before_revoke_(rd_kafka_assignment_lost(handle()) != 0);
  } catch (...) {
    failure_ = std::current_exception();
  }
  for (const rd_kafka_topic_partition_t& partition : std::span(partitions.elems, static_cast<std::size_t>(partitions.cnt)))
    progress_.erase(partition.partition);
  is_member_ = false;
  if (is_cooperative(handle())) (void)Fault(rd_kafka_incremental_unassign(handle(), &partitions));
  else rd_kafka_assign(handle(), nullptr);
}

void Consumer::Impl::require(rd_kafka_resp_err_t code, const char* what) const {
  if (code != RD_KAFKA_RESP_ERR_NO_ERROR) throw UserError("kafka", str("cannot ", what, " '", printable(topic_), "': ", rd_kafka_err2str(code)));
}

void Consumer::Impl::close() {
  rd_kafka_consumer_close(handle());
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

Consumer::Consumer(const ConsumerOptions& options) : impl_(std::make_unique<Impl>(options)) {}
Consumer::~Consumer() = default;
void Consumer::require_topic(const std::string& topic) { impl_->require_topic(topic); }
void Consumer::subscribe() { impl_->subscribe(); }
void Consumer::poll(std::size_t most, double seconds, std::vector<Record>& records) { impl_->poll(most, seconds, records); }
bool Consumer::at_end() const { return impl_->at_end(); }
bool Consumer::has_uncommitted() const { return impl_->uncommitted()->cnt > 0; }
void Consumer::rewind() { impl_->rewind(); }
void Consumer::close() { impl_->close(); }

}  // namespace sinter::cli::kafka
