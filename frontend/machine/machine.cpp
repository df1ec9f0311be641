#include "frontend/machine/machine.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "codegen/compile.h"
#include "frontend/compile/settings.h"
#include "frontend/machine/peak.h"
#include "ir/error.h"
#include "runtime/file/object_entry.h"
#include "runtime/memory_limits.h"
#include "runtime/team.h"

extern char** environ;

namespace sinter::machine {

namespace {

namespace fs = std::filesystem;

constexpr double most_seconds = 0.6;  ///< of each measurement

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

std::string processor_name(const std::string& files) {
  std::ifstream file(files + "/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (const std::size_t colon = line.find(": "); line.starts_with("model name") && colon != line.npos) return line.substr(colon + 2);
  return "unknown";
}

std::string level_of_processor() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("x86-64-v4")) return "x86-64-v4";
  if (__builtin_cpu_supports("x86-64-v3")) return "x86-64-v3";
  return __builtin_cpu_supports("x86-64-v2") ? "x86-64-v2" : "x86-64";
#else
  return "";
#endif
}

Threads threads(const std::string& files) {
  const runtime::Cores cores = runtime::cores(files);
  Threads result{.processors = cores.online, .affinity = cores.affinity, .quota = cores.quota, .omp = environment("OMP_NUM_THREADS")};
  result.used = std::min(result.omp.empty() ? cores.usable() : runtime::parse_thread_count(result.omp), runtime::max_threads);
  const bool by_quota = cores.quota && cores.quota < cores.affinity;
  result.why = !result.omp.empty()                     ? "OMP_NUM_THREADS"
               : by_quota                              ? "the CPU quota of the control group (cgroup)"
               : cores.affinity < cores.online         ? "the affinity mask (taskset)"
               : cores.usable() > runtime::max_threads ? "Sinter's largest team"
                                                       : "the number of processors";
  return result;
}

Memory memory(const std::string& files) {
  const runtime::MemoryLimits limits = runtime::memory_limits(files);
  return {limits.total, limits.available, limits.group.value_or(0), limits.group_used, limits.free()};
}

/// Why the folder of the cache could not be used; what ObjectCache refuses, without making it.
std::string problem_of(const std::string& folder, bool& exists) {
  struct stat status{};
  exists = ::lstat(folder.c_str(), &status) == 0;
  if (exists) {
    if (S_ISLNK(status.st_mode)) return "is a link";
    if (!S_ISDIR(status.st_mode)) return "is no folder";
    if (status.st_uid != ::geteuid()) return "belongs to another user";
    if (status.st_mode & 0022) return "can be written to by others";
    return ::access(folder.c_str(), W_OK | X_OK) == 0 ? "" : str("cannot be written to (", std::strerror(errno), ")");
  }
  fs::path parent = fs::path(folder).parent_path();
  std::error_code ignored;
  while (parent.has_relative_path() && !fs::exists(parent, ignored)) parent = parent.parent_path();
  return ::access(parent.c_str(), W_OK | X_OK) == 0 ? "" : str("cannot be made in ", parent.string(), " (", std::strerror(errno), ")");
}

Cache cache(const CacheSettings& settings) {
  Cache result{.folder = settings.folder, .problem = {}, .limit = settings.bytes};
  if (settings.folder.empty()) {
    result.problem =
        environment("SINTER_CACHE") == "off" ? "is switched off by SINTER_CACHE=off" : "has no place: neither HOME nor XDG_CACHE_HOME is set";
    return result;
  }
  result.problem = problem_of(result.folder, result.exists);
  std::error_code error;
  for (fs::directory_iterator entry(result.folder, error), end; !error && entry != end; entry.increment(error)) {
    if (!runtime::is_entry_name(entry->path().filename().string())) continue;
    std::error_code gone;
    const std::uintmax_t size = entry->file_size(gone);
    if (gone) continue;  // another process has swept it
    ++result.entries;
    result.bytes += size;
  }
  return result;
}

std::vector<Variable> variables() {
  std::vector<Variable> result;
  for (char** at = environ; at && *at; ++at) {
    const std::string text = *at, name = text.substr(0, text.find('='));
    if (name.size() == text.size() || name.size() + 1 == text.size()) continue;  // an empty one counts as unset
    const std::string meaning = meaning_of_variable(name);
    if (!meaning.empty() || name.starts_with("SINTER_")) result.push_back({name, text.substr(name.size() + 1), meaning});
  }
  std::sort(result.begin(), result.end(), [](const Variable& a, const Variable& b) { return a.name < b.name; });
  return result;
}

}  // namespace

Report examine(const Options& options) {
  const Settings set = settings();
  (void)effective_mode(Mode::graph);
  Report report;
  report.version = SINTER_VERSION;
  report.llvm = codegen::compiler_version();
  report.processor = processor_name(options.files);
  report.level = level_of_processor();
  try {
    report.target = codegen::target_text(set.target);
  } catch (const UserError& error) {
    report.target_problem = error.what();
  }
  report.threads = threads(options.files);
  report.memory = memory(options.files);
  report.cache = cache(set.cache);
  report.variables = variables();
  std::ifstream(options.files + "/proc/loadavg") >> report.figures.load;
  if (options.measure) {
    report.figures.one_thread = peak_gflops(1, most_seconds);
    report.figures.all_threads = report.threads.used > 1 ? peak_gflops(report.threads.used, most_seconds) : report.figures.one_thread;
    report.figures.memory = memory_gigabytes_per_second(report.threads.used, most_seconds);
  }
  return report;
}

}  // namespace sinter::machine
