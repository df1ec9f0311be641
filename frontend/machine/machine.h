// What Sinter finds on this machine: processor, threads, memory, cache, settings; and what stands in its way.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

namespace sinter::machine {

struct Threads {
  int processors = 1;    ///< of the machine
  int affinity = 1;      ///< of them, those that this process may run on (taskset)
  int quota = 0;         ///< whole processors by the CPU quota of its control groups; 0: none
  std::string omp = {};  ///< OMP_NUM_THREADS
  int used = 1;          ///< the most that a step uses by default
  /// What decides that: "OMP_NUM_THREADS", "the CPU quota of the control group (cgroup)", "the affinity mask (taskset)", "the number of processors".
  std::string why = {};
};

/// In bytes.
struct Memory {
  std::int64_t total = 0, available = 0;   ///< of the machine, with swap space; 0: not known
  std::int64_t group = 0, group_used = 0;  ///< the limit of this process's control groups, and what the group has; 0: none
  std::int64_t free = 0;                   ///< what this process could get now
};

/// Of machine code (docs/guide.md, "Object cache").
struct Cache {
  std::string folder;   ///< "": none
  std::string problem;  ///< why it is not used; "": it is
  bool exists = false;
  std::int64_t entries = 0;
  std::uint64_t bytes = 0, limit = 0;  ///< of all entries, and the most that they may have
};

/// An environment variable that is set.
struct Variable {
  std::string name, value, meaning;
};

struct Figures {
  double one_thread = 0, all_threads = 0;  ///< GFLOP/s of f32 multiply-adds from registers; see peak.h
  double memory = 0;                       ///< GB/s on all threads
  double load = 0;                         ///< programs that ran or waited for a processor, on average over the last minute, before measuring
};

struct Report {
  std::string version;              ///< of Sinter
  std::string llvm;                 ///< of the code generator; "": this build has none
  std::string processor;            ///< "AMD EPYC 9R14"
  std::string level;                ///< of the x86-64 ABI: "x86-64-v3"; "" on other machines
  std::string target;               ///< what steps are compiled for: CPU and vector features
  std::string target_problem = {};  ///< why steps cannot be compiled; "": they can
  Threads threads;
  Memory memory;
  Cache cache;
  std::vector<Variable> variables;  ///< those of Sinter, and OMP_NUM_THREADS and XDG_CACHE_HOME
  Figures figures;                  ///< 0 where nothing was measured
};

struct Options {
  bool measure = true;     ///< about a second
  std::string files = {};  ///< put before the paths of system files, for tests
};

/// Looks at the machine and changes nothing: no folder is made. Throws UserError for environment variables with values that are not allowed.
Report examine(const Options& options = {});

/// What is wrong or slow, and what to do about it: one line each.
std::vector<std::string> warnings(const Report& report);

/// Lines of a name and what was found, then the warnings.
std::ostream& operator<<(std::ostream& out, const Report& report);
/// The same as a JSON object: the members of Report by name, and "warnings".
std::string to_json(const Report& report);

}  // namespace sinter::machine
