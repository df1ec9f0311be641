// How much memory this process may have.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace sinter::runtime {

/// In bytes.
struct MemoryLimits {
  std::int64_t total = 0;                     ///< of the machine: main memory and swap space; 0: not known
  std::int64_t available = 0;                 ///< of it, what programs could get now
  std::optional<std::int64_t> group;          ///< the lowest limit of this process's control groups
  std::int64_t group_used = 0;                ///< by all processes of the group that has it, without what the system can drop
  std::optional<std::int64_t> address_space;  ///< of this process: ulimit -v
  std::int64_t address_space_used = 0;

  /// The most that this process could ever have, and what stands in the way of more: "this machine has", "the control group (cgroup) of this process
  /// has", "ulimit -v allows". 0: not known.
  std::int64_t most() const;
  std::string limit() const;
  /// What it could get now, beyond what it has.
  std::int64_t free() const;
};

/// By /proc/meminfo, the control groups (memory.max, memory.limit_in_bytes) and the limits of the process. `files` is put before the paths, for
/// tests.
MemoryLimits memory_limits(const std::string& files = "");

}  // namespace sinter::runtime
