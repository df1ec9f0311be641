// The environment variables that Sinter heeds, and what they mean.
#include <array>
#include <utility>

#include "frontend/compile/settings.h"

namespace sinter {

namespace {

constexpr std::array<std::pair<const char*, const char*>, 14> variables{{
    {"SINTER_MODE", "eager or graph, whatever the program says"},
    {"SINTER_DUMP", "folder for graphs, schedule and machine code of each step"},
    {"SINTER_STOP_AFTER", "the last pass that is run"},
    {"SINTER_WITHOUT", "passes that are not run, with commas between"},
    {"SINTER_TARGET", "the level that code is generated for, instead of this CPU"},
    {"SINTER_FAULT", "a node whose result is perturbed, to see that verify names it"},
    {"SINTER_VERIFY", "1: every step is verified when it is compiled, which takes time"},
    {"SINTER_CHECKED", "1: steps check every access to memory, and are several times slower"},
    {"SINTER_PERF_MAP", "1: perf can name the kernels"},
    {"SINTER_PROFILE", "file for a Chrome trace of every kernel call"},
    {"SINTER_CACHE", "off: no object cache"},
    {"SINTER_CACHE_SIZE", "the largest size of the object cache"},
    {"OMP_NUM_THREADS", "the most threads of a step"},
    {"XDG_CACHE_HOME", "folder that the object cache is in"},
}};

}  // namespace

std::string meaning_of_variable(const std::string& name) {
  for (const auto& [known, meaning] : variables)
    if (name == known) return meaning;
  return {};
}

std::vector<std::string> known_variables() {
  std::vector<std::string> names;
  for (const auto& [name, meaning] : variables) names.emplace_back(name);
  return names;
}

}  // namespace sinter
