// The control groups (cgroups) of this process, which limit its processors and memory.
#pragma once

#include <string>
#include <vector>

namespace sinter::runtime {

/// The folders of the group of version 2 that this process is in and of those that hold it, the innermost first; `files` is put before the paths, for
/// tests. In a container the last one, /sys/fs/cgroup, is the container's own.
std::vector<std::string> control_groups(const std::string& files);

/// Where the files of a controller of version 1 ("memory") may be: its folder for this process's group, and for all.
std::vector<std::string> old_control_groups(const std::string& files, const std::string& controller);

}  // namespace sinter::runtime
