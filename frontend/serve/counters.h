// What a stream counts, for people and for Prometheus.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "frontend/serve/record_scorer.h"

namespace sinter::serve {

/// Counts durations from a nanosecond to an hour in 1/128 steps of each power of two: quantiles are off by 0.4 % at most. Allocates nothing.
class LatencyHistogram {
 public:
  /// `count` times this duration; one beyond an hour counts as an hour.
  void add(double seconds, std::int64_t count = 1);
  void add(const LatencyHistogram& other);
  std::int64_t count() const { return count_; }
  double sum() const { return sum_; }
  /// The duration that a share of `q` in [0, 1] of them does not exceed, in seconds; 0 of none.
  double quantile(double q) const;

 private:
  static constexpr int steps = 7;     ///< 2^7 a power of two
  static constexpr int longest = 42;  ///< 2^42 ns are 73 minutes
  static std::size_t place(std::uint64_t nanoseconds);
  static double middle(std::size_t place);

  std::array<std::int64_t, ((longest - steps + 1) << steps)> counts_ = {};
  std::int64_t count_ = 0;
  double sum_ = 0;
};

/// Records, what became of them, how long it took, and how scores are distributed. For one thread at a time; add() puts those of several together.
class Counters {
 public:
  /// Scores are counted between these bounds (RecordScorer::score_bounds), which ascend. Throws UserError if they do not.
  explicit Counters(std::vector<double> score_bounds = {});

  /// Counts records by their answers: scored, skipped or errors.
  void add(std::span<const Answer> answers);
  /// From when a record was there to when its answer was written, of so many records.
  void add_latency(double seconds, std::int64_t records = 1) { latencies_.add(seconds, records); }
  /// Answers that were written: all, or those past a threshold.
  void add_results(std::int64_t results) { results_ += results; }
  /// A further number of a name of Prometheus, as sinter_model_generation, with what it says: the value of now, which replaces the last. Throws
  /// UserError for a name that is none.
  void set(const std::string& name, const std::string& help, double value);
  /// Those of another thread, with the same bounds.
  void add(const Counters& other);

  std::int64_t records() const { return records_; }
  std::int64_t errors() const { return errors_; }
  std::int64_t skipped() const { return skipped_; }
  std::int64_t results() const { return results_; }
  const LatencyHistogram& latencies() const { return latencies_; }

  /// One line: 1000 records, 3 errors, 0 skipped, 997 results; latency p50 12 µs, p99 40 µs, p99.9 51 µs.
  std::string text() const;
  /// The text exposition format of Prometheus: sinter_records_total, sinter_record_errors_total, sinter_records_skipped_total, sinter_results_total,
  /// sinter_latency_seconds with quantiles 0.5, 0.99 and 0.999, the histogram sinter_score, and what set() was given.
  std::string prometheus() const;
  /// Writes that to a file, which readers see whole: the old one or the new one. Throws UserError if it cannot be written.
  void write(const std::string& path) const;

 private:
  struct Gauge {
    std::string name, help;
    double value;
  };

  std::vector<double> bounds_;
  std::vector<std::int64_t> scores_;  ///< up to each bound, from the one before; then those beyond
  double score_sum_ = 0;
  std::int64_t records_ = 0, errors_ = 0, skipped_ = 0, results_ = 0;
  LatencyHistogram latencies_;
  std::vector<Gauge> gauges_;
};

}  // namespace sinter::serve
