#include "runtime/control_group.h"

#include <fstream>

namespace sinter::runtime {

namespace {

/// The path after "0::" (version 2), or of the line that has the controller; empty if there is none.
std::string path_of(const std::string& files, const std::string& controller) {
  std::ifstream groups(files + "/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const std::size_t first = line.find(':'), second = first == line.npos ? first : line.find(':', first + 1);
    if (second == line.npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    if (controller.empty() ? line.starts_with("0::") : controllers.find("," + controller + ",") != line.npos) return line.substr(second + 1);
  }
  return {};
}

/// `root` with a path in it, and each folder on the way back to the root.
std::vector<std::string> up_from(const std::string& root, std::string path) {
  std::vector<std::string> folders;
  for (; path.size() > 1 && path.find('/') != path.npos; path.resize(path.rfind('/'))) folders.push_back(root + path);
  folders.push_back(root);
  return folders;
}

}  // namespace

std::vector<std::string> control_groups(const std::string& files) { return up_from(files + "/sys/fs/cgroup", path_of(files, "")); }

std::vector<std::string> old_control_groups(const std::string& files, const std::string& controller) {
  return up_from(files + "/sys/fs/cgroup/" + controller, path_of(files, controller));
}

}  // namespace sinter::runtime
