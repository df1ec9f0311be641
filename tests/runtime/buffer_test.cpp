#include "runtime/buffer.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <limits>
#include <memory>
#include <thread>
#include <vector>

#include "ir/error.h"
#include "ir/sanitizers.h"

namespace sinter::runtime::buffer_test {
namespace {

TEST(Buffer, IsAlignedAndSlackIsReadable) {
  for (const std::size_t bytes : {0, 1, 63, 64, 65, 1000, 4096, 100000, 5000000}) {
    const Buffer buffer = Buffer::zeroed(bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % 64, 0u);
    EXPECT_EQ(buffer.bytes(), bytes);
    for (std::size_t i = 0; i < bytes + 64; ++i) ASSERT_EQ(buffer.data()[i], std::byte{0}) << i << " of " << bytes;
  }
}

TEST(Buffer, HandlesShareAndTheLastOneReturnsTheBlock) {
  Buffer a = Buffer::allocate(1000);
  EXPECT_TRUE(a.unique());
  Buffer b = a;
  EXPECT_EQ(a, b);
  EXPECT_FALSE(a.unique());
  const MemoryUse before = memory_use();
  a = {};
  EXPECT_FALSE(a);
  EXPECT_EQ(a.data(), nullptr);
  EXPECT_TRUE(b.unique());
  EXPECT_EQ(memory_use().live, before.live);
  b = {};
  EXPECT_LT(memory_use().live, before.live);
}

TEST(Buffer, BlocksAreReusedOnlyWhenFree) {
  release_pool();
  const Buffer kept = Buffer::allocate(3000);
  const std::byte* first = nullptr;
  {
    const Buffer gone = Buffer::allocate(3000);
    first = gone.data();
  }
  EXPECT_GE(memory_use().pooled, 3000u);
  const Buffer again = Buffer::allocate(2990);
  EXPECT_EQ(again.data(), first);
  EXPECT_NE(Buffer::allocate(3000).data(), kept.data());
}

TEST(Buffer, ThePoolIsBoundedAndCanBeEmptied) {
  release_pool();
  constexpr std::size_t megabyte = std::size_t{1} << 20;
  {
    std::vector<Buffer> buffers;
    for (std::size_t i = 0; i < 40; ++i) buffers.push_back(Buffer::allocate(10 * megabyte));
  }
  // What was live at the worst moment (400 MB) may be kept, not more, however sizes change.
  const std::size_t most = memory_use().live + memory_use().pooled;
  for (std::size_t size = 11; size < 200; size += 7) Buffer::allocate(size * megabyte);
  EXPECT_LE(memory_use().live + memory_use().pooled, most);
  release_pool();
  EXPECT_EQ(memory_use().pooled, 0u);
}

/// A loop gets its memory from the pool, whatever sizes were needed before it: at the latest when it has freed twice what the pool keeps.
TEST(Buffer, ThePoolForgetsWhatNothingNeeds) {
  release_pool();
  constexpr std::size_t megabyte = std::size_t{1} << 20;
  for (std::size_t size = 1; size < 100; ++size) Buffer::allocate(size * megabyte);  // more than the pool keeps
  for (const std::size_t size : {37 * megabyte + 5, 40 * megabyte, std::size_t{3000}, 200 * megabyte}) {
    for (std::size_t freed = 0; freed <= 600 * megabyte; freed += size) Buffer::allocate(size);
    const std::size_t pooled = memory_use().pooled;
    const Buffer again = Buffer::allocate(size);
    EXPECT_LE(memory_use().pooled + size, pooled) << size << " bytes are new";
  }
}

/// Of a loop that needs in turn more than the pool keeps, a part comes from it.
TEST(Buffer, ThePoolKeepsAPartOfALargeLoop) {
  release_pool();
  constexpr std::size_t megabyte = std::size_t{1} << 20;
  std::size_t reused = 0;
  for (int turn = 0; turn < 4; ++turn) {
    reused = 0;
    for (std::size_t size = 20; size <= 31; ++size) {  // 306 MB
      const std::size_t pooled = memory_use().pooled;
      const Buffer buffer = Buffer::allocate(size * megabyte);
      reused += memory_use().pooled < pooled;
    }
  }
  EXPECT_GE(reused, 9u) << "of twelve";
}

TEST(Buffer, TooMuchIsAnError) {
  EXPECT_THROW(Buffer::allocate(std::numeric_limits<std::size_t>::max()), MemoryError);
  try {
    Buffer::allocate(std::size_t{1} << 60);
    FAIL() << "that much memory?";
  } catch (const MemoryError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("[memory] the system has no 1152921504.6 GB left; tensors and steps hold "));
  }
}

/// What is not touched takes no memory: a step reserves for its largest batch.
TEST(Buffer, NewZerosTakeMemoryWhenTheyAreTouched) {
  release_pool();
  const auto resident = [] {
    std::ifstream file("/proc/self/statm");
    std::size_t pages = 0;
    file >> pages >> pages;
    return pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  };
  constexpr std::size_t megabyte = std::size_t{1} << 20;
  const std::size_t before = resident();
  const Buffer buffer = Buffer::zeroed(400 * megabyte);
  EXPECT_EQ(buffer.data()[123 * megabyte], std::byte{0});
  if (SINTER_ADDRESS_SANITIZER || SINTER_THREAD_SANITIZER) return;
  EXPECT_LT(resident() - before, 40 * megabyte);
}

TEST(Buffer, FiniteNumbersAreNotedUntilAWriterAsks) {
  Buffer buffer = Buffer::allocate(1000);
  EXPECT_EQ(buffer.finite_bytes(), 0u);
  buffer.note_finite(800);
  {
    const Buffer shared = buffer;
    EXPECT_FALSE(buffer.unique());
    EXPECT_EQ(shared.finite_bytes(), 800u);
  }
  EXPECT_TRUE(buffer.unique());
  EXPECT_EQ(buffer.finite_bytes(), 0u) << "a writer may be about to change them";
  buffer.note_finite(800);
  buffer = {};
  EXPECT_EQ(Buffer::allocate(1000).finite_bytes(), 0u) << "a block that is used again";
  alignas(64) static std::byte foreign[128];
  const Buffer other = Buffer::of(foreign, 64, std::make_shared<int>());
  other.note_finite(64);
  EXPECT_EQ(other.finite_bytes(), 0u) << "its owner may write at any time";
}

TEST(Buffer, HandlesMayBeCopiedAndDroppedByManyThreads) {
  const std::size_t live = memory_use().live;
  {
    const Buffer shared = Buffer::zeroed(4096);
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&shared, t] {
        for (int i = 0; i < 2000; ++i) {
          Buffer copy = shared;
          Buffer own = Buffer::allocate(static_cast<std::size_t>(64 + 100 * t + i));
          std::memset(own.data(), t, own.bytes());
          ASSERT_EQ(own.data()[own.bytes() - 1], static_cast<std::byte>(t));
        }
      });
    for (std::thread& t : threads) t.join();
    EXPECT_TRUE(shared.unique());
  }
  EXPECT_EQ(memory_use().live, live);
}

}  // namespace
}  // namespace sinter::runtime::buffer_test
