// The object cache used by many processes and threads at once.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <random>
#include <thread>

#include "tests/runtime/object_cache.h"

namespace sinter::test::object_cache_sharing_test {
namespace {

namespace fs = std::filesystem;
using runtime::ObjectCache;
using testing::IsEmpty;
using ObjectCacheSharing = ObjectCacheTest;

/// Code that tells which key it was kept under.
std::string code_of(int i) { return str("code of ", i, std::string(static_cast<std::size_t>(1000 + 37 * i), static_cast<char>('a' + i % 26))); }

/// Looks for and keeps codes in an order of its own, in a cache that holds half of them.
void work(const fs::path& folder, unsigned seed, std::atomic<int>& wrong) {
  std::mt19937 random(seed);
  for (int i = 0; i < 150; ++i) {
    const int number = static_cast<int>(random() % 24);
    ObjectCache cache(folder, 24 * 1024, {});
    const auto found = cache.find(numbered(number));
    if (found && *found != code_of(number)) ++wrong;
    if (!found) cache.keep(numbered(number), code_of(number));
  }
}

TEST_F(ObjectCacheSharing, ManyProcessesAtOnce) {
  std::vector<pid_t> children;
  for (unsigned i = 0; i < 4; ++i) {
    children.push_back(::fork());
    if (children.back() == 0) {
      std::atomic<int> wrong{0};
      work(folder, i, wrong);
      ::_exit(wrong ? 1 : 0);
    }
  }
  for (const pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  std::size_t found = 0;
  for (int i = 0; i < 24; ++i)
    if (const auto code = find(numbered(i))) {
      EXPECT_EQ(*code, code_of(i));
      ++found;
    }
  EXPECT_GT(found, 0u);
  EXPECT_EQ(files().size(), found) << "no leftovers";
  EXPECT_THAT(lines, IsEmpty());
}

TEST_F(ObjectCacheSharing, ManyThreadsAtOnce) {
  const auto before = ObjectCache::statistics();
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < 4; ++i) threads.emplace_back([&, i] { work(folder, i, wrong); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  const auto after = ObjectCache::statistics();
  EXPECT_EQ(after.hits + after.misses - before.hits - before.misses, 4u * 150);
  EXPECT_EQ(after.written - before.written, after.misses - before.misses);
  EXPECT_EQ(after.rejected, before.rejected);
}

}  // namespace
}  // namespace sinter::test::object_cache_sharing_test
