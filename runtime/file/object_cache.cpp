#include "runtime/file/object_cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <tuple>
#include <vector>

#include "ir/error.h"
#include "runtime/file/disk.h"
#include "runtime/file/file_system.h"
#include "runtime/file/object_entry.h"

namespace sinter::runtime {

namespace {

/// The share of the bound that a sweep leaves free, and that is written before the next one: so folders are not listed at each write.
constexpr std::uint64_t sweep_part = 32;
/// The age from which a temporary file is abandoned.
constexpr std::time_t stale_seconds = 3600;

/// State that all caches of the process share.
struct Shared {
  std::atomic<std::uint64_t> hits{0}, misses{0}, written{0}, rejected{0}, swept{0};
  std::mutex mutex;                              ///< guards what follows
  std::set<std::string> said;                    ///< lines that were logged, each once
  std::map<std::string, std::uint64_t> unswept;  ///< bytes written since the last sweep, by folder; none before the first
};
Shared& shared() {
  static Shared* const instance = new Shared;  // never destroyed: steps may be compiled until the process ends
  return *instance;
}

/// Why a file or folder of this status must not be trusted; "" if it may: others can neither have created nor changed it.
std::string distrust(const struct stat& status) {
  if (status.st_uid != ::geteuid()) return "belongs to another user";
  if (status.st_mode & 0022) return "can be written to by others";
  return "";
}

std::string system_reason(int error) { return str(" (", std::strerror(error), ")"); }

/// A file descriptor that is closed at the end of the scope.
class Descriptor {
 public:
  explicit Descriptor(int descriptor) : descriptor_(descriptor) {}
  ~Descriptor() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  operator int() const { return descriptor_; }

