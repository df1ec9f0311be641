#include "runtime/memory_limits.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>

#include "runtime/control_group.h"

namespace sinter::runtime {

namespace {

constexpr std::int64_t unlimited = std::int64_t{1} << 60;  // version 1 of control groups says "none" with a number near 2^63

/// Lines of a name and a number: "MemTotal:  16384 kB", "inactive_file 4096".
std::map<std::string, std::int64_t> numbers_in(const std::string& path) {
  std::map<std::string, std::int64_t> result;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const std::size_t end = line.find_first_of(": ");
    if (end == line.npos) continue;
    const bool kilo = line.ends_with(" kB");
    result[line.substr(0, end)] = std::strtoll(line.c_str() + end + 1, nullptr, 10) * (kilo ? 1024 : 1);
  }
  return result;
}

/// The number in a file; nothing for "max" or no file.
std::optional<std::int64_t> number_in(const std::string& path) {
  std::int64_t number = 0;
  return std::ifstream(path) >> number && number >= 0 && number < unlimited ? std::optional(number) : std::nullopt;
}

/// Takes the limit of a group if it is the lowest so far.
void add_group(MemoryLimits& limits, const std::string& folder, const char* most, const char* used, const char* droppable) {
  const std::optional<std::int64_t> limit = number_in(folder + "/" + most);
  if (!limit || (limits.group && *limits.group <= *limit)) return;
  limits.group = limit;
  limits.group_used = std::max<std::int64_t>(0, number_in(folder + "/" + used).value_or(0) - numbers_in(folder + "/memory.stat")[droppable]);
}

}  // namespace

std::int64_t MemoryLimits::most() const {
  return std::min({total ? total : unlimited, group.value_or(unlimited), address_space.value_or(unlimited)}) % unlimited;
}

std::string MemoryLimits::limit() const {
  if (group == most()) return "the control group (cgroup) of this process has";
  return address_space == most() ? "ulimit -v allows" : "this machine has";
}

std::int64_t MemoryLimits::free() const {
  const std::int64_t of_group = group ? *group - group_used : unlimited, of_process = address_space ? *address_space - address_space_used : unlimited;
  return std::max<std::int64_t>(0, std::min({total ? available : unlimited, of_group, of_process}));
}

MemoryLimits memory_limits(const std::string& files) {
  MemoryLimits limits;
  auto machine = numbers_in(files + "/proc/meminfo");
  limits.total = machine["MemTotal"] + machine["SwapTotal"];
  limits.available = machine["MemAvailable"] + machine["SwapFree"];
  for (const std::string& folder : control_groups(files)) add_group(limits, folder, "memory.max", "memory.current", "inactive_file");
  for (const std::string& folder : old_control_groups(files, "memory"))
    add_group(limits, folder, "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file");
  rlimit space{};
  if (getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY) {
    limits.address_space = static_cast<std::int64_t>(space.rlim_cur);
    limits.address_space_used = number_in("/proc/self/statm").value_or(0) * sysconf(_SC_PAGESIZE);
  }
  return limits;
}

}  // namespace sinter::runtime
