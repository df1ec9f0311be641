#include "cli/kafka/consumption.h"

#include <algorithm>
#include <chrono>
#include <iostream>
#include <utility>
#include <vector>

#include "cli/words.h"

namespace sinter::cli {

namespace {

constexpr std::size_t batch = 1024;       ///< records that are scored in one call
constexpr double patience = 0.1;          ///< seconds that an idle consumer waits for records
constexpr double short_patience = 0.005;  ///< and one that has something to commit
constexpr int most_failures = 5;

double seconds_since(std::chrono::steady_clock::time_point then) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - then).count();
}

kafka::ConsumerOptions with_revocation(kafka::ConsumerOptions options, std::function<void(bool)> before_revoke) {
  options.before_revoke = std::move(before_revoke);
  return options;
}

/// An error with the place of its record: {"error":"…","topic":"payments","partition":0,"offset":17}.
std::string with_place(std::string_view error, const std::string& topic, const kafka::Record& record) {
  if (!error.ends_with('}')) return std::string(error);
  error.remove_suffix(1);
  return str(error, ",\"topic\":\"", topic, "\",\"partition\":", record.partition(), ",\"offset\":", record.offset(), "}");
}

/// The work of consume().
class Consumption {
 public:
  Consumption(const StreamSignals& signals, serve::Scorer& scorer, OnlineTraining* training, ConsumptionSettings settings);

  void run();

 private:
  using Clock = std::chrono::steady_clock;
  void loop();
  /// Scores what was received, and sends the answers.
  void work();
  void answer(const kafka::Record& record, const serve::Answer& answer);
  bool is_commit_due(bool was_idle) const;
  void commit();
  /// Nothing that was received since the last commit has been: it comes again.
  void undo();
  void before_revoke(bool lost);
  void reload();
  bool is_finished() const;
  /// How many records may be received at once.
  std::size_t room() const;
  void report(bool at_end);
  serve::Counters no_counts() const { return serve::Counters(scorer_.score_bounds()); }

  const StreamSignals& signals_;
  ConsumptionSettings settings_;
  serve::Scorer& model_;
  OnlineTraining* training_;
  serve::RecordScorer scorer_;
  kafka::Consumer consumer_;
  kafka::Producer producer_;
  std::vector<kafka::Record> received_;                               ///< and not worked on yet
  serve::Counters committed_, open_;                                  ///< of what is committed, and since then
  std::vector<std::pair<Clock::time_point, std::int64_t>> arrivals_;  ///< of uncommitted records
  Clock::time_point last_commit_, last_report_;
  bool has_told_error_ = false;
  int failures_ = 0;  ///< transactions that were aborted, one after another
};

Consumption::Consumption(const StreamSignals& signals, serve::Scorer& scorer, OnlineTraining* training, ConsumptionSettings settings)
    : signals_(signals),
      settings_(std::move(settings)),
      model_(scorer),
      training_(training),
      scorer_(scorer, settings_.scorer),
      consumer_(with_revocation(settings_.consumer, [this](bool lost) { before_revoke(lost); })),
      producer_(settings_.producer),
      committed_(no_counts()),
      open_(no_counts()),
      last_commit_(Clock::now()),
      last_report_(last_commit_) {}

void Consumption::run() {
  try {
    loop();
  } catch (...) {
    try {
      report(true);
    } catch (const UserError&) {  // of the metrics file; the first error says more
    }
    throw;
  }
  report(true);
}

void Consumption::loop() {
  for (const std::string& topic : {settings_.consumer.topic, settings_.out, settings_.errors})
    if (!topic.empty()) consumer_.require_topic(topic);
  producer_.start();
  consumer_.subscribe();
  while (!signals_.stop_requested() && !is_finished()) {
    consumer_.poll(room(), consumer_.has_uncommitted() ? short_patience : patience, received_);
    const bool was_idle = received_.empty();
    work();
    if (is_commit_due(was_idle)) commit();
    report(false);
    if (signals_.take_reload()) reload();
  }
  commit();
  consumer_.close();
}

void Consumption::reload() {
  if (training_) return warn_on_stderr("SIGHUP is ignored with --train: the model is that which learns");
  try {
    model_.swap(settings_.model);
  } catch (const UserError& error) {
    warn_on_stderr(str(error.what(), "; the model stays as it was"));
  }
}

