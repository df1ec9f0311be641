#include "frontend/serve/counters.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "frontend/core/counted.h"
#include "ir/error.h"
#include "runtime/file/disk.h"

namespace sinter::serve {

// ---- latencies ----

std::size_t LatencyHistogram::place(std::uint64_t nanoseconds) {
  const int exponent = std::max(0, static_cast<int>(std::bit_width(nanoseconds)) - 1 - steps);
  return (static_cast<std::size_t>(exponent) << steps) + static_cast<std::size_t>(nanoseconds >> exponent);
}

double LatencyHistogram::middle(std::size_t place) {
  const std::size_t exponent = place < (std::size_t{2} << steps) ? 0 : (place >> steps) - 1;
  const double least = std::ldexp(static_cast<double>(place - (exponent << steps)), static_cast<int>(exponent));
  return exponent == 0 ? least : least + std::ldexp(0.5, static_cast<int>(exponent));
}

void LatencyHistogram::add(double seconds, std::int64_t count) {
  constexpr double most = static_cast<double>((std::uint64_t{1} << longest) - 1);
  const double nanoseconds = std::isnan(seconds) ? 0 : std::clamp(seconds * 1e9, 0.0, most);
  counts_[place(static_cast<std::uint64_t>(nanoseconds))] += count;
  count_ += count;
  sum_ += seconds * static_cast<double>(count);
}

void LatencyHistogram::add(const LatencyHistogram& other) {
  for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
  count_ += other.count_;
  sum_ += other.sum_;
}

double LatencyHistogram::quantile(double q) const {
  const auto wanted = static_cast<std::int64_t>(std::ceil(std::clamp(q, 0.0, 1.0) * static_cast<double>(count_)));
  std::int64_t below = 0;
  for (std::size_t i = 0; i < counts_.size(); ++i)
    if ((below += counts_[i]) >= std::max<std::int64_t>(wanted, 1)) return middle(i) * 1e-9;
  return 0;
}

// ---- counters ----

namespace {

constexpr std::array<double, 3> quantiles{0.5, 0.99, 0.999};

/// A duration with three digits, in the unit that fits.
std::string duration_text(double seconds) {
  constexpr std::array<std::pair<double, const char*>, 4> units{{{1, " s"}, {1e-3, " ms"}, {1e-6, " µs"}, {1e-9, " ns"}}};
  const auto unit = std::find_if(units.begin(), units.end() - 1, [&](const auto& u) { return seconds >= u.first; });
  TextStream out;
  out.precision(3);
  out << seconds / unit->first << unit->second;
  return out.str();
}

/// A number as Prometheus reads it, exactly.
std::string exact(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  return prediction_text(value, 0);
}

bool is_metric_name(const std::string& name) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == ':'; };
  return !name.empty() && is_letter(name.front()) &&
         std::all_of(name.begin(), name.end(), [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); });
}

/// The lines before the values of a metric.
std::string described(const std::string& name, const char* type, const std::string& help) {
  std::string escaped;
  for (const char c : help) escaped += c == '\\' ? "\\\\" : c == '\n' ? "\\n" : std::string(1, c);
  return str("# HELP ", name, " ", escaped, "\n# TYPE ", name, " ", type, "\n");
}

}  // namespace

Counters::Counters(std::vector<double> score_bounds) : bounds_(std::move(score_bounds)), scores_(bounds_.size() + 1) {
  for (std::size_t i = 0; i < bounds_.size(); ++i)
    if (!std::isfinite(bounds_[i]) || (i > 0 && !(bounds_[i] > bounds_[i - 1])))
      throw UserError("counters", str("the bounds of scores must be finite and ascend, but ", bounds_[i], " is number ", i + 1));
}

void Counters::add(std::span<const Answer> answers) {
  records_ += static_cast<std::int64_t>(answers.size());
  for (const Answer& answer : answers) {
    if (answer.is_error) ++errors_;
    else if (answer.is_skipped) ++skipped_;
    else {
      ++scores_[static_cast<std::size_t>(std::lower_bound(bounds_.begin(), bounds_.end(), answer.score) - bounds_.begin())];
      score_sum_ += answer.score;
    }
  }
}

void Counters::set(const std::string& name, const std::string& help, double value) {
  if (!is_metric_name(name)) throw UserError("counters", str("'", name, "' is no name of a metric; use letters, digits and _"));
  const auto found = std::find_if(gauges_.begin(), gauges_.end(), [&](const Gauge& gauge) { return gauge.name == name; });
  if (found != gauges_.end()) found->value = value;
  else gauges_.push_back({name, help, value});
}

void Counters::add(const Counters& other) {
  if (other.bounds_ != bounds_) throw UserError("counters", "those of another thread must have the same bounds of scores");
  records_ += other.records_;
  errors_ += other.errors_;
  skipped_ += other.skipped_;
  results_ += other.results_;
  for (std::size_t i = 0; i < scores_.size(); ++i) scores_[i] += other.scores_[i];
  score_sum_ += other.score_sum_;
  latencies_.add(other.latencies_);
  for (const Gauge& gauge : other.gauges_) set(gauge.name, gauge.help, gauge.value);
}

std::string Counters::text() const {
  std::string text = str(counted(records_, "record"), ", ", counted(errors_, "error"), ", ", skipped_, " skipped, ", counted(results_, "result"));
  if (latencies_.count() == 0) return text;
  text += "; latency";
  for (const double q : quantiles) text += str(q == quantiles.front() ? " p" : ", p", q * 100, " ", duration_text(latencies_.quantile(q)));
  return text;
}

std::string Counters::prometheus() const {
  std::string text;
  const auto count = [&](const char* name, const char* help, std::int64_t value) {
    text += described(name, "counter", help) + str(name, " ", value, "\n");
  };
  count("sinter_records_total", "Records read.", records_);
  count("sinter_record_errors_total", "Records answered by an error.", errors_);
  count("sinter_records_skipped_total", "Records that the model's conditions leave out.", skipped_);
  count("sinter_results_total", "Answers written.", results_);
  text += described("sinter_latency_seconds", "summary", "From when a record was read to when its answer was written.");
  for (const double q : quantiles) text += str("sinter_latency_seconds{quantile=\"", q, "\"} ", exact(latencies_.quantile(q)), "\n");
  text += str("sinter_latency_seconds_sum ", exact(latencies_.sum()), "\nsinter_latency_seconds_count ", latencies_.count(), "\n");
  text += described("sinter_score", "histogram", "Scores of the records that were scored.");
  std::int64_t below = 0;
  for (std::size_t i = 0; i < bounds_.size(); ++i) text += str("sinter_score_bucket{le=\"", exact(bounds_[i]), "\"} ", below += scores_[i], "\n");
  below += scores_.back();
  text += str("sinter_score_bucket{le=\"+Inf\"} ", below, "\nsinter_score_sum ", exact(score_sum_), "\nsinter_score_count ", below, "\n");
  for (const Gauge& gauge : gauges_) text += described(gauge.name, "gauge", gauge.help) + str(gauge.name, " ", exact(gauge.value), "\n");
  return text;
}

void Counters::write(const std::string& path) const {
  const std::string text = prometheus();
  runtime::AtomicFile file(path, runtime::Durability::unsynced);
  file.write(std::as_bytes(std::span(text)));
  file.commit();
}

}  // namespace sinter::serve
