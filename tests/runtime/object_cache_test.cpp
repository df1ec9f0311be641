// The object cache on its own: what it gives back is what was kept under the same key, or nothing, whatever happens to its folder.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <functional>

#include <gmock/gmock.h>

#include "ir/error.h"
#include "runtime/file/object_entry.h"
#include "tests/runtime/object_cache.h"
#include "tests/support/faulty_files.h"

namespace sinter::test::object_cache_test {
namespace {

namespace fs = std::filesystem;
using runtime::ObjectCache;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Call = FaultyFiles::Call;

TEST_F(ObjectCacheTest, GivesBackWhatWasKeptAndCounts) {
  const auto before = ObjectCache::statistics();
  EXPECT_EQ(find(), std::nullopt);
  keep(std::string_view("co\0de", 5));
  EXPECT_EQ(find(), std::string("co\0de", 5));
  keep("newer code");
  EXPECT_EQ(find(), "newer code");
  const auto after = ObjectCache::statistics();
  EXPECT_EQ(after.hits - before.hits, 2u);
  EXPECT_EQ(after.misses - before.misses, 1u);
  EXPECT_EQ(after.written - before.written, 2u);
  EXPECT_EQ(after.rejected, before.rejected);
  EXPECT_THAT(lines, IsEmpty());
}

TEST_F(ObjectCacheTest, AllOfTheKeyMatters) {
  keep("the code");
  for (const ObjectKey& other : {ObjectKey{"b graph", key.target, key.version}, ObjectKey{key.source, "x86-64-v4", key.version},
                                 ObjectKey{key.source, key.target, "version 2"}, ObjectKey{key.source + key.target, "", key.version}}) {
    EXPECT_NE(entry(other), entry());
    EXPECT_EQ(find(other), std::nullopt);
  }
  EXPECT_THAT(lines, IsEmpty());
}

TEST_F(ObjectCacheTest, IsForItsOwnerAloneWhateverTheUmask) {
  const mode_t mask = ::umask(0);
  keep("the code");
  ::umask(mask);
  EXPECT_EQ(fs::status(folder).permissions(), fs::perms::owner_all);
  EXPECT_EQ(fs::status(entry()).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_EQ(find(), "the code");
}

// ---- entries that must not be believed ----

TEST_F(ObjectCacheTest, AForgedKeyIsNeverBelieved) {
  keep("the code");
  const ObjectKey other_cpu{key.source, "x86-64-v4", key.version}, other_version{key.source, key.target, "version 2"},
      other_step{"b graph", key.target, key.version};
  expect_rejected(runtime::to_entry(other_cpu, "evil"), "is for another CPU, 'x86-64-v4'");
  expect_rejected(runtime::to_entry(other_version, "evil"), "is by another version, 'version 2'");
  expect_rejected(runtime::to_entry(other_step, "evil"), "is of another step");
  expect_rejected(runtime::to_entry({"a graphx86", "-64-v3", key.version}, "evil"), "is for another CPU, '-64-v3'");
}

TEST_F(ObjectCacheTest, EveryFlippedBitIsFound) {
  keep("the code");
  const std::string good = runtime::to_entry(key, "the code");
  for (std::size_t i = 0; i < good.size(); ++i)
    for (int bit = 0; bit < 8; ++bit) {
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ (1 << bit));
      expect_rejected(bad, "; it is removed and the step compiled again");
    }
}

TEST_F(ObjectCacheTest, EveryTruncationIsFound) {
  keep("the code");
  const std::string good = runtime::to_entry(key, "the code");
  for (std::size_t size = 0; size < good.size(); ++size) expect_rejected(good.substr(0, size), "is cut short");
  expect_rejected(good + "x", "has 1 bytes too many");
}

TEST_F(ObjectCacheTest, EachDamageHasItsMessage) {
  keep("the code");
  const std::string good = runtime::to_entry(key, "the code");
  const auto with = [&](std::size_t offset, std::uint64_t value, std::size_t bytes = 8) {
    std::string bad = good;
    std::memcpy(bad.data() + offset, &value, bytes);
    return bad;
  };
  expect_rejected(std::string(good.size(), 'x'), "is no entry of the cache");
  expect_rejected(with(8, 2, 4), "has format 2, not 1");
  expect_rejected(with(good.size() - 1, 'x', 1), "has a wrong checksum");
  for (const std::size_t part : {16, 24, 32, 40}) {
    expect_rejected(with(part, std::uint64_t{1} << 30), "is cut short");
    expect_rejected(with(part, ~std::uint64_t{0}), "is cut short");  // sums that wrap round
  }
  std::string sparse = good;
  put(entry(), sparse);
  fs::resize_file(entry(), runtime::max_entry_bytes + 1);
  lines.clear();
  EXPECT_EQ(find(), std::nullopt);
  EXPECT_THAT(lines, ElementsAre(HasSubstr("has 67108865 bytes, more than any entry")));
}

TEST_F(ObjectCacheTest, FilesThatOthersMayHaveMadeAreNotUsed) {
  const auto expect_unused = [&](const std::string& reason) {
    lines.clear();
    EXPECT_EQ(find(), std::nullopt) << reason;
    EXPECT_THAT(lines, ElementsAre(HasSubstr(reason)));
    EXPECT_FALSE(fs::exists(fs::symlink_status(entry())));
    keep("the code");
    EXPECT_EQ(find(), "the code");
  };
  keep("the code");
  fs::permissions(entry(), fs::perms::group_write, fs::perm_options::add);
  expect_unused("can be written to by others");
  fs::permissions(entry(), fs::perms::others_write, fs::perm_options::add);
  expect_unused("can be written to by others");
  fs::rename(entry(), parent / "elsewhere");
  fs::create_symlink(parent / "elsewhere", entry());
  expect_unused("is a link");
  fs::remove(entry());
  ASSERT_EQ(::mkfifo(entry().c_str(), 0600), 0);
  expect_unused("is no file");
  if (::geteuid() == 0) {
    ASSERT_EQ(::chown(entry().c_str(), 12345, 12345), 0);
    expect_unused("belongs to another user");
  }
  fs::remove(entry());
  fs::create_directory(entry());
  lines.clear();
  EXPECT_EQ(find(), std::nullopt);
  keep("the code");  // cannot take its place
  EXPECT_THAT(lines, ElementsAre(HasSubstr("is no file"), HasSubstr("keeps no more code")));
}

TEST_F(ObjectCacheTest, AFolderThatOthersMayHaveMadeIsNotUsedAndThatIsSaidOnce) {
  const auto expect_unused = [&](const std::string& reason) {
    lines.clear();
    EXPECT_EQ(find(), std::nullopt);
    keep("other code");
    EXPECT_EQ(ObjectCache(folder, large, {}).problem(), reason);
    EXPECT_THAT(lines, ElementsAre(HasSubstr(reason + ", so it is not used and steps are compiled in each process")));
  };
  keep("the code");
  fs::permissions(folder, fs::perms::group_write, fs::perm_options::add);
  expect_unused("can be written to by others");
  fs::permissions(folder, fs::perms::owner_all);
  fs::rename(folder, parent / "elsewhere");
  fs::create_directory_symlink(parent / "elsewhere", folder);
  expect_unused("is a link");
  fs::remove(folder);
  put(folder, "a file");
  expect_unused("cannot be made or opened (Not a directory)");
  fs::remove(folder);
  fs::rename(parent / "elsewhere", folder);
  EXPECT_EQ(find(), "the code") << "nothing was removed or written meanwhile";
  if (::geteuid() == 0) {
    ASSERT_EQ(::chown(folder.c_str(), 12345, 12345), 0);
    expect_unused("belongs to another user");
  }
}

// ---- disks ----

TEST_F(ObjectCacheTest, AFailingDiskLosesOnlyTheSpeedUp) {
  keep("the code");
  const ObjectKey other{"b graph", key.target, key.version};
  for (const Call fault : {Call::create, Call::write, Call::close, Call::rename})
    for (const int error : {ENOSPC, EROFS, EACCES, EIO}) {
      const auto before = ObjectCache::statistics();
      const FailingFiles disk([&](Call call, std::size_t) { return call == fault ? error : 0; });
      keep("more code", other);
      EXPECT_EQ(find(other), std::nullopt);
      EXPECT_EQ(find(), "the code");
      EXPECT_EQ(ObjectCache::statistics().written, before.written);
    }
  EXPECT_THAT(files(), ElementsAre(entry().filename().string())) << "no leftovers";
  const auto said = [&](const char* text) {
    return std::count_if(lines.begin(), lines.end(), [&](const auto& l) { return l.find(text) != l.npos; });
  };
  EXPECT_EQ(said("keeps no more code"), 4 * 4 - 4) << "close and rename fail alike, and each line is said once";
  EXPECT_EQ(said("failed to create it (Read-only file system)"), 1);
  keep("more code", other);
  EXPECT_EQ(find(other), "more code");
}

TEST_F(ObjectCacheTest, AFolderThatCannotBeMadeIsNotUsed) {
  const FailingFiles disk([](Call call, std::size_t) { return call == Call::make_folder ? EROFS : 0; });
  EXPECT_EQ(find(), std::nullopt);
  keep("the code");
  EXPECT_THAT(lines, ElementsAre(HasSubstr("cannot be made or opened (Read-only file system)")));
}

TEST_F(ObjectCacheTest, AFullDiskAndShortWrites) {
  {
    const SmallDisk disk(50, 7);
    keep("the code");
    EXPECT_EQ(find(), std::nullopt);
  }
  EXPECT_THAT(files(), IsEmpty());
  const SmallDisk disk(1000, 7);
  keep("the code");
  EXPECT_EQ(find(), "the code");
}

TEST_F(ObjectCacheTest, ADamagedEntryOnAReadOnlyDiskIsRefusedEachTime) {
  keep("the code");
  put(entry(), "damaged");
  const FailingFiles disk([](Call call, std::size_t) { return call == Call::make_folder ? 0 : EROFS; });
  EXPECT_EQ(find(), std::nullopt);
  EXPECT_EQ(find(), std::nullopt);
  EXPECT_THAT(lines, ElementsAre(HasSubstr("is cut short"), HasSubstr("is cut short")));
}

/// Runs f in a process of its own; returns how it ended.
int in_child(const std::function<void()>& f) {
  const pid_t child = ::fork();
  if (child == 0) {
    f();
    ::_exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return status;
}

TEST_F(ObjectCacheTest, AProcessKilledAtAnyCallLeavesTheOldEntryOrTheNewOne) {
  keep("the old code");
  bool killed = true;
  std::size_t leftovers = 0;
  for (std::size_t call = 1; killed; ++call) {
    const int status = in_child([&] {
      const KillAt disk(call);
      keep("the new code");
    });
    killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    EXPECT_THAT(find(), testing::AnyOf("the old code", "the new code")) << call;
    leftovers = std::max(leftovers, files().size() - 1);
    ASSERT_LT(call, 100u);
  }
  EXPECT_EQ(find(), "the new code");
  ASSERT_GT(leftovers, 0u) << "a process killed while it writes leaves a temporary file";
  for (const std::string& name : files()) age(folder / name, 2 * 3600);
  keep("the newest code", key, 1000);  // so little room that each write sweeps
  EXPECT_THAT(files(), ElementsAre(entry().filename().string()));
  EXPECT_EQ(find(), "the newest code");
}

// ---- size ----

TEST_F(ObjectCacheTest, WhatWasUsedLeastRecentlyGoesFirst) {
  constexpr std::uint64_t bytes = 4096, most = 16 * bytes;
  const std::string code(bytes - runtime::to_entry(numbered(10), "").size(), 'c');
  const auto before = ObjectCache::statistics();
  for (int i = 10; i < 24; ++i) {
    keep(code, numbered(i), most);
    age(entry(numbered(i)), 1000 - i);  // 10 is the oldest
  }
  put(folder / "notes.txt", std::string(10 * bytes, 'n'));  // not the cache's
  EXPECT_EQ(find(numbered(10)), code);                      // is used now, so 11 is the oldest
  for (int i = 24; i < 40; ++i) {
    keep(code, numbered(i), most);
    EXPECT_TRUE(fs::exists(entry(numbered(i)))) << "what was just written stays";
    if (i < 39) age(entry(numbered(i)), 1000 - i);
    EXPECT_LE(files().size() - 1, 16u) << "never more than the bound";
  }
  const auto after = ObjectCache::statistics();
  EXPECT_GE(after.swept - before.swept, 14u);
  EXPECT_EQ(after.written - before.written - (after.swept - before.swept), files().size() - 1);
  EXPECT_TRUE(fs::exists(entry(numbered(10))));
  EXPECT_FALSE(fs::exists(entry(numbered(11))));
  for (int i = 26; i < 40; ++i) EXPECT_TRUE(fs::exists(entry(numbered(i)))) << i;
  EXPECT_TRUE(fs::exists(folder / "notes.txt"));
}

TEST_F(ObjectCacheTest, WhatFitsNoCacheIsNotKept) {
  const std::string code(2 << 20, 'c');
  keep(code, key, 1 << 20);
  keep(code, key, 1 << 20);
  EXPECT_EQ(find(), std::nullopt);
  EXPECT_THAT(lines, ElementsAre(HasSubstr("as at most 1048576 are; a larger SINTER_CACHE_SIZE")));
}

}  // namespace
}  // namespace sinter::test::object_cache_test
