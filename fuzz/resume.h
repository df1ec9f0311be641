// A small run of fit with checkpoints: the target goes on from what the fuzzer made of one.
#pragma once

#include <string>

#include "fuzz/target.h"

namespace sinter::fuzz {

/// Runs it with checkpoints after each step in the folder, all kept. Throws Finding if the run gives no results.
void fit_with_checkpoints(const std::string& folder);
/// The run finds the bytes as its checkpoint.
void resume_from(Bytes bytes);

/// A folder of its own, removed with all in it.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace sinter::fuzz
