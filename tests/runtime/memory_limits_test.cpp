#include "runtime/memory_limits.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/support/temporary_folder.h"

namespace sinter::runtime::memory_limits_test {
namespace {

constexpr std::int64_t giga = std::int64_t{1} << 30;

/// A folder that stands for /.
class MemoryLimitsFiles : public ::testing::Test {
 protected:
  const test::TemporaryFolder root_;

  void SetUp() override {
    write("proc/meminfo", "MemTotal:       16777216 kB\nMemFree: 1 kB\nMemAvailable:   8388608 kB\nSwapTotal: 1048576 kB\nSwapFree: 0 kB");
  }
  void write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text << "\n";
  }
  MemoryLimits limits() const { return memory_limits(root_.path); }
};

TEST_F(MemoryLimitsFiles, OfTheMachine) {
  const MemoryLimits found = limits();
  EXPECT_EQ(found.total, 17 * giga);
  EXPECT_EQ(found.available, 8 * giga);
  EXPECT_FALSE(found.group);
  if (found.address_space) GTEST_SKIP() << "this process has a limit of its own";
  EXPECT_EQ(found.most(), 17 * giga);
  EXPECT_EQ(found.free(), 8 * giga);
  EXPECT_EQ(found.limit(), "this machine has");
}

TEST_F(MemoryLimitsFiles, OfTheLowestControlGroup) {
  write("proc/self/cgroup", "0::/outer/inner");
  write("sys/fs/cgroup/outer/inner/memory.max", "max");
  EXPECT_FALSE(limits().group);
  write("sys/fs/cgroup/outer/memory.max", "4294967296");
  write("sys/fs/cgroup/outer/memory.current", "3221225472");
  write("sys/fs/cgroup/outer/memory.stat", "anon 5\ninactive_file 1073741824");
  const MemoryLimits found = limits();
  EXPECT_EQ(found.group, 4 * giga);
  EXPECT_EQ(found.group_used, 2 * giga);  // files that are kept in memory can be dropped
  EXPECT_EQ(found.most(), 4 * giga);
  EXPECT_EQ(found.free(), 2 * giga);
  EXPECT_EQ(found.limit(), "the control group (cgroup) of this process has");
  write("sys/fs/cgroup/memory.max", "1073741824");  // of the container
  EXPECT_EQ(limits().group, giga);
  EXPECT_EQ(limits().free(), giga);
}

TEST_F(MemoryLimitsFiles, OfAnOldControlGroup) {
  write("proc/self/cgroup", "5:cpu,cpuacct:/a\n4:memory:/job");
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712");  // none
  EXPECT_FALSE(limits().group);
  write("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "2147483648");
  write("sys/fs/cgroup/memory/job/memory.usage_in_bytes", "3221225472");
  EXPECT_EQ(limits().group, 2 * giga);
  EXPECT_EQ(limits().free(), 0);  // more than it may
}

TEST_F(MemoryLimitsFiles, AreUnknownWithoutTheSystemsFiles) {
  std::filesystem::remove(root_ / "proc/meminfo");
  if (limits().address_space) GTEST_SKIP() << "this process has a limit of its own";
  EXPECT_EQ(limits().most(), 0);
  EXPECT_GT(limits().free(), giga);
}

TEST(MemoryLimits, OfTheAddressSpace) {
  MemoryLimits limits{.total = 8 * giga, .available = 8 * giga, .group = std::nullopt, .address_space = 2 * giga, .address_space_used = giga};
  EXPECT_EQ(limits.most(), 2 * giga);
  EXPECT_EQ(limits.free(), giga);
  EXPECT_EQ(limits.limit(), "ulimit -v allows");
}

TEST(MemoryLimits, OfThisMachine) { EXPECT_GT(memory_limits().most(), 0); }

}  // namespace
}  // namespace sinter::runtime::memory_limits_test
