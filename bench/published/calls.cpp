#include "bench/published/calls.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace sinter::published {

WithoutCache::WithoutCache() {
  if (const char* set = std::getenv("SINTER_CACHE")) before_ = set;
  ::setenv("SINTER_CACHE", "off", 1);
}

WithoutCache::~WithoutCache() {
  if (before_) ::setenv("SINTER_CACHE", before_->c_str(), 1);
  else ::unsetenv("SINTER_CACHE");
}

Calls::Calls(std::vector<double> seconds) : seconds_(std::move(seconds)) { std::sort(seconds_.begin(), seconds_.end()); }

double Calls::quantile(double share) const {
  const auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(seconds_.size())));
  return seconds_[std::max<std::size_t>(rank, 1) - 1];
}

Calls repeat(const std::function<void()>& call, double seconds, std::size_t least, std::size_t most) {
  call();
  std::vector<double> each;
  for (double sum = 0; each.size() < least || (each.size() < most && sum < seconds); sum += each.back()) each.push_back(seconds_of(call));
  return Calls(std::move(each));
}

void report_calls(Report& report, const std::string& row, const std::string& column, const Calls& calls, const std::string& note) {
  const std::string with_count = str(note, note.empty() ? "" : "; ", counted(calls.count(), "call"));
  report.cell(row + ", median", column, calls.quantile(0.5) * 1e6, "us", with_count);
  if (calls.count() >= 100) report.cell(row + ", 99th percentile", column, calls.quantile(0.99) * 1e6, "us", with_count);
  report.cell(row + ", slowest", column, calls.worst() * 1e6, "us", with_count);
}

}  // namespace sinter::published
