#include "cli/model_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <vector>

#include "cli/words.h"

namespace sinter::cli {

namespace {

namespace fs = std::filesystem;
constexpr std::string_view prefix = "checkpoint-", suffix = ".sinter";
constexpr std::size_t kept = 3;

/// The steps of a checkpoint by its name, or -1.
std::int64_t steps_of(const std::string& name) {
  if (!name.starts_with(prefix) || !name.ends_with(suffix)) return -1;
  const char* const begin = name.data() + prefix.size();
  const char* const end = name.data() + name.size() - suffix.size();
  std::int64_t steps = -1;
  const auto [last, error] = std::from_chars(begin, end, steps);
  return error == std::errc{} && last == end ? steps : -1;
}

}  // namespace

ModelFolder::ModelFolder(std::string folder) : folder_(std::move(folder)) {
  std::error_code error;
  fs::create_directories(folder_, error);
  if (!error && ::access(folder_.c_str(), W_OK) != 0) error = {errno, std::generic_category()};
  lock_ = error ? -1 : ::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (lock_ < 0)
    throw UserError("--checkpoint", str("the folder ", printable(folder_),
                                        " cannot be used: ", (error ? error : std::error_code(errno, std::generic_category())).message(),
                                        "; choose one that is writable"));
  if (::flock(lock_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return;
  ::close(lock_);
  throw UserError("--checkpoint", str("another program writes models to ", printable(folder_), "; give each its own folder"));
}

ModelFolder::~ModelFolder() { ::close(lock_); }

fs::path ModelFolder::path_of(std::int64_t steps) const {
  std::array<char, 32> digits;
  std::snprintf(digits.data(), digits.size(), "%012lld", static_cast<long long>(steps));
  return fs::path(folder_) / (std::string(prefix) + digits.data() + std::string(suffix));
}

std::string ModelFolder::newest_or(const std::string& first) {
  while (const std::optional<std::string> newest = newest_checkpoint(folder_)) {
    steps_ = steps_of(fs::path(*newest).filename());
    try {
      (void)Trainer::load(*newest);
      return *newest;
    } catch (const UserError& error) {
      std::error_code failed;
      fs::rename(*newest, *newest + ".damaged", failed);
      if (failed) throw;
      warn_on_stderr(str(error.what(), "; it is set aside as .damaged"));
    }
  }
  steps_ = 0;
  return first;
}

std::string ModelFolder::write(Trainer& trainer, std::int64_t more) {
  steps_ += more;
  const fs::path path = path_of(steps_);
  trainer.save(path);
  remove_old();
  return path;
}

void ModelFolder::remove_old() const {
  std::vector<fs::path> files;
  std::error_code ignored;
  for (fs::directory_iterator at(folder_, ignored), end; !ignored && at != end; at.increment(ignored))
    if (steps_of(at->path().filename()) >= 0) files.push_back(at->path());
  std::sort(files.rbegin(), files.rend());
  for (std::size_t i = kept; i < files.size(); ++i) fs::remove(files[i], ignored);
}

}  // namespace sinter::cli
