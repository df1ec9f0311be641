// An object cache in a folder of its own, for tests.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "ir/error.h"
#include "runtime/file/object_cache.h"
#include "runtime/file/object_entry.h"
#include "tests/runtime/helpers.h"
#include "tests/support/allocations.h"
#include "tests/support/bytes.h"
#include "tests/support/temporary_folder.h"

namespace sinter::test {

inline const ObjectKey key{"a graph", "x86-64-v3", "version 1"};
constexpr std::uint64_t large = 64 << 20;

class ObjectCacheTest : public testing::Test {
 protected:
  runtime::ObjectCache::Log log() {
    return [this](const std::string& line) { lines.push_back(line); };
  }
  std::optional<std::string> find(const ObjectKey& k = key) { return runtime::ObjectCache(folder, large, log()).find(k); }
  void keep(std::string_view code, const ObjectKey& k = key, std::uint64_t most = large) { runtime::ObjectCache(folder, most, log()).keep(k, code); }
  std::filesystem::path entry(const ObjectKey& k = key) const { return folder / runtime::entry_name(k); }
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& file : std::filesystem::directory_iterator(folder)) names.push_back(file.path().filename());
    std::sort(names.begin(), names.end());
    return names;
  }
  static void put(const std::filesystem::path& path, std::string_view bytes) {
    write_bytes(path, bytes);
    std::filesystem::permissions(path, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  }
  /// Sets the time of the last use of an entry, in seconds before now.
  static void age(const std::filesystem::path& path, std::time_t seconds) {
    const timespec time{std::time(nullptr) - seconds, 0}, times[2] = {time, time};
    ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0) << path;
  }
  /// The entry's file holds these bytes: it must not be believed, be removed and give way to a new one.
  void expect_rejected(std::string_view bytes, const std::string& reason) {
    put(entry(), bytes);
    lines.clear();
    const auto before = runtime::ObjectCache::statistics();
    {
      const AllocationLimit limit(1 << 20);  // whatever sizes it claims
      ASSERT_EQ(find(), std::nullopt) << reason;
      EXPECT_EQ(limit.refused(), 0) << reason;
    }
    const auto after = runtime::ObjectCache::statistics();
    EXPECT_EQ(after.rejected - before.rejected, 1u);
    EXPECT_EQ(after.misses - before.misses, 1u);
    EXPECT_EQ(after.hits, before.hits);
    ASSERT_THAT(lines, testing::ElementsAre(testing::HasSubstr(reason)));
    EXPECT_EQ(lines[0].find("object cache: " + entry().string()), 0u) << lines[0];
    EXPECT_FALSE(std::filesystem::exists(entry()));
    keep("the code");
    ASSERT_EQ(find(), "the code");
  }

  const TemporaryFolder parent;  ///< new each time: what is said once names it
  const std::filesystem::path folder = parent / "sinter";
  std::vector<std::string> lines;
};

inline ObjectKey numbered(int i) { return {str("graph ", i), key.target, key.version}; }

}  // namespace sinter::test
