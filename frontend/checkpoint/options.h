// Options for the checkpoints of a training run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace sinter {

/// What happens when a checkpoint cannot be written: the disk is full, the folder was made read-only. Those that are there stay whole either way.
enum class OnWriteError : std::uint8_t {
  warn,  ///< TrainerOptions::log, or else stderr, gets a line; training continues
  fail   ///< fit throws the error
};

/// Checkpoints of one call of Trainer::fit, in a folder of its own. If the folder has checkpoints, fit resumes from the newest undamaged one: the
/// same program, started again after it was killed at any moment, ends with the same bytes as if it had never been. To start over, remove the folder.
struct CheckpointOptions {
  std::string folder = {};       ///< made if it's missing; empty: no checkpoints
  std::int64_t every_steps = 0;  ///< also every `every_steps` steps; 0: only at the end of each epoch, at the end of fit and at an interrupt
  std::size_t keep = 3;          ///< the newest ones that stay, at least 1
  OnWriteError on_write_error = OnWriteError::warn;
};

/// The file of the newest checkpoint in a folder, whole or not; none if there is no folder or none in it.
std::optional<std::string> newest_checkpoint(const std::string& folder);

}  // namespace sinter
