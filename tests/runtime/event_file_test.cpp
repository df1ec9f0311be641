// Event files: the checksum of RFC 3720, the bytes that TensorFlow writes, what happens where a file cannot be written.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <limits>
#include <numeric>
#include <optional>

#include "ir/error.h"
#include "runtime/file/event_file.h"
#include "tests/support/bytes.h"
#include "tests/support/temporary_folder.h"

namespace sinter::runtime::event_file_test {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;

class EventFileTest : public testing::Test {
 protected:
  const test::TemporaryFolder temporary_;
  const std::filesystem::path folder_ = temporary_ / "logs";  ///< not there at first
};

double fixed_time() { return 1700000000.25; }

template <class F>
std::string error_of(F&& f) {
  try {
    f();
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

TEST(Crc32c, OfTheVectorsOfRfc3720) {  // appendix B.4
  std::vector<std::byte> bytes(32, std::byte{0});
  EXPECT_EQ(crc32c(bytes), 0x8a9136aau);
  bytes.assign(32, std::byte{0xff});
  EXPECT_EQ(crc32c(bytes), 0x62a8ab43u);
  for (std::size_t i = 0; i < 32; ++i) bytes[i] = static_cast<std::byte>(i);
  EXPECT_EQ(crc32c(bytes), 0x46dd794eu);
  for (std::size_t i = 0; i < 32; ++i) bytes[i] = static_cast<std::byte>(31 - i);
  EXPECT_EQ(crc32c(bytes), 0x113fdb5cu);
  bytes.assign(48, std::byte{0});
  for (const auto& [at, value] :
       std::vector<std::pair<std::size_t, int>>{{0, 0x01}, {1, 0xc0}, {16, 0x14}, {22, 0x04}, {27, 0x14}, {31, 0x18}, {32, 0x28}, {40, 0x02}})
    bytes[at] = static_cast<std::byte>(value);
  EXPECT_EQ(crc32c(bytes), 0xd9963a56u);  // an iSCSI read command
}

TEST_F(EventFileTest, HasTheBytesThatTensorFlowWrites) {
  // The numbers of tests/fixtures/events.py.
  std::vector<float> values{0, -0.0f, 1e-12f, 1.1e-12f, -1e-12f, 1, 1, 1.05f, -1, -3.5f, 0.25f, 1e-30f, -1e-30f, 3e38f, -3e38f, 1e20f};
  for (int x = -20; x < 20; ++x) values.push_back(static_cast<float>(x / 7.0));
  std::filesystem::path path;
  {
    EventFile file(folder_ / "made" / "here", fixed_time);
    path = file.path();
    file.scalar("epoch_loss", 3, 0.1);
    file.scalar("größe", 0, -7);
    file.histogram("dense_1.weight", std::int64_t{1} << 40, values);
    file.histogram("nothing", 1, {});
    EXPECT_EQ(test::read_bytes(path), "");
    file.flush();
    EXPECT_EQ(test::read_bytes(path), test::read_bytes(SINTER_TEST_FIXTURES "/events.tfrecord"));
    EXPECT_NE(test::read_bytes(path), "");
  }
  EXPECT_EQ(test::read_bytes(path).size(), std::filesystem::file_size(SINTER_TEST_FIXTURES "/events.tfrecord"));
  EXPECT_THAT(path.filename().string(), MatchesRegex(str("events\\.out\\.tfevents\\.1700000000\\..+\\.", ::getpid(), "\\.[0-9]+")));
}

TEST_F(EventFileTest, LeavesOutWhatIsNotFinite) {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
  EventFile some(folder_, fixed_time), all(folder_, fixed_time);
  some.histogram("w", 1, std::vector<float>{nan, 2, -infinity, -1, infinity});
  all.histogram("w", 1, std::vector<float>{2, -1});
  some.flush();
  all.flush();
  EXPECT_NE(some.path(), all.path());
  EXPECT_EQ(test::read_bytes(some.path()), test::read_bytes(all.path()));
}

TEST_F(EventFileTest, WritesTheRestWhenItIsDestroyedOrLong) {
  std::optional<EventFile> file(std::in_place, folder_, fixed_time);
  const std::filesystem::path path = file->path();
  for (int i = 0; i < 40000; ++i) file->scalar("a", i, i);
  EXPECT_GT(std::filesystem::file_size(path), std::size_t{1} << 20);
  EventFile moved = std::move(*file);
  file.reset();
  const auto before = std::filesystem::file_size(path);
  {
    const EventFile last = std::move(moved);
  }
  EXPECT_GT(std::filesystem::file_size(path), before);
}

TEST_F(EventFileTest, TellsWhyItCannotWrite) {
  std::filesystem::create_directories(folder_);
  test::write_bytes(folder_ / "file", "x");
  const std::string where = (folder_ / "file" / "logs").string();
  EXPECT_EQ(error_of([&] { EventFile(where, fixed_time); }), "[" + where +
                                                                 "] cannot write events for TensorBoard: failed to make the folder (Not a "
                                                                 "directory); choose a folder that is writable and has space");

  EventFile file(folder_, fixed_time);
  file.scalar("epoch_loss", 3, 0.1);
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &limit), 0);
  const rlimit small{20, limit.rlim_max};
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ::setrlimit(RLIMIT_FSIZE, &small);
  const std::string error = error_of([&] { file.flush(); });
  ::setrlimit(RLIMIT_FSIZE, &limit);
  std::signal(SIGXFSZ, handler);
  EXPECT_THAT(error, HasSubstr("events.out.tfevents.1700000000."));
  EXPECT_THAT(error, HasSubstr("failed to write to it (File too large: more than the limit on the size of a file, see ulimit -f)"));
  EXPECT_EQ(test::read_bytes(file.path()).size(), 20u);
  file.flush();  // what was written is not written again
  EXPECT_EQ(test::read_bytes(file.path()), test::read_bytes(SINTER_TEST_FIXTURES "/events.tfrecord").substr(0, test::read_bytes(file.path()).size()));
  EXPECT_GT(test::read_bytes(file.path()).size(), 60u);
}

}  // namespace
}  // namespace sinter::runtime::event_file_test