std::size_t Consumption::room() const {
  std::size_t result = training_ ? std::min(batch, training_->room()) : batch;
  if (settings_.max_records) result = std::min(result, static_cast<std::size_t>(settings_.max_records - committed_.records() - open_.records()));
  return result;
}

bool Consumption::is_finished() const {
  if (settings_.max_records && committed_.records() + open_.records() >= settings_.max_records) return true;
  return settings_.until_end && consumer_.at_end();
}

void Consumption::work() {
  if (received_.empty()) return;
  producer_.begin();
  arrivals_.emplace_back(Clock::now(), static_cast<std::int64_t>(received_.size()));
  for (const kafka::Record& record : received_) {
    if (const auto value = record.value()) scorer_.add(*value);
    else scorer_.add_error("the record has no value");
  }
  const std::span<const serve::Answer> answers = scorer_.flush();
  open_.add(answers);
  for (std::size_t i = 0; i < answers.size(); ++i) answer(received_[i], answers[i]);
  if (training_)
    for (const kafka::Record& record : received_)
      if (const auto value = record.value()) training_->add(*value);
  received_.clear();
}

void Consumption::answer(const kafka::Record& record, const serve::Answer& answer) {
  if (answer.is_error) {
    const std::string text = with_place(answer.text, settings_.consumer.topic, record);
    if (!std::exchange(has_told_error_, true)) warn_on_stderr(str("a record is answered by an error: ", text, "; further ones are counted"));
    return producer_.send(settings_.errors.empty() ? settings_.out : settings_.errors, record.key(), text);
  }
  if (settings_.threshold && (answer.is_skipped || answer.score < *settings_.threshold)) return;
  producer_.send(settings_.out, record.key(), answer.text);
  open_.add_results(1);
}

bool Consumption::is_commit_due(bool was_idle) const {
  if (!consumer_.has_uncommitted()) return false;
  if (training_) return training_->is_due() || seconds_since(last_commit_) >= settings_.commit_interval;
  return was_idle || seconds_since(last_commit_) >= settings_.commit_interval;
}

void Consumption::commit() {
  last_commit_ = Clock::now();
  if (!consumer_.has_uncommitted()) return;
  if (training_) training_->publish();
  if (!producer_.commit(consumer_)) {
    undo();
    if (++failures_ == most_failures)
      throw UserError("kafka", str("the last ", failures_, " transactions were aborted; look into the logs of the brokers, and start again"));
    return;
  }
  failures_ = 0;
  for (const auto& [when, records] : arrivals_) open_.add_latency(seconds_since(when), records);
  arrivals_.clear();
  committed_.add(open_);
  open_ = no_counts();
}

void Consumption::undo() {
  consumer_.rewind();
  if (training_) training_->forget();
  arrivals_.clear();
  open_ = no_counts();
}

void Consumption::before_revoke(bool lost) {
  if (!lost) {
    work();
    return commit();
  }
  received_.clear();
  producer_.abort();
  undo();
}

void Consumption::report(bool at_end) {
  const bool is_due = settings_.counters_every > 0 && seconds_since(last_report_) >= static_cast<double>(settings_.counters_every);
  if (!at_end && !is_due) return;
  last_report_ = Clock::now();
  committed_.set("sinter_model_generation", "Models that have been served, with this one.", static_cast<double>(model_.generation()));
  std::string text = committed_.text();
  if (training_) {
    committed_.set("sinter_training_records", "Labelled records that were learnt from.", static_cast<double>(training_->labelled()));
    committed_.set("sinter_training_bad_labels", "Records with a label that cannot be learnt from.", static_cast<double>(training_->bad_labels()));
    committed_.set("sinter_training_steps", "Steps that the model has been trained.", static_cast<double>(training_->steps()));
    text += str("; learnt from ", counted(training_->labelled(), "record"), ", ", counted(training_->bad_labels(), "bad label"), ", step ",
                training_->steps());
  }
  std::cerr << text << "\n";
  if (!settings_.metrics.empty()) committed_.write(settings_.metrics);
}

}  // namespace

void consume(const StreamSignals& signals, serve::Scorer& scorer, OnlineTraining* training, ConsumptionSettings settings) {
  Consumption(signals, scorer, training, std::move(settings)).run();
}

}  // namespace sinter::cli
