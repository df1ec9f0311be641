// AtomicFile on disks that fail, fill up and write in pieces: the old file or the new one, and no leftovers.
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "ir/error.h"
#include "runtime/file/disk.h"
#include "tests/runtime/helpers.h"
#include "tests/support/bytes.h"
#include "tests/support/faulty_files.h"
#include "tests/support/temporary_folder.h"

namespace sinter::test::atomic_file_test {
namespace {

namespace fs = std::filesystem;
using Call = FaultyFiles::Call;
using testing::HasSubstr;

class AtomicFileTest : public testing::Test {
 protected:
  AtomicFileTest() { put("the old file"); }

  void put(const std::string& text) const {
    runtime::AtomicFile file(path);
    file.write(std::as_bytes(std::span(text)));
    file.commit();
  }
  std::string content() const { return read_bytes(path); }
  std::size_t files() const { return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), {})); }

  const TemporaryFolder temporary;
  const fs::path folder = temporary.path, path = folder / "file";
};

TEST_F(AtomicFileTest, EachFailingCallLeavesTheOldFileOrTheNewOneWithAMessage) {
  const struct {
    Call call;
    const char *message, *content;
  } cases[] = {{Call::create, "create it", "the old file"},          {Call::write, "write to it", "the old file"},
               {Call::sync, "flush it to the disk", "the old file"}, {Call::close, "give it its name", "the old file"},
               {Call::rename, "give it its name", "the old file"},   {Call::sync_folder, "flush its folder to the disk", "the new file"}};
  for (const auto& fault : cases)
    for (const int code : {ENOSPC, EDQUOT, EFBIG, EIO, EACCES, EPERM, EROFS, EMFILE, ENFILE, ENOMEM, ENOENT}) {
      put("the old file");
      {
        const FailingFiles files([&](Call call, std::size_t) { return call == fault.call ? code : 0; });
        try {
          put("the new file");
          ADD_FAILURE() << fault.message;
        } catch (const runtime::SystemError& error) {
          const char* next_step = code == ENOSPC || code == EDQUOT ? "make room on the device, or write to another one"
                                  : code == EFBIG                  ? "raise the limit, or write less"
                                                                   : "choose a folder that exists and is writable";
          EXPECT_THAT(error.what(), HasSubstr(str("[", path.string(), "] cannot write the file: failed to ", fault.message, " (",
                                                  runtime::error_text(code), "); ", next_step)));
          EXPECT_EQ(error.code(), code);
        }
      }
      EXPECT_EQ(content(), fault.content);
      EXPECT_EQ(files(), 1u) << fault.message;
    }
}

TEST_F(AtomicFileTest, NamesMayBeAsLongAsTheSystemAllows) {
  std::string umlauts;
  while (umlauts.size() < 254) umlauts += "\u00e4";
  for (const std::string& name : {std::string(252, 'n'), std::string(255, 'n'), umlauts}) {
    runtime::write_file(folder / name, "long");
    EXPECT_EQ(fs::file_size(folder / name), 4u) << name.size();
    fs::remove(folder / name);
  }
  EXPECT_EQ(files(), 1u) << "the old file alone";
  EXPECT_THROW(runtime::write_file(folder / std::string(256, 'n'), "long"), UserError);
}

TEST_F(AtomicFileTest, WhatCannotBeRemovedHarmsNoFile) {
  for (const Call fault : {Call::write, Call::rename}) {
    {
      const FailingFiles files([&](Call call, std::size_t) { return call == fault || call == Call::remove ? EIO : 0; });
      EXPECT_THROW(put("the new file"), runtime::SystemError);
    }
    EXPECT_EQ(content(), "the old file");
  }
  EXPECT_EQ(files(), 3u) << "the file, and a temporary file of each";
  put("the new file");
  EXPECT_EQ(content(), "the new file");
}

TEST_F(AtomicFileTest, ASignalInterruptsNoWriter) {
  for (std::size_t interrupted = 1;; ++interrupted) {
    put("the old file");
    const FailingFiles files([&](Call, std::size_t number) { return number == interrupted ? EINTR : 0; });
    put("the new file");
    EXPECT_EQ(content(), "the new file") << interrupted;
    if (files.calls() < interrupted) break;
  }
  EXPECT_EQ(files(), 1u);
}

// ---- reading ----

