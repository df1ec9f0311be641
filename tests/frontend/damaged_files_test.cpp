// Files of every kind that Sinter reads, cut at every byte and with every bit changed: an error or content, never a crash, a hang or a wild
// allocation.
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <optional>

#include "runtime/file/disk.h"
#include "tests/frontend/file_kinds.h"
#include "tests/frontend/helpers.h"
#include "tests/support/allocations.h"
#include "tests/support/faulty_files.h"

namespace sinter::test::damaged_files_test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class DamagedFile : public testing::TestWithParam<FileKind> {
 protected:
  /// The content; nothing if the file is refused.
  std::optional<std::string> read(const std::string& bytes) {
    overwrite(path_, bytes);
    std::optional<std::string> content;
    const AllocationLimit limit(GetParam().memory);
    try {
      content = GetParam().read(path_);
    } catch (const UserError&) {
    }
    EXPECT_EQ(limit.refused(), 0) << "bytes were asked for";
    return content;
  }

  const TemporaryFolder folder_;
  const fs::path path_ = fs::path(folder_.path) / "train.bin";
  const std::string sound_ = GetParam().sound();
  const std::string content_ = (overwrite(path_, sound_), GetParam().read(path_));  // libraries set themselves up here, outside of any limit
};

TEST_P(DamagedFile, CutAnywhereIsAnErrorOrTheSameContent) {
  EXPECT_EQ(read(sound_), content_);
  for (std::size_t size = 0; size < sound_.size(); ++size) {
    SCOPED_TRACE(str("cut to ", size, " of ", sound_.size(), " bytes"));
    const auto content = read(GetParam().finish(sound_.substr(0, size)));
    if (content && GetParam().sized) {
      EXPECT_EQ(*content, content_);
    }
    if (HasFailure()) return;
  }
}

TEST_P(DamagedFile, WithAChangedBitIsAnErrorOrContent) {
  std::size_t errors = 0;
  for (std::size_t bit = 0; bit < sound_.size() * 8; bit += GetParam().step) {
    SCOPED_TRACE(str("bit ", bit % 8, " of byte ", bit / 8));
    std::string changed = sound_;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << bit % 8));
    const auto content = read(GetParam().finish(changed));
    errors += !content;
    if (content && GetParam().checked) {
      EXPECT_EQ(*content, content_);
    }
    if (HasFailure()) return;
  }
  EXPECT_GT(errors, 0u);
}

TEST_P(DamagedFile, OnAFailingDiskIsAnErrorOfTheSystem) {
  using Call = FaultyFiles::Call;
  std::size_t calls = 0;
  for (std::size_t fails = 1; fails == calls + 1; ++fails) {
    const FailingFiles disk([&](Call call, std::size_t number) {
      calls += number == fails;
      return number == fails ? call == Call::open ? EMFILE : EIO : 0;
    });
    try {
      const std::string content = GetParam().read(path_);
      EXPECT_LT(calls, fails) << "an error was passed over";
      EXPECT_EQ(content, content_);
    } catch (const runtime::SystemError& error) {
      EXPECT_TRUE(error.code() == EIO || error.code() == EMFILE);
    }
  }
  EXPECT_GE(calls, 1u);  // libzip reads by itself
}

/// Nobody writes to the pipe: a reader that opens it as a file waits for ever, until the alarm ends the test.
TEST_P(DamagedFile, OrAPipeIsRefused) {
  const fs::path pipe = fs::path(folder_.path) / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  fs::rename(pipe, path_);
  ::alarm(60);
  EXPECT_THAT(error_of([&] { GetParam().read(path_); }), HasSubstr("cannot read the file: it is a pipe; give a regular file"));
  ::alarm(0);
}

INSTANTIATE_TEST_SUITE_P(Each, DamagedFile, testing::ValuesIn(file_kinds()), [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace sinter::test::damaged_files_test
