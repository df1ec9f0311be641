// AtomicFile on disks that fail, fill up and write in pieces: the old file or the new one, and no leftovers.
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>

#include "ir/error.h"
#include "runtime/file/disk.h"
#include "tests/runtime/helpers.h"
#include "tests/support/faulty_files.h"
#include "tests/support/temporary_folder.h"

namespace sinter::test {
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
  std::string content() const {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }
  std::size_t files() const { return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), {})); }

  const TemporaryFolder temporary;
  const fs::path folder = temporary.path, path = folder / "file";
};

TEST_F(AtomicFileTest, EachFailingCallLeavesTheOldFileOrTheNewOneWithAMessage) {
  const struct {
    Call call;
    const char *message, *content;
  } cases[] = {{Call::create, "failed to create it (No space left on device)", "the old file"},
               {Call::write, "failed to write to it (No space left on device)", "the old file"},
               {Call::sync, "failed to flush it to the disk (No space left on device)", "the old file"},
               {Call::close, "failed to give it its name (No space left on device)", "the old file"},
               {Call::rename, "failed to give it its name (No space left on device)", "the old file"},
               {Call::sync_folder, "failed to flush its folder to the disk (No space left on device)", "the new file"}};
  for (const auto& fault : cases) {
    put("the old file");
    {
      const FailingFiles files([&](Call call, std::size_t) { return call == fault.call ? ENOSPC : 0; });
      try {
        put("the new file");
        ADD_FAILURE() << fault.message;
      } catch (const UserError& error) {
        EXPECT_THAT(error.what(), HasSubstr("[" + path.string() + "] cannot write the file: " + fault.message));
        EXPECT_THAT(error.what(), HasSubstr("choose a folder that exists, is writable and has space"));
      }
    }
    EXPECT_EQ(content(), fault.content);
    EXPECT_EQ(files(), 1u) << fault.message;
  }
}

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

}  // namespace
}  // namespace sinter::test
