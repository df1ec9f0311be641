// sinter consume: a saved model on the records of a Kafka topic.
#include <sinter/sinter.h>

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <random>

#include "cli/commands.h"
#include "cli/kafka/consumption.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/stream_signals.h"
#include "cli/task.h"
#include "cli/words.h"

namespace sinter::cli {

namespace {

struct ConsumeSettings {
  std::string model, brokers, topic, out, errors, group, format = "json", answers = "json", columns, delivery = "exactly-once", score, threshold,
                                                         offset_reset = "earliest", transactional_id, properties_file, metrics, labels, checkpoint;
  std::vector<std::string> properties;
  std::int64_t max_records = 0, commit_interval = 0, counters_every = 10, batch_size = 32, publish_every = 100;
  double timeout = 30, learning_rate = 0;
  char delimiter = ',';
  bool until_end = false, train = false;
};

std::string trimmed(const std::string& text) {
  constexpr const char* spaces = " \t\r";
  const std::size_t begin = text.find_first_not_of(spaces);
  return begin == text.npos ? "" : text.substr(begin, text.find_last_not_of(spaces) + 1 - begin);
}

/// NAME=VALUE.
std::pair<std::string, std::string> property(const std::string& where, const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == text.npos || equals == 0) throw UserError(where, "must be NAME=VALUE, as security.protocol=ssl");  // without it: it may be a secret
  return {trimmed(text.substr(0, equals)), trimmed(text.substr(equals + 1))};
}

/// Lines NAME=VALUE, as other programs of Kafka read them; # begins a comment.
kafka::Properties properties_of(const std::string& path) {
  const runtime::InputFile file(path);
  std::string content(file.size(), '\0');
  file.read(0, std::as_writable_bytes(std::span(content)));
  kafka::Properties result;
  std::size_t number = 0;
  for (std::size_t begin = 0, end = 0; begin < content.size(); begin = end + 1) {
    end = std::min(content.find('\n', begin), content.size());
    const std::string line = trimmed(content.substr(begin, end - begin));
    ++number;
    if (!line.empty() && line[0] != '#') result.push_back(property(str(path, ":", number), line));
  }
  return result;
}

/// A name that no other consumer of the group has.
std::string unique_id(const std::string& group) {
  std::random_device random;
  return str(group, "-", ::getpid(), "-", random());
}

kafka::ClientOptions client_of(const ConsumeSettings& s, const StreamSignals& signals) {
  kafka::ClientOptions client{
      .brokers = s.brokers, .timeout = s.timeout, .warn = warn_on_stderr, .stopped = [&signals] { return signals.stop_requested(); }};
  if (!s.properties_file.empty()) client.properties = properties_of(s.properties_file);
  for (const std::string& text : s.properties) client.properties.push_back(property("--property", text));
  kafka::check_properties(client.properties);
  return client;
}

ConsumptionSettings consumption_of(const ConsumeSettings& s, const StreamSignals& signals) {
  const kafka::ClientOptions client = client_of(s, signals);
  const std::string group = s.group.empty() ? str("sinter-", s.topic, "-", s.out) : s.group;
  const double interval = s.commit_interval ? static_cast<double>(s.commit_interval) / 1000 : s.train ? 1 : 0.1;
  ConsumptionSettings result{.consumer = {.client = client, .topic = s.topic, .group = group, .from_latest = s.offset_reset == "latest"},
                             .producer = {.client = client, .longest_transaction = interval},
                             .scorer = {.format = {.format = serve::format_named(s.format), .columns = parts_of(s.columns), .delimiter = s.delimiter},
                                        .answers = serve::format_named(s.answers),
                                        .score = s.score},
                             .model = s.model,
                             .out = s.out,
                             .errors = s.errors,
                             .max_records = s.max_records,
                             .until_end = s.until_end,
                             .commit_interval = interval,
                             .metrics = s.metrics,
                             .counters_every = s.counters_every};
  if (!s.threshold.empty()) {
    double value = 0;
    std::from_chars(s.threshold.data(), s.threshold.data() + s.threshold.size(), value);  // a number, as its validator has seen
    result.threshold = value;
  }
  if (s.delivery == "exactly-once") result.producer.transactional_id = s.transactional_id.empty() ? unique_id(group) : s.transactional_id;
  return result;
}

/// Options that mean something only beside others.
void check(const ConsumeSettings& s) {
  if (s.format == "csv" && s.columns.empty()) throw UserError("--format", "csv needs --columns, the names of the fields: a topic has no header");
  if (!s.score.empty() && s.threshold.empty()) throw UserError("--score", "says of which class --threshold is; give both");
  if (!s.transactional_id.empty() && s.delivery != "exactly-once") throw UserError("--transactional-id", "is for --delivery exactly-once");
  if (s.out == s.topic || s.errors == s.topic) throw UserError("--out", "must be another topic than --topic, or answers would be read as records");
  if (s.train && s.checkpoint.empty()) throw UserError("--train", "needs --checkpoint FOLDER, for what the model has learnt");
  if (!s.train && !(s.checkpoint.empty() && s.labels.empty())) throw UserError(s.labels.empty() ? "--checkpoint" : "--labels", "is for --train");
  check_outputs({.files = {{"--metrics", s.metrics}}, .folders = {{"--checkpoint", s.checkpoint}}}, {s.model, s.properties_file});
}

void run(const ConsumeSettings& s) {
  if (!kafka::is_built()) throw UserError("consume", "this build has no Kafka; install librdkafka-dev and configure it with -DSINTER_KAFKA=ON");
  check(s);
  const StreamSignals signals;
  const ConsumptionSettings settings = consumption_of(s, signals);
  std::unique_ptr<ModelFolder> folder;
  std::string model = s.model;
  if (s.train) {
    folder = std::make_unique<ModelFolder>(s.checkpoint);
    model = folder->newest_or(s.model);
    if (model != s.model) warn_on_stderr(str("goes on with ", model, ", which has learnt for ", counted(folder->steps(), "step"), "; not ", s.model));
  }
  serve::Scorer scorer(model, {.log = warn_on_stderr});
  std::unique_ptr<OnlineTraining> training;
  if (s.train)
    training = std::make_unique<OnlineTraining>(
        model, scorer, *folder,
        OnlineTrainingSettings{.labels = s.labels,
                               .format = settings.scorer.format,
                               .batch_size = s.batch_size,
                               .publish_every = s.publish_every,
                               .learning_rate = s.learning_rate > 0 ? std::optional(s.learning_rate) : std::nullopt});
  consume(signals, scorer, training.get(), settings);
}

void add_kafka_options(CLI::App& command, ConsumeSettings& s) {
  command.add_option("--brokers", s.brokers, "Brokers to begin with, HOST:PORT with commas")->required()->check(not_empty());
  command.add_option("--topic", s.topic, "Topic with the records")->required()->check(not_empty());
  command.add_option("--out", s.out, "Topic for the answers, which keep the keys of their records")->required()->check(not_empty());
  command.add_option("--errors", s.errors, "Topic for the answers to records that cannot be read; without it they go to --out")->check(not_empty());
  command.add_option("--group", s.group, "Consumer group; without it sinter-TOPIC-OUT")->check(not_empty());
  command
      .add_option("--delivery", s.delivery, "exactly-once: answers and positions in one transaction; at-least-once: answers first, then positions")
      ->check(one_of({"exactly-once", "at-least-once"}));
  command
      .add_option("--transactional-id", s.transactional_id,
                  "Name of this consumer, the same after a restart, so that it takes over at once; without it a new one each time")
      ->check(not_empty());
  command.add_option("--offset-reset", s.offset_reset, "Where a group without a position begins: earliest or latest")
      ->check(one_of({"earliest", "latest"}));
  command.add_option("--property", s.properties, "A setting of librdkafka, NAME=VALUE, as security.protocol=ssl; as often as needed")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false)
      ->check(not_empty());
  command.add_option("--properties", s.properties_file, "File of such settings, one a line: for passwords, which others may see on a command line")
      ->check(not_empty());
  command.add_option("--timeout", s.timeout, "Seconds that an answer of the brokers is waited for")->check(positive_number());
  command.add_option("--commit-interval", s.commit_interval, "Milliseconds after which answers are committed at the latest; 100, with --train 1000")
      ->check(whole_number(1, 600'000));
  command.add_option("--max-records", s.max_records, "End after so many records; 0: never")->check(whole_number(0));
  command.add_flag("--until-end", s.until_end, "End when all records that are there have been read");
}

void add_model_options(CLI::App& command, ConsumeSettings& s) {
  command.add_option("--format", s.format, "Records: json, an object or an array each, or csv")->check(one_of({"json", "csv"}));
  command.add_option("--columns", s.columns, "Names of the fields of a record, in their order, with commas");
  command.add_option("--delimiter", s.delimiter, "Separator between the fields of csv records; tab is one")
      ->transform(tab_by_name())
      ->check(field_separator());
  command.add_option("--answers", s.answers, "Answers: json or csv")->check(one_of({"json", "csv"}));
  command
      .add_option("--threshold", s.threshold, "Write only answers whose score is at least this: the predicted number, or the probability of --score")
      ->check(number(std::numeric_limits<float>::lowest()));
  command.add_option("--score", s.score, "Class whose probability is the score; without it the last one")->check(not_empty());
  command.add_option("--metrics", s.metrics, "File for the counters, in Prometheus' text format")->check(file_name());
  command.add_option("--counters-every", s.counters_every, "Seconds between reports of the counters; 0: at the end")->check(whole_number(0));
}

void add_training_options(CLI::App& command, ConsumeSettings& s) {
  command.add_flag("--train", s.train, "Go on training from records that have a label");
  command.add_option("--labels", s.labels, "Field of a record with its label; without it the column that the model predicts")->check(not_empty());
  command.add_option("--checkpoint", s.checkpoint, "Folder for the model as it learns, from which the same command goes on")->check(folder_name());
  command.add_option("--publish-every", s.publish_every, "Steps after which the model is written to --checkpoint and used from then on")
      ->check(whole_number(1));
  command.add_option("--batch-size", s.batch_size, "Labelled records of a step")->check(whole_number(1));
  command.add_option("--learning-rate", s.learning_rate, "Learning rate; without it that of the model file")->check(positive_number());
}

}  // namespace

void add_consume(CLI::App& app) {
  auto settings = std::make_shared<ConsumeSettings>();
  CLI::App* command = app.add_subcommand("consume", "Score the records of a Kafka topic, and go on training from them");
  command->option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast)->always_capture_default();
  command->add_option("model", settings->model, "Model file from sinter train")->required()->check(file_name());
  add_kafka_options(*command, *settings);
  add_model_options(*command, *settings);
  add_training_options(*command, *settings);
  command->callback([settings] { run(*settings); });
}

}  // namespace sinter::cli
