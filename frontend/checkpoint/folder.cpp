#include "frontend/checkpoint/folder.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "ir/error.h"
#include "runtime/file/disk.h"
#include "runtime/file/file_system.h"

namespace sinter {

namespace {

namespace fs = std::filesystem;
using runtime::FileSystem;

const std::string prefix = "checkpoint-", suffix = ".sinter";
constexpr std::size_t digits = 12;

/// checkpoint-000000000042.sinter
bool is_checkpoint(const std::string& name) {
  if (name.size() != prefix.size() + digits + suffix.size() || !name.starts_with(prefix) || !name.ends_with(suffix)) return false;
  const std::string number = name.substr(prefix.size(), digits);
  return std::all_of(number.begin(), number.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// A temporary file of AtomicFile.
bool is_temporary(const std::string& name) {
  const std::size_t at = name.find(suffix + std::string(runtime::temporary_infix));
  return at != std::string::npos && is_checkpoint(name.substr(0, at + suffix.size()));
}

/// The names in a folder that `wanted` accepts, last first: numbers have as many digits, so the newest checkpoint is the first.
std::vector<std::string> names(const std::string& folder, bool (*wanted)(const std::string&)) {
  std::vector<std::string> result;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    if (wanted(at->path().filename())) result.push_back(at->path().filename());
  if (error && error != std::errc::no_such_file_or_directory)
    throw UserError(folder, str("cannot read the folder of checkpoints: ", error.message(), "; check its permissions"));
  std::sort(result.rbegin(), result.rend());
  return result;
}

}  // namespace

std::optional<std::string> newest_checkpoint(const std::string& folder) {
  const std::vector<std::string> all = names(folder, is_checkpoint);
  return all.empty() ? std::nullopt : std::optional((fs::path(folder) / all.front()).string());
}

CheckpointFolder::CheckpointFolder(std::string folder, Warn warn) : folder_(std::move(folder)), warn_(std::move(warn)) {
  FileSystem& system = FileSystem::current();
  const auto require = [&](const char* what, int error) {
    if (error)
      throw UserError(folder_, str("cannot ", what, " the folder of checkpoints: ", std::strerror(error), "; choose a folder that is writable"));
  };
  require("make", system.make_folder(folder_));
  const int locked = system.lock_folder(folder_, lock_);
  require("open", lock_ < 0 ? locked : 0);
  try {
    if (locked == EWOULDBLOCK)
      throw UserError(folder_, "another run writes checkpoints to this folder; wait for it, or give each run its own folder");
    if (locked) warn_(str("[", folder_, "] cannot be locked (", std::strerror(locked), "); take care that no other run writes checkpoints to it"));
    for (const std::string& name : names(folder_, is_temporary)) system.remove((fs::path(folder_) / name).string());
    // Checks that it can be written to now rather than after an epoch.
    const std::string probe = str(path_of(0).string(), runtime::temporary_infix, ::getpid());
    int descriptor = -1;
    require("write to", system.create(probe, 0600, descriptor));
    const int closed = system.close(descriptor);
    system.remove(probe);
    require("write to", closed);
  } catch (...) {
    ::close(lock_);
    throw;
  }
}

CheckpointFolder::~CheckpointFolder() { ::close(lock_); }

std::optional<CheckpointFolder::Found> CheckpointFolder::newest() const {
  const std::vector<std::string> all = names(folder_, is_checkpoint);
  std::string problems;
  std::vector<fs::path> damaged;
  for (const std::string& name : all) {
    const fs::path path = fs::path(folder_) / name;
    try {
      Found found{path, runtime::load(path)};
      bool renamed = true;
      for (const fs::path& other : damaged) renamed = FileSystem::current().rename(other.string(), other.string() + ".damaged") == 0 && renamed;
      const char* fate = renamed ? "set aside as .damaged" : "left in place, as it cannot be renamed";
      if (!damaged.empty()) warn_(str(problems, fate, ", training resumes from ", path.string()));
      return found;
    } catch (const runtime::SystemError&) {
      throw;
    } catch (const UserError& error) {
      problems += str(error.what(), "; ");
      damaged.push_back(path);
    }
  }
  if (damaged.empty()) return std::nullopt;
  throw UserError(folder_, str("none of the ", damaged.size(), " checkpoints can be read (", problems, "); remove the folder to start over"));
}

fs::path CheckpointFolder::path_of(std::int64_t step) const {
  const std::string number = std::to_string(step);
  return fs::path(folder_) / (prefix + std::string(digits - std::min(digits, number.size()), '0') + number + suffix);
}

void CheckpointFolder::write(std::int64_t step, const runtime::Archive& archive, std::size_t keep) const {
  runtime::save(path_of(step), archive);
  const std::vector<std::string> all = names(folder_, is_checkpoint);
  for (std::size_t i = keep; i < all.size(); ++i) FileSystem::current().remove((fs::path(folder_) / all[i]).string());
}

}  // namespace sinter
