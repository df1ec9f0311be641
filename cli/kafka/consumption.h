// The work of `sinter consume`: records of a topic in, answers to another out, positions committed with them.
#pragma once

#include <sinter/sinter.h>

#include <cstdint>
#include <optional>
#include <string>

#include "cli/kafka/kafka.h"
#include "cli/online_training.h"
#include "cli/stream_signals.h"

namespace sinter::cli {

struct ConsumptionSettings {
  kafka::ConsumerOptions consumer;
  kafka::ProducerOptions producer;
  serve::RecordScorerOptions scorer;
  std::string model;                     ///< file, which is read again at SIGHUP
  std::string out, errors;               ///< topics; errors go to `out`, if it is empty
  std::optional<double> threshold = {};  ///< answers with less than this score are not written
  std::int64_t max_records = 0;          ///< end after so many; 0: never
  bool until_end = false;                ///< end when all records that were there have been read
  double commit_interval = 0.1;          ///< seconds after which what was read is committed, at the latest
  std::string metrics = {};              ///< a file for Prometheus; none if empty
  std::int64_t counters_every = 10;      ///< seconds between lines on standard error; 0: only at the end
};

/// Reads, scores and writes until it is told to stop; `training` may be null. Throws UserError if the brokers cannot be reached or lack a topic, and
/// for what it cannot go on from.
void consume(const StreamSignals& signals, serve::Scorer& scorer, OnlineTraining* training, ConsumptionSettings settings);

}  // namespace sinter::cli