 private:
  int descriptor_;
};

/// Opens the folder, creating it if needed; `problem` says why not. The parents need no check: who could replace this folder by another one
/// could only use one that the user owns, and entries are not trusted by name.
int open_folder(const std::string& folder, std::string& problem) {
  int error = FileSystem::current().make_folder(std::filesystem::path(folder).parent_path());
  if (!error && ::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) error = errno;
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (descriptor < 0) {
    if (!error) error = errno;
    std::error_code ignored;
    problem = std::filesystem::is_symlink(folder, ignored) ? "is a link" : "cannot be made or opened" + system_reason(error);
    return -1;
  }
  struct stat status{};
  problem = ::fstat(descriptor, &status) == 0 ? distrust(status) : "cannot be looked at" + system_reason(errno);
  if (problem.empty()) return descriptor;
  ::close(descriptor);
  return -1;
}

}  // namespace

ObjectCache::ObjectCache(std::string folder, std::uint64_t most_bytes, Log log)
    : folder_(std::move(folder)), most_bytes_(most_bytes), log_(std::move(log)), descriptor_(open_folder(folder_, problem_)) {
  if (!problem_.empty())
    say_once(str("object cache: the folder ", folder_, " ", problem_, ", so it is not used and steps are compiled in each process"));
}

ObjectCache::~ObjectCache() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void ObjectCache::say(const std::string& text) const {
  if (log_) log_(text);
}

void ObjectCache::say_once(const std::string& text) const {
  if (!log_) return;  // not marked as logged, so that a later log gets it
  {
    const std::lock_guard lock(shared().mutex);
    if (!shared().said.insert(text).second) return;
  }
  log_(text);
}

void ObjectCache::discard(const std::string& name, const std::string& why) const {
  ++shared().rejected;
  FileSystem::current().remove(path_of(name));
  say(str("object cache: ", path_of(name), " ", why, "; it is removed and the step compiled again"));
}

std::optional<std::string> ObjectCache::find(const ObjectKey& key) {
  if (descriptor_ < 0) return std::nullopt;
  const std::string name = entry_name(key);
  const Descriptor file(::openat(descriptor_, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  EntryContent content;
  struct stat status{};
  if (file < 0) {
    if (errno == ELOOP) content.problem = "is a link";
  } else if (::fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) {
    content.problem = "is no file";
  } else if (content.problem = distrust(status); content.problem.empty()) {
    content = read_entry(file, key);
  }
  if (file < 0 || !content.problem.empty()) {
    if (!content.problem.empty()) discard(name, content.problem);
    ++shared().misses;
    return std::nullopt;
  }
  (void)::futimens(file, nullptr);  // time of the last use, for sweeps: the system's access times may be disabled
  ++shared().hits;
  return std::move(content.code);
}

void ObjectCache::reject(const ObjectKey& key, const std::string& why) {
  --shared().hits;
  ++shared().misses;
  discard(entry_name(key), str("is of no use: ", why));
}

void ObjectCache::keep(const ObjectKey& key, std::string_view code) {
  if (descriptor_ < 0) return;
  const std::string entry = to_entry(key, code), name = entry_name(key);
  const std::uint64_t most = std::min(max_entry_bytes, most_bytes_);
  if (entry.size() > most) {
    say_once(str("object cache: the code of a step takes ", entry.size(), " bytes and is not kept in ", folder_, ", as at most ", most,
                 " are; a larger SINTER_CACHE_SIZE allows up to ", max_entry_bytes));
    return;
  }
  try {
    AtomicFile file(path_of(name), Durability::unsynced, 0600);
    file.write(std::as_bytes(std::span(entry)));
    file.commit();
  } catch (const UserError& error) {
    say_once(str("object cache: the folder ", folder_, " keeps no more code: ", error.what()));
    return;
  }
  ++shared().written;
  const std::uint64_t part = most_bytes_ / sweep_part;
  {
    const std::lock_guard lock(shared().mutex);
    const auto [at, first] = shared().unswept.try_emplace(folder_, part);
    if (!first) at->second += entry.size();
    if (at->second < part) return;
    at->second = 0;
  }
  sweep(most_bytes_ - part, name);
}

void ObjectCache::sweep(std::uint64_t most_bytes, const std::string& just_written) const {
  // A separate open file description: its lock excludes other threads too, and its position in the folder is separate.
  const int own = ::openat(descriptor_, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (own < 0) return;
  if (::flock(own, LOCK_EX | LOCK_NB) != 0) {  // another sweep is running
    ::close(own);
    return;
  }
  const std::unique_ptr<DIR, int (*)(DIR*)> listing(::fdopendir(own), ::closedir);
  if (!listing) {
    ::close(own);
    return;
  }
  struct Entry {
    timespec used;
    std::string name;
    std::uint64_t bytes;
  };
  std::vector<Entry> entries;
  std::uint64_t total = 0;
  const std::time_t now = std::time(nullptr);
  while (const dirent* item = ::readdir(listing.get())) {
    const std::string name = item->d_name;
    const std::size_t infix = name.find(temporary_infix);
    struct stat status{};
    if (!is_entry_name(name.substr(0, infix)) || ::fstatat(own, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (infix == std::string::npos) {
      total += static_cast<std::uint64_t>(status.st_size);
      if (name != just_written) entries.push_back({status.st_mtim, name, static_cast<std::uint64_t>(status.st_size)});
    } else if (now - status.st_mtim.tv_sec > stale_seconds) {
      FileSystem::current().remove(path_of(name));
    }
  }
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::tie(a.used.tv_sec, a.used.tv_nsec, a.name) < std::tie(b.used.tv_sec, b.used.tv_nsec, b.name);
  });
  for (const Entry& entry : entries) {
    if (total <= most_bytes) break;
    if (FileSystem::current().remove(path_of(entry.name)) != 0) continue;
    total -= entry.bytes;
    ++shared().swept;
  }
}

CacheStatistics ObjectCache::statistics() {
  const Shared& s = shared();
  return {s.hits, s.misses, s.written, s.rejected, s.swept};
}

}  // namespace sinter::runtime
