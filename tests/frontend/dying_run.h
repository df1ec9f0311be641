// Runs that end as if their process died, and the files that they leave.
#pragma once

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/frontend/helpers.h"
#include "tests/soak/run.h"

namespace sinter::test {

struct Killed {};

/// Ends the run after a step, as if the process died there.
class DieAfter : public Callback {
 public:
  explicit DieAfter(std::int64_t step) : step_(step) {}
  void on_batch_end(Trainer&, std::int64_t step, double) override {
    if (step == step_) throw Killed();
  }

 private:
  std::int64_t step_;
};

/// Whether the run died.
inline bool dies(const RunOptions& options) {
  try {
    train(options);
    return false;
  } catch (const Killed&) {
    return true;
  }
}

inline std::vector<std::string> files_of(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace sinter::test
