// The number of threads that this process may use.
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <optional>
#include <string>

#include "ir/error.h"
#include "runtime/control_group.h"
#include "runtime/team.h"

namespace sinter::runtime {

namespace {

constexpr int unlimited_threads = std::numeric_limits<int>::max();

int whole_cores(double quota, double period) { return quota > 0 && period > 0 ? std::max(1, static_cast<int>(quota / period)) : unlimited_threads; }

/// "max 100000" or "150000 100000" (cgroup v2).
int read_cpu_max(const std::string& path) {
  std::ifstream file(path);
  std::string quota;
  double period = 0;
  if (!(file >> quota >> period) || quota == "max") return unlimited_threads;
  return whole_cores(std::strtod(quota.c_str(), nullptr), period);
}

int read_v1_quota(const std::string& folder) {
  double quota = 0, period = 0;
  if (!(std::ifstream(folder + "/cpu.cfs_quota_us") >> quota) || !(std::ifstream(folder + "/cpu.cfs_period_us") >> period)) return unlimited_threads;
  return whole_cores(quota, period);
}

/// The smallest quota of this process's control group and the groups that hold it.
int cgroup_cores(const std::string& files) {
  const std::string root = files + "/sys/fs/cgroup";
  int cores = std::min(read_v1_quota(root + "/cpu"), read_v1_quota(root + "/cpu,cpuacct"));
  for (const std::string& folder : control_groups(files)) cores = std::min(cores, read_cpu_max(folder + "/cpu.max"));
  return cores;
}

int affinity_cores() {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 ? std::max(1, CPU_COUNT(&set)) : 1;
}

}  // namespace

int parse_thread_count(std::string_view text) {
  std::string_view first = text.substr(0, text.find(','));
  while (first.starts_with(' ')) first.remove_prefix(1);
  while (first.ends_with(' ')) first.remove_suffix(1);
  int count = 0;
  const auto [end, error] = std::from_chars(first.data(), first.data() + first.size(), count);
  if (error != std::errc{} || end != first.data() + first.size() || count < 1)
    throw UserError("OMP_NUM_THREADS", str("must be a number of threads of at least 1, got '", text, "'; unset it to use all cores"));
  return std::min(count, max_threads);
}

Cores cores(const std::string& files) {
  const int quota = cgroup_cores(files);
  return {static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)), affinity_cores(), quota == unlimited_threads ? 0 : quota};
}

int available_cores(const std::string& files) { return cores(files).usable(); }

int default_threads() {
  static const int count = [] {
    if (const char* text = std::getenv("OMP_NUM_THREADS"); text && *text) return parse_thread_count(text);
    return std::min(available_cores(), max_threads);
  }();
  return count;
}

}  // namespace sinter::runtime
