// The checkpoints of a run on disk: numbered files in a folder that one process at a time uses.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "frontend/checkpoint/options.h"
#include "runtime/file/container.h"

namespace sinter {

class CheckpointFolder {
 public:
  using Warn = std::function<void(const std::string&)>;
  /// Makes the folder if it's missing, locks it for this process until destroyed, and removes what a process that died while writing left. Warns
  /// where the file system has no locks, and uses it unlocked. Throws UserError if it cannot be made or written to, or another process has it.
  explicit CheckpointFolder(std::string folder, Warn warn = [](const std::string&) {});
  ~CheckpointFolder();
  CheckpointFolder(const CheckpointFolder&) = delete;
  CheckpointFolder& operator=(const CheckpointFolder&) = delete;

  struct Found {
    std::filesystem::path path;
    runtime::Archive archive;
  };
  /// The newest checkpoint that is whole; none if the folder has none. Damaged newer ones are renamed, with a warning. Throws
  /// UserError if all are damaged, and SystemError if one cannot be read for another reason: it may be whole, so it stays.
  std::optional<Found> newest() const;
  /// The file of the checkpoint after `step` steps.
  std::filesystem::path path_of(std::int64_t step) const;
  /// Writes it, whole or not at all, and then removes all but the `keep` newest; what cannot be removed is left for the next time. Throws UserError
  /// if it cannot be written.
  void write(std::int64_t step, const runtime::Archive& archive, std::size_t keep) const;

 private:
  std::string folder_;
  Warn warn_;
  int lock_ = -1;
};

}  // namespace sinter
