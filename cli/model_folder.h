// Model files that a running program writes one after another.
#pragma once

#include <sinter/sinter.h>

#include <cstdint>
#include <filesystem>
#include <string>

namespace sinter::cli {

/// A folder with the files of a model that goes on learning, numbered by its steps: checkpoint-000000000042.sinter. One process at a time.
class ModelFolder {
 public:
  /// Makes the folder if it is missing, and locks it. Throws UserError if that cannot be, or another process has it.
  explicit ModelFolder(std::string folder);
  ~ModelFolder();
  ModelFolder(const ModelFolder&) = delete;
  ModelFolder& operator=(const ModelFolder&) = delete;

  /// The newest file that can be loaded, or `first` if there is none. Damaged newer ones are renamed, with a warning.
  std::string newest_or(const std::string& first);
  /// The steps of that file, and of all that were written since.
  std::int64_t steps() const { return steps_; }
  /// Writes the model after `more` steps, whole or not at all; the newest three files stay. Its path.
  std::string write(Trainer& trainer, std::int64_t more);

 private:
  std::filesystem::path path_of(std::int64_t steps) const;
  void remove_old() const;

  std::string folder_;
  int lock_ = -1;
  std::int64_t steps_ = 0;
};

}  // namespace sinter::cli
