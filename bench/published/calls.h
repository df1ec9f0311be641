// How long calls take, one by one.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench/published/published.h"

namespace sinter::published {

/// While it lives, steps are compiled and not read from the cache on disk, so that the time to compile is that.
class WithoutCache {
 public:
  WithoutCache();
  ~WithoutCache();
  WithoutCache(const WithoutCache&) = delete;
  WithoutCache& operator=(const WithoutCache&) = delete;

 private:
  std::optional<std::string> before_;
};

/// Seconds of single calls, sorted.
class Calls {
 public:
  explicit Calls(std::vector<double> seconds);
  /// The value that a share in (0, 1] of the calls do not exceed, by the nearest rank.
  double quantile(double share) const;
  double worst() const { return seconds_.back(); }
  std::size_t count() const { return seconds_.size(); }

 private:
  std::vector<double> seconds_;
};

/// Calls for so many seconds, after one that is not counted, but at least `least` and at most `most` times.
Calls repeat(const std::function<void()>& call, double seconds, std::size_t least, std::size_t most);

/// Cells of their median, of the 99th percentile where there are at least 100 calls, and of the slowest, in rows that begin with `row`.
void report_calls(Report& report, const std::string& row, const std::string& column, const Calls& calls, const std::string& note = "");

}  // namespace sinter::published
