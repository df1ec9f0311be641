// AtomicFile and AppendFile on what is no regular file: written in place, as a stream.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <functional>

#include <gmock/gmock.h>

#include "ir/error.h"
#include "runtime/file/disk.h"
#include "tests/support/bytes.h"
#include "tests/support/faulty_files.h"
#include "tests/support/temporary_folder.h"

namespace sinter::test::stream_file_test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

/// A FIFO, and its end that is read.
class StreamFile : public testing::Test {
 protected:
  StreamFile() : made_(::mkfifo(fifo.c_str(), 0600)), reader_(::open(fifo.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)) {
    EXPECT_EQ(made_, 0);
    EXPECT_GE(reader_, 0);
  }
  ~StreamFile() override { ::close(reader_); }

  std::string read() const {
    std::string text(1 << 16, '\0');
    text.resize(static_cast<std::size_t>(std::max<ssize_t>(0, ::read(reader_, text.data(), text.size()))));
    return text;
  }
  std::string content() const { return read_bytes(text); }
  std::size_t files() const { return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder.path), {})); }
  static std::string error_of(const std::function<void()>& work) {
    try {
      work();
    } catch (const UserError& error) {
      return error.what();
    }
    return "no error";
  }

  const TemporaryFolder folder;
  const fs::path fifo = folder / "fifo", text = folder / "text";

 private:
  int made_, reader_;
};

TEST_F(StreamFile, AFifoIsWrittenAndStaysOne) {
  fs::create_symlink(fifo, folder / "link");
  for (const fs::path& path : {fifo, folder / "link"}) {
    runtime::write_file(path, "a text");
    EXPECT_EQ(read(), "a text");
    EXPECT_TRUE(fs::is_fifo(fifo));
    EXPECT_EQ(files(), 2u);  // no temporary file
  }
}

TEST_F(StreamFile, IsOpenedWhenItIsFirstWrittenTo) {
  {
    const runtime::AtomicFile probe(fifo);
  }
  {
    const runtime::AppendFile probe(fifo);
  }
  const FailingFiles system([](FaultyFiles::Call call, std::size_t) { return call == FaultyFiles::Call::open ? EIO : 0; });
  {
    const runtime::AtomicFile probe(fifo);
  }  // nobody has opened it
  EXPECT_THAT(error_of([&] { runtime::write_file(fifo, "text"); }), HasSubstr("fifo] cannot write the file: failed to open it (Input/output error)"));
  EXPECT_THAT(error_of([&] { runtime::AppendFile(fifo).write("text"); }), HasSubstr("failed to open it (Input/output error)"));
  EXPECT_EQ(read(), "");
}

TEST_F(StreamFile, AFailingWriteIsAnErrorAndTheFifoStays) {
  const SmallDisk disk(3);
  EXPECT_THAT(error_of([&] { runtime::write_file(fifo, "a text"); }), HasSubstr("failed to write to it (No space left on device)"));
  EXPECT_EQ(read(), "a t");
  EXPECT_TRUE(fs::is_fifo(fifo));
}

TEST_F(StreamFile, AnOpenDescriptorIsWrittenBehindWhatItHolds) {
  const int descriptor = ::open(text.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  ASSERT_EQ(::write(descriptor, "before, ", 8), 8);
  for (const std::string& path : {str("/dev/fd/", descriptor), str("/proc/self/fd/", descriptor)}) runtime::write_file(path, "written, ");
  runtime::AppendFile(str("/dev/fd/", descriptor)).write("and appended");
  ASSERT_EQ(::write(descriptor, ".", 1), 1);
  ::close(descriptor);
  EXPECT_EQ(content(), "before, written, written, and appended.");
  EXPECT_THAT(error_of([&] { runtime::write_file(str("/dev/fd/", descriptor), "x"); }), HasSubstr("failed to open it (Bad file descriptor)"));
}

TEST_F(StreamFile, ALinkStaysOneAndWhatItNamesIsReplaced) {
  fs::create_symlink("text", folder / "first");  // relative to its folder
  fs::create_symlink(folder / "first", folder / "second");
  for (const char* written : {"made", "replaced"}) {
    runtime::write_file(folder / "second", written);
    EXPECT_TRUE(fs::is_symlink(folder / "first") && fs::is_symlink(folder / "second"));
    EXPECT_EQ(content(), written);
  }
  EXPECT_EQ(files(), 4u);
}

TEST_F(StreamFile, WhatIsAppendedIsThereAtOnce) {
  runtime::AppendFile file(text);
  EXPECT_EQ(file.size(), 0u);
  file.write("one,");
  EXPECT_EQ(content(), "one,");
  runtime::AppendFile(text).write("two");
  EXPECT_EQ(content(), "one,two");
  EXPECT_EQ(file.size(), 7u);
  file.cut(4);
  file.write("three");
  EXPECT_EQ(content(), "one,three");
  EXPECT_THAT(error_of([&] { runtime::AppendFile(folder.path); }), HasSubstr("it is a folder"));
  EXPECT_THAT(error_of([&] { runtime::AppendFile(folder / "nowhere" / "file"); }), HasSubstr("failed to open it (No such file or directory)"));
}

TEST_F(StreamFile, AFifoThatIsAppendedToIsOneStream) {
  runtime::AppendFile file(fifo);
  file.cut(0);
  file.write("one,");
  file.write("two");
  EXPECT_EQ(file.size(), 0u);
  EXPECT_EQ(read(), "one,two");
}

TEST(ErrorText, NamesTheLimitOnTheSizeOfFiles) {
  EXPECT_EQ(runtime::error_text(ENOSPC), "No space left on device");
  EXPECT_EQ(runtime::error_text(EFBIG), "File too large: more than the limit on the size of a file, see ulimit -f");
}

}  // namespace
}  // namespace sinter::test::stream_file_test
