// Modes, and the environment variables that the front end reads.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sinter {

enum class Mode { eager, graph };

/// Where the machine code of steps is kept between processes.
struct CacheSettings {
  std::string folder;       ///< $XDG_CACHE_HOME/sinter, else $HOME/.cache/sinter; "" for none: SINTER_CACHE=off, or neither of them is set
  std::uint64_t bytes = 0;  ///< at most; SINTER_CACHE_SIZE
};

/// Compile settings from the environment, read at each compile.
struct Settings {
  std::string dump_folder;           ///< SINTER_DUMP: graphs after each pass, schedule and machine code are written there
  std::string stop_after;            ///< SINTER_STOP_AFTER: last pass to run, to bisect
  std::vector<std::string> without;  ///< SINTER_WITHOUT: passes that are switched off, with commas between; those of StepOptions::without besides
  std::string target;                ///< SINTER_TARGET: "x86-64-v3" and the like instead of this machine's CPU
  std::string fault;                 ///< SINTER_FAULT: node of the optimized graph ("%7") whose result is perturbed, to prove that verify finds it
  std::string profile;               ///< SINTER_PROFILE: Chrome trace of the kernels of every step, written there when the process ends
  bool perf_map = false;             ///< SINTER_PERF_MAP=1: perf can name the kernels
  bool checked = false;              ///< SINTER_CHECKED=1: compiled steps check every access to memory, and that no two threads touch the same
  bool verify = false;               ///< SINTER_VERIFY=1: every compiled step is verified on the inputs of the call that made it
  CacheSettings cache = {};
};
/// Throws UserError for values that are not allowed.
Settings settings();

/// What an environment variable that Sinter heeds means, in one line; "" for another. docs/guide.md, "Environment", says more.
std::string meaning_of_variable(const std::string& name);
/// The names of all of those.
std::vector<std::string> known_variables();

/// The mode in force: SINTER_MODE ("eager" or "graph") wins over what the code asks for. Throws UserError for another value.
Mode effective_mode(Mode asked);

}  // namespace sinter
