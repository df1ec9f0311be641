// Card payments as a stream: a cluster of Kafka brokers in this process, a topic with generated payments of 34 columns, and `sinter consume`, which
// leaves out what was not settled, scores the rest and writes alerts to another topic. One command:
//   fraud_stream
#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>
#include <sinter/sinter.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

using namespace sinter;

namespace {

// ---- payments ----

constexpr int habits = 26;
constexpr char delimiter = ';';

std::vector<std::string> columns() {
  std::vector<std::string> names{"id", "status", "country", "shop", "channel", "hour", "amount", "balance"};
  for (int i = 1; i <= habits; ++i) names.push_back("habit_" + std::to_string(i));
  return names;
}

struct Payment {
  std::vector<std::string> fields;  ///< of columns()
  bool is_fraud;
};

/// Payments of card holders with habits. In a fraud the amount is greater, the hour later, the place another, and some habits are not kept.
class Payments {
 public:
  explicit Payments(unsigned seed) : random_(seed) {}

  Payment next(bool is_fraud) {
    const std::vector<std::string> statuses{"settled", "settled", "settled", "settled", "declined", "reversed"}, countries{"DE", "FR", "IT", "BR"},
        shops{"food", "fuel", "travel", "games"}, channels{"chip", "online", "phone"};
    Payment payment{{std::to_string(++id_), one_of(statuses), one_of(countries, is_fraud), one_of(shops, is_fraud), one_of(channels, is_fraud)},
                    is_fraud};
    add(payment, std::fmod(24 + 14 + (is_fraud ? 7 : 0) + 3 * normal(), 24));
    add(payment, std::exp(3 + 0.8 * normal() + (is_fraud ? 1.2 : 0)));
    add(payment, 1000 + 300 * normal());
    for (int i = 0; i < habits; ++i) add(payment, normal() * (1 + i) + (is_fraud && i % 3 == 0 ? 0.9 * (1 + i) : 0));
    return payment;
  }

 private:
  // Box-Muller, because distributions differ between standard libraries.
  double uniform() { return (random_() + 0.5) / 4294967296.0; }
  double normal() {
    const double radius = std::sqrt(-2 * std::log(uniform()));
    return radius * std::cos(2 * M_PI * uniform());
  }
  /// The later ones more often if `late`.
  const std::string& one_of(const std::vector<std::string>& names, bool late = false) {
    const double place = late ? std::sqrt(uniform()) : uniform();
    return names[static_cast<std::size_t>(place * static_cast<double>(names.size()))];
  }
  static void add(Payment& payment, double number) { payment.fields.push_back(str(std::round(number * 100) / 100)); }

  std::mt19937 random_;
  std::int64_t id_ = 0;
};

std::string joined(const std::vector<std::string>& fields, char between) {
  std::string result;
  for (const std::string& field : fields) (result += result.empty() ? "" : std::string(1, between)) += field;
  return result;
}

/// Trains on past payments, whose verdicts are known, and writes the model with the encoder of its records.
void train(const std::string& path) {
  std::vector<std::string> names = columns();
  names.push_back("verdict");
  data::Table past(names);
  Payments payments(1);
  for (int i = 0; i < 6000; ++i) {
    Payment payment = payments.next(i % 10 == 0);
    payment.fields.push_back(payment.is_fraud ? "fraud" : "normal");
    past.add_row(payment.fields);
  }
  const data::Encoder encoder = data::Encoder::fit(past, {.target = "verdict", .ignore = {"id"}, .keep = {"status == settled"}});
  seed(1);
  nn::Sequential model{nn::Dense(encoder.width(), 16, Activation::relu), nn::Dense(16, 2)};
  Trainer trainer(model, loss::sparse_categorical_crossentropy_from_logits, optim::Adam({.learning_rate = 3e-3}));
  const std::vector<EpochResult> results = trainer.fit(encoder.dataset(past), {.epochs = 8, .verbose = false});
  trainer.set_metadata("encoder", encoder.to_json());
  trainer.save(path);
  std::cout << "trained on " << past.rows() << " past payments of " << columns().size() << " columns, accuracy " << *results.back().accuracy * 100
            << " %; saved " << path << "\n";
}

// ---- Kafka ----

template <auto free>
struct FreedBy {
  template <class T>
  void operator()(T* object) const {
    free(object);
  }
};
using Client = std::unique_ptr<rd_kafka_t, FreedBy<rd_kafka_destroy>>;

void require(bool holds, const char* what) {
  if (!holds) throw UserError("kafka", str("cannot ", what, ": ", rd_kafka_err2str(rd_kafka_last_error())));
}

Client client(rd_kafka_type_t type, const std::vector<std::pair<std::string, std::string>>& settings) {
  char error[512];
  rd_kafka_conf_t* const configuration = rd_kafka_conf_new();
  for (const auto& [name, value] : settings)
    if (rd_kafka_conf_set(configuration, name.c_str(), value.c_str(), error, sizeof error) != RD_KAFKA_CONF_OK) throw UserError("kafka", error);
  Client result(rd_kafka_new(type, configuration, error, sizeof error));
  if (!result) throw UserError("kafka", error);
  return result;
}

constexpr int partitions_of_alerts = 4;

/// Three brokers in this process, which forget all when it ends.
class Cluster {
 public:
  Cluster() : owner_(client(RD_KAFKA_PRODUCER, {{"log_level", "0"}})), brokers_(rd_kafka_mock_cluster_new(owner_.get(), 3)) {
    require(brokers_ != nullptr, "start");
  }
  std::string brokers() const { return rd_kafka_mock_cluster_bootstraps(brokers_.get()); }
  void create(const char* topic, int partitions) {
    require(rd_kafka_mock_topic_create(brokers_.get(), topic, partitions, 1) == RD_KAFKA_RESP_ERR_NO_ERROR, "create a topic");
  }

