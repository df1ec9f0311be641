#include "tests/kafka/cluster.h"

#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <stdexcept>
#include <utility>

#include "cli/kafka/client.h"

namespace sinter::test {

namespace {

using cli::kafka::FreedBy;
using cli::kafka::Partitions;
using Client = std::unique_ptr<rd_kafka_t, FreedBy<rd_kafka_destroy>>;
using Message = std::unique_ptr<rd_kafka_message_t, FreedBy<rd_kafka_message_destroy>>;

void require(rd_kafka_resp_err_t code, const char* what) {
  if (code != RD_KAFKA_RESP_ERR_NO_ERROR) throw std::runtime_error(std::string(what) + ": " + rd_kafka_err2str(code));
}

Client client(rd_kafka_type_t type, const std::map<std::string, std::string>& settings) {
  char error[512];
  rd_kafka_conf_t* const configuration = rd_kafka_conf_new();
  for (const auto& [name, value] : settings)
    if (rd_kafka_conf_set(configuration, name.c_str(), value.c_str(), error, sizeof error) != RD_KAFKA_CONF_OK) throw std::runtime_error(error);
  rd_kafka_conf_set_log_cb(configuration, [](const rd_kafka_t*, int, const char*, const char*) {});
  rd_kafka_conf_set_error_cb(configuration, [](rd_kafka_t*, int, const char*, void*) {});
  Client result(rd_kafka_new(type, configuration, error, sizeof error));
  if (!result) throw std::runtime_error(error);
  return result;
}

int partitions_of(rd_kafka_t* handle, const std::string& topic) {
  const rd_kafka_metadata_t* metadata = nullptr;
  require(rd_kafka_metadata(handle, 1, nullptr, &metadata, 10'000), "metadata");
  const std::unique_ptr<const rd_kafka_metadata_t, FreedBy<rd_kafka_metadata_destroy>> owner(metadata);
  for (int i = 0; i < metadata->topic_cnt; ++i)
    if (topic == metadata->topics[i].topic) return metadata->topics[i].partition_cnt;
  throw std::runtime_error("no topic " + topic);
}

std::optional<std::string> text(const void* data, std::size_t size) {
  if (!data) return std::nullopt;
  return std::string(static_cast<const char*>(data), size);
}

std::vector<std::uint16_t> ports_of(const std::string& brokers) {
  std::vector<std::uint16_t> result;
  for (std::size_t at = 0; (at = brokers.find(':', at)) != brokers.npos; ++at)
    result.push_back(static_cast<std::uint16_t>(std::stoi(brokers.substr(at + 1))));
  return result;
}

/// Reads a topic from its beginning, in no group.
class TopicReader {
 public:
  TopicReader(const std::string& brokers, const std::string& topic)
      : client_(client(RD_KAFKA_CONSUMER, {{"bootstrap.servers", brokers},
                                           {"group.id", "reader"},
                                           {"enable.auto.commit", "false"},
                                           {"enable.partition.eof", "true"},
                                           {"isolation.level", "read_committed"},
                                           {"auto.offset.reset", "error"},
                                           {"fetch.wait.max.ms", "10"}})) {
    rd_kafka_poll_set_consumer(client_.get());
    const int count = partitions_of(client_.get(), topic);
    const Partitions all(rd_kafka_topic_partition_list_new(count));
    for (int i = 0; i < count; ++i) rd_kafka_topic_partition_list_add(all.get(), topic.c_str(), i)->offset = 0;
    require(rd_kafka_assign(client_.get(), all.get()), "assign");
    is_at_end_.resize(static_cast<std::size_t>(count));
  }
  /// The next record, or none if there has been none for a while.
  std::optional<KafkaRecord> next() {
    const Message message(rd_kafka_consumer_poll(client_.get(), 100));
    if (!message) return std::nullopt;
    const auto partition = static_cast<std::size_t>(message->partition);
    if (message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) is_at_end_[partition] = true;
    if (message->err == RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET)
      throw std::runtime_error("a mock broker keeps 5 MB of a partition, and has dropped older records");
    if (message->err) return std::nullopt;
    is_at_end_[partition] = false;
    return KafkaRecord{text(message->key, message->key_len), text(message->payload, message->len), message->partition, message->offset};
  }
  bool is_at_end() const {
    return std::all_of(is_at_end_.begin(), is_at_end_.end(), [](bool end) { return end; });
  }

 private:
  Client client_;
  std::vector<bool> is_at_end_;
};

}  // namespace

struct Cluster::Handle {
  Client client = test::client(RD_KAFKA_PRODUCER, {});
  rd_kafka_mock_cluster_t* mock = nullptr;
  int topics = 0;
  ~Handle() {
    if (mock) rd_kafka_mock_cluster_destroy(mock);
  }
};

Cluster::Cluster(int brokers) : handle_(std::make_unique<Handle>()), count_(brokers) {
  handle_->mock = rd_kafka_mock_cluster_new(handle_->client.get(), brokers);
  if (!handle_->mock) throw std::runtime_error("no mock cluster");
  relay_ = std::make_unique<Relay>(ports_of(rd_kafka_mock_cluster_bootstraps(handle_->mock)));
}

Cluster::~Cluster() = default;

void Cluster::create(const std::string& topic, int partitions) {
  require(rd_kafka_mock_topic_create(handle_->mock, topic.c_str(), partitions, 1), "create");
  for (int i = 0; i < partitions; ++i) require(rd_kafka_mock_partition_set_leader(handle_->mock, topic.c_str(), i, 1 + i % count_), "leader");
}

void Cluster::refuse(const std::string& topic, int code) {
  rd_kafka_mock_topic_set_error(handle_->mock, topic.c_str(), static_cast<rd_kafka_resp_err_t>(code));
}

void Cluster::set_coordinator(const std::string& kind, const std::string& name, int broker) {
  require(rd_kafka_mock_coordinator_set(handle_->mock, kind.c_str(), name.c_str(), broker), "coordinator");
}

void Cluster::set_down(int broker) { require(rd_kafka_mock_broker_set_down(handle_->mock, broker), "down"); }
void Cluster::set_up(int broker) { require(rd_kafka_mock_broker_set_up(handle_->mock, broker), "up"); }

void Cluster::fail(Api api, int code, int times) {
  const std::vector<rd_kafka_resp_err_t> codes(static_cast<std::size_t>(times), static_cast<rd_kafka_resp_err_t>(code));
  rd_kafka_mock_push_request_errors_array(handle_->mock, static_cast<std::int16_t>(api), codes.size(), codes.data());
}

void Cluster::produce(const std::string& topic, const std::vector<KafkaRecord>& records) {
  const Client producer = client(
      RD_KAFKA_PRODUCER,
      {{"bootstrap.servers", rd_kafka_mock_cluster_bootstraps(handle_->mock)}, {"linger.ms", "5"}, {"queue.buffering.max.messages", "1000000"}});
  const std::unique_ptr<rd_kafka_topic_t, FreedBy<rd_kafka_topic_destroy>> to(rd_kafka_topic_new(producer.get(), topic.c_str(), nullptr));
  for (const KafkaRecord& record : records)
    if (rd_kafka_produce(to.get(), record.partition, RD_KAFKA_MSG_F_COPY, record.value ? const_cast<char*>(record.value->data()) : nullptr,
                         record.value ? record.value->size() : 0, record.key ? record.key->data() : nullptr, record.key ? record.key->size() : 0,
                         nullptr))
      require(rd_kafka_last_error(), "produce");
  require(rd_kafka_flush(producer.get(), 30'000), "flush");
}

std::vector<KafkaRecord> Cluster::read_all(const std::string& topic) const {
  std::vector<KafkaRecord> result;
  TopicReader reader(brokers(), topic);
  while (!reader.is_at_end())
    if (auto record = reader.next()) result.push_back(std::move(*record));
  return result;
}

std::vector<KafkaRecord> Cluster::read_committed(const std::string& topic) const {
  std::vector<KafkaRecord> result = read_all(topic);
  std::erase_if(result, [&](const KafkaRecord& record) { return !relay_->is_visible(topic, record.partition, record.offset); });
  return result;
}

bool Cluster::wait_for(const std::string& topic, std::size_t records) const {
  using Clock = std::chrono::steady_clock;
  TopicReader reader(brokers(), topic);
  auto last = Clock::now();
  for (std::size_t seen = 0; seen < records;) {
    if (reader.next()) ++seen, last = Clock::now();
    else if (Clock::now() - last > std::chrono::seconds(30)) return false;
  }
  return true;
}

}  // namespace sinter::test
