// The vector targets that this machine runs.
#pragma once

#include <gtest/gtest.h>

#include <iostream>
#include <string>
#include <vector>

namespace sinter::test {

/// Whether this CPU has what a level of the x86-64 ABI needs, asked without Sinter.
inline bool cpu_has(const std::string& level) {
#ifdef __x86_64__
  if (level == "x86-64-v3") return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (level == "x86-64-v4")
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
#endif
  return false;
}

/// The levels that steps can be compiled for, of those that this CPU has. One that it lacks is told on standard output and in the test's properties
/// ("skipped_targets"); a test that goes through these and gets an error has failed.
inline std::vector<std::string> runnable_targets() {
  std::vector<std::string> found;
  int skipped = 0;
  for (const char* level : {"x86-64-v3", "x86-64-v4"}) {
    if (cpu_has(level)) {
      found.emplace_back(level);
    } else {
      ++skipped;
      std::cout << "[  SKIPPED ] target " << level << ": this CPU lacks it\n";
    }
  }
  ::testing::Test::RecordProperty("skipped_targets", skipped);
  return found;
}

}  // namespace sinter::test