 private:
  Client owner_;
  std::unique_ptr<rd_kafka_mock_cluster_t, FreedBy<rd_kafka_mock_cluster_destroy>> brokers_;
};

/// Sends payments; those that are frauds and were settled, by their numbers.
std::set<std::string> produce(const std::string& brokers, const char* topic, int count) {
  const Client producer = client(RD_KAFKA_PRODUCER, {{"bootstrap.servers", brokers}, {"compression.type", "lz4"}});
  const std::unique_ptr<rd_kafka_topic_t, FreedBy<rd_kafka_topic_destroy>> to(rd_kafka_topic_new(producer.get(), topic, nullptr));
  Payments payments(2);
  std::set<std::string> frauds;
  for (int i = 0; i < count; ++i) {
    const Payment payment = payments.next(i % 50 == 7);
    const std::string &key = payment.fields[0], value = joined(payment.fields, delimiter);
    if (payment.is_fraud && payment.fields[1] == "settled") frauds.insert(key);
    while (rd_kafka_produce(to.get(), RD_KAFKA_PARTITION_UA, RD_KAFKA_MSG_F_COPY, const_cast<char*>(value.data()), value.size(), key.data(),
                            key.size(), nullptr)) {
      require(rd_kafka_last_error() == RD_KAFKA_RESP_ERR__QUEUE_FULL, "produce");
      rd_kafka_poll(producer.get(), 100);
    }
  }
  require(rd_kafka_flush(producer.get(), 60'000) == RD_KAFKA_RESP_ERR_NO_ERROR, "produce");
  return frauds;
}

/// Prints the first alerts, and how many there are and how many are right.
void print_alerts(const std::string& brokers, const char* topic, const std::set<std::string>& frauds) {
  const Client consumer = client(
      RD_KAFKA_CONSUMER, {{"bootstrap.servers", brokers}, {"group.id", "print"}, {"enable.partition.eof", "true"}, {"fetch.wait.max.ms", "10"}});
  rd_kafka_poll_set_consumer(consumer.get());
  const std::unique_ptr<rd_kafka_topic_partition_list_t, FreedBy<rd_kafka_topic_partition_list_destroy>> all(rd_kafka_topic_partition_list_new(1));
  for (int i = 0; i < partitions_of_alerts; ++i) rd_kafka_topic_partition_list_add(all.get(), topic, i)->offset = 0;
  require(rd_kafka_assign(consumer.get(), all.get()) == RD_KAFKA_RESP_ERR_NO_ERROR, "read alerts");
  constexpr std::size_t shown = 5;
  std::size_t alerts = 0, right = 0;
  for (int at_end = 0; at_end < partitions_of_alerts;) {
    const std::unique_ptr<rd_kafka_message_t, FreedBy<rd_kafka_message_destroy>> message(rd_kafka_consumer_poll(consumer.get(), 1000));
    if (!message) continue;
    at_end += message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF;
    if (message->err) continue;
    const std::string key(static_cast<const char*>(message->key), message->key_len);
    right += frauds.contains(key);
    if (++alerts <= shown) std::cout << "payment " << key << ": " << std::string(static_cast<const char*>(message->payload), message->len) << "\n";
  }
  std::cout << alerts << " alerts, " << right << " of them frauds; " << frauds.size() << " frauds were settled\n";
}

}  // namespace

int main(int argc, char** argv) {
  std::string program = SINTER_CLI_PROGRAM, model = "fraud_stream.sinter";
  double threshold = 0.9;
  int payments = 100'000;
  CLI::App app{"Generates payments into a Kafka topic, and runs sinter consume, which writes alerts to another"};
  app.add_option("--payments", payments, "a mock broker keeps 5 MB of a partition")->capture_default_str()->check(CLI::Range(1, 100'000));
  app.add_option("--threshold", threshold, "least probability of a fraud for an alert")->capture_default_str()->check(CLI::Range(0.0, 1.0));
  app.add_option("--model", model, "file to write the model to")->capture_default_str();
  app.add_option("--sinter", program, "the command line program of Sinter")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  try {
    train(model);
    Cluster cluster;
    cluster.create("payments", 8);
    cluster.create("alerts", partitions_of_alerts);
    const std::set<std::string> frauds = produce(cluster.brokers(), "payments", payments);
    std::cout << payments << " payments in the topic payments of " << cluster.brokers() << "\n";
    const std::string command =
        str(program, " consume ", model, " --brokers ", cluster.brokers(), " --topic payments --out alerts --format csv", " --delimiter '", delimiter,
            "' --columns ", joined(columns(), ','), " --threshold ", threshold, " --score fraud --until-end");
    std::cout << command << std::endl;
    if (std::system(command.c_str()) != 0) throw UserError("fraud_stream", "sinter consume has failed; see above");
    print_alerts(cluster.brokers(), "alerts", frauds);
  } catch (const Error& error) {
    std::cerr << "error: " << error.what() << "\n";
    return 1;
  }
}