TEST_F(AtomicFileTest, ErrorsOfTheSystemAreToldFromDamage) {
  const auto read = [&] {
    std::string text(runtime::InputFile(path).size(), '\0');
    runtime::InputFile(path).read(0, std::as_writable_bytes(std::span(text)));
    return text;
  };
  for (const Call fault : {Call::open_to_read, Call::read})
    for (const int code : {EACCES, EMFILE, ENOMEM, EIO, ENOENT}) {
      const FailingFiles files([&](Call call, std::size_t) { return call == fault ? code : 0; });
      try {
        read();
        ADD_FAILURE() << std::strerror(code);
      } catch (const runtime::SystemError& error) {
        EXPECT_THAT(error.what(), HasSubstr(str("] cannot ", fault == Call::open_to_read ? "open" : "read", " the file: ", std::strerror(code))));
        EXPECT_EQ(error.code(), code);
      }
    }
  const FailingFiles interrupted([](Call, std::size_t number) { return number % 2 ? EINTR : 0; });
  EXPECT_EQ(read(), "the old file");
}

TEST_F(AtomicFileTest, ReadersWaitForNoPipe) {
  const fs::path pipe = folder / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const auto error_of = [](const fs::path& name) -> std::string {
    try {
      const runtime::InputFile file(name);
    } catch (const runtime::SystemError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(error_of(pipe), str("[", pipe.string(), "] cannot read the file: it is a pipe; give a regular file"));
  EXPECT_THAT(error_of(folder), HasSubstr("it is a folder; give a regular file"));
  EXPECT_THAT(error_of("/dev/zero"), HasSubstr("it is a device; give a regular file"));
}

// ---- disks ----

TEST_F(AtomicFileTest, ShortWritesLoseNothing) {
  const SmallDisk disk(1000, 3);
  put("a text of more than three bytes");
  EXPECT_EQ(content(), "a text of more than three bytes");
}

TEST_F(AtomicFileTest, FullDiskLeavesTheOldFile) {
  const SmallDisk disk(10, 4);
  EXPECT_THROW(put("a text of more than ten bytes"), UserError);
  EXPECT_EQ(content(), "the old file");
  EXPECT_EQ(files(), 1u);
}

TEST_F(AtomicFileTest, WhateverIsLostWhenTheMachineFailsOneOfTheFilesIsWhole) {
  WriteLog log;
  put("first");
  const std::size_t first = log.calls();
  put("second");
  for (const bool names : {false, true})
    for (const bool content : {false, true}) {
      for (std::size_t calls = first; calls <= log.calls(); ++calls) {
        const auto found = log.after(calls, {names, content}, folder);
        ASSERT_TRUE(found.contains("file")) << calls;
        EXPECT_THAT(found.at("file"), testing::AnyOf("first", "second")) << calls;
      }
      EXPECT_EQ(log.after(log.calls(), {names, content}, folder).at("file"), "second");
    }
}

TEST_F(AtomicFileTest, OnlyADurableFileIsFlushedToTheDisk) {
  const auto is_temporary = [](const fs::directory_entry& entry) {
    return entry.path().filename().string().starts_with("file" + std::string(runtime::temporary_infix));
  };
  const auto put = [&](runtime::Durability durability, std::string_view text) {
    std::size_t flushed = 0;
    const FailingFiles files([&](Call call, std::size_t) {
      flushed += call == Call::sync || call == Call::sync_folder;
      return 0;
    });
    runtime::AtomicFile file(path, durability);
    file.write(std::as_bytes(std::span(text)));
    EXPECT_EQ(std::count_if(fs::directory_iterator(folder), {}, is_temporary), 1);
    file.commit();
    return flushed;
  };
  EXPECT_EQ(put(runtime::Durability::unsynced, "one"), 0u);
  EXPECT_EQ(content(), "one");
  EXPECT_EQ(put(runtime::Durability::synced, "two"), 2u);
  EXPECT_EQ(content(), "two");
}

TEST_F(AtomicFileTest, AnInputFileGivesItsDescriptorAndAnother) {
  const runtime::InputFile file(path);
  const int other = file.duplicate();
  EXPECT_NE(other, file.descriptor());
  struct stat one, two;
  ASSERT_EQ(fstat(file.descriptor(), &one), 0);
  ASSERT_EQ(fstat(other, &two), 0);
  EXPECT_EQ(one.st_ino, two.st_ino);
  EXPECT_EQ(close(other), 0);
}

}  // namespace
}  // namespace sinter::test::atomic_file_test
