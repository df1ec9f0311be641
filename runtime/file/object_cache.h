// The object cache: machine code on disk, so that a program that ran before need not compile again.
//
// An entry is one file, written atomically, that holds its whole key: what was compiled, the CPU that it is for and the version of
// the code generator. Each is compared with what is asked for, and a checksum covers everything; the file name is not trusted. Code is run from a
// copy in memory of what was checked. docs/design.md describes what this protects from.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "ir/object_store.h"

namespace sinter::runtime {

/// Counts for this process. Each step that is looked up is a hit or a miss.
struct CacheStatistics {
  std::uint64_t hits = 0;      ///< steps whose code was found: they were not compiled
  std::uint64_t misses = 0;    ///< steps that were looked up and had to be compiled
  std::uint64_t written = 0;   ///< entries kept for later
  std::uint64_t rejected = 0;  ///< entries that were found but not valid; removed
  std::uint64_t swept = 0;     ///< entries removed because the cache was full
  bool operator==(const CacheStatistics&) const = default;
};

/// A folder of entries, which several processes and threads may use concurrently. Create one for each use: it holds the folder open.
class ObjectCache : public ObjectStore {
 public:
  using Log = std::function<void(const std::string&)>;

  /// Creates the folder, accessible to its owner only, if missing. A link, or one that others own or may write to, is not used, with one warning
  /// per process. `most_bytes`: of all entries together; a write beyond it removes those used least recently.
  ObjectCache(std::string folder, std::uint64_t most_bytes, Log log);
  ~ObjectCache() override;

  /// Why the folder cannot be used; "" if it can.
  const std::string& problem() const { return problem_; }

  /// An entry that is damaged, or is not what its name says, is removed with a line to the log.
  std::optional<std::string> find(const ObjectKey& key) override;
  /// Does nothing where it cannot (a full or read-only disk), with a line to the log once per process.
  void keep(const ObjectKey& key, std::string_view code) override;
  void reject(const ObjectKey& key, const std::string& why) override;

  static CacheStatistics statistics();

 private:
  std::string path_of(const std::string& name) const { return folder_ + "/" + name; }
  void say(const std::string& text) const;
  void say_once(const std::string& text) const;
  void discard(const std::string& name, const std::string& why) const;
  void sweep(std::uint64_t most_bytes, const std::string& just_written) const;

  std::string folder_, problem_;
  std::uint64_t most_bytes_;
  Log log_;
  int descriptor_ = -1;
};

}  // namespace sinter::runtime
