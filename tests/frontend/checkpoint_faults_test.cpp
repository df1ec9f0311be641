// Checkpoints of Trainer::fit while calls fail, disks are full, machines fail and processes are killed.
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <optional>

#include "frontend/checkpoint/folder.h"
#include "tests/frontend/dying_run.h"
#include "tests/support/bytes.h"
#include "tests/support/faulty_files.h"

namespace sinter::test::checkpoint_faults_test {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(CheckpointFaults, WhateverCallFailsTheRunEndsAlikeAndACheckpointLoads) {
  using Call = FaultyFiles::Call;
  const RunResult whole = train({});
  constexpr std::array errors{ENOSPC, EIO, EACCES, EMFILE, EROFS, EDQUOT, EINTR};
  for (std::size_t fails = 1;; ++fails) {
    const int code = errors[fails % errors.size()];
    const TemporaryFolder folder;
    const CheckpointOptions checkpoint{.folder = folder.path, .every_steps = 4, .keep = 2, .on_write_error = OnWriteError::warn};
    std::vector<std::string> lines;
    std::optional<Call> failed;
    RunResult result;
    std::string error;
    {
      const FailingFiles files([&](Call call, std::size_t number) {
        if (number != fails) return 0;
        failed = call;
        return code;
      });
      error = error_of([&] { result = train({.checkpoint = checkpoint, .log = [&](const std::string& line) { lines.push_back(line); }}); });
      if (files.calls() < fails) break;
    }
    SCOPED_TRACE(str("call ", fails, " of kind ", static_cast<int>(*failed), ": ", std::strerror(code)));
    constexpr std::size_t first_write = 6;  // before: the folder is made, locked and tried
    if (fails < first_write && *failed != Call::lock_folder && *failed != Call::remove) {
      ASSERT_THAT(error, HasSubstr(str("the folder of checkpoints: ", std::strerror(code), "; choose a folder that is writable")));
    } else {
      ASSERT_EQ(error, "");
      ASSERT_EQ(result, whole);
      ASSERT_EQ(lines.size(), *failed == Call::remove || code == EINTR ? 0u : 1u);
      for (const std::string& line : lines)
        EXPECT_THAT(line, HasSubstr(*failed == Call::lock_folder ? "take care that no other run writes checkpoints to it"
                                                                 : "this checkpoint is skipped, training continues: ["));
      ASSERT_TRUE(newest_checkpoint(folder.path));
    }
    ASSERT_EQ(train({.checkpoint = checkpoint}), whole);
  }
}

TEST(CheckpointFaults, AFullDiskEndsTheRunIfAskedAndLeavesTheCheckpointWhole) {
  const TemporaryFolder folder;
  RunOptions options{.checkpoint = {.folder = folder.path, .every_steps = 4, .on_write_error = OnWriteError::fail}};
  {
    options.callbacks = {std::make_shared<DieAfter>(5)};
    ASSERT_TRUE(dies(options));
    options.callbacks = {std::make_shared<DieAfter>(-1)};
    const SmallDisk disk(1000, 7);
    EXPECT_THAT(error_of([&] { train(options); }), HasSubstr("No space left on device"));
  }
  EXPECT_THAT(files_of(folder.path), ElementsAre("checkpoint-000000000004.sinter"));
  EXPECT_EQ(train(options), train({}));
}

TEST(CheckpointFaults, ShortWritesAreFinished) {
  const TemporaryFolder folder;
  const SmallDisk disk(SIZE_MAX, 1000);
  EXPECT_EQ(train({.checkpoint = {.folder = folder.path}}), train({}));
  EXPECT_EQ(Trainer::load(*newest_checkpoint(folder.path), {.mode = modes().back()}).epoch(), 3);
}

TEST(CheckpointFaults, AFolderThatCannotBeWrittenToIsAnErrorBeforeTheFirstStep) {
  for (const int code : {EROFS, EACCES, ENOSPC}) {
    const TemporaryFolder folder;
    const FailingFiles read_only([&](FaultyFiles::Call call, std::size_t) { return call == FaultyFiles::Call::create ? code : 0; });
    EXPECT_THAT(error_of([&] { train({.checkpoint = {.folder = folder.path}, .callbacks = {std::make_shared<DieAfter>(1)}}); }),
                HasSubstr(str("cannot write to the folder of checkpoints: ", std::strerror(code), "; choose a folder that is writable")));
    EXPECT_THAT(files_of(folder.path), IsEmpty());
  }
}

TEST(CheckpointFaults, AFileSystemWithoutLocksIsUsedAndThatIsSaidOnce) {
  const TemporaryFolder folder;
  const FailingFiles no_locks([](FaultyFiles::Call call, std::size_t) { return call == FaultyFiles::Call::lock_folder ? ENOLCK : 0; });
  std::vector<std::string> lines;
  EXPECT_EQ(train({.checkpoint = {.folder = folder.path}, .log = [&](const std::string& line) { lines.push_back(line); }}), train({}));
  EXPECT_THAT(lines,
              ElementsAre(str("[", folder.path, "] cannot be locked (No locks available); take care that no other run writes checkpoints to it")));
}

TEST(CheckpointFaults, AFolderThatCannotBeMadeIsAnErrorBeforeTheFirstStep) {
  const TemporaryFolder folder;
  write_bytes(folder.path + "/file", "");
  EXPECT_THAT(error_of([&] { train({.checkpoint = {.folder = folder.path + "/file/run"}, .callbacks = {std::make_shared<DieAfter>(1)}}); }),
              HasSubstr("cannot make the folder of checkpoints: Not a directory; choose a folder that is writable"));
  const FailingFiles read_only([](FaultyFiles::Call, std::size_t) { return EROFS; });
  EXPECT_THAT(error_of([&] { train({.checkpoint = {.folder = folder.path + "/run"}, .callbacks = {std::make_shared<DieAfter>(1)}}); }),
              HasSubstr("cannot make the folder of checkpoints: Read-only file system"));
}

/// The machine fails after each file operation, and of what was not flushed nothing, the names, the content or both are lost.
TEST(CheckpointFaults, WhateverAFailingMachineLosesTheRunEndsAlike) {
  const TemporaryFolder folder;
  const CheckpointOptions checkpoint{.folder = folder.path + "/run", .every_steps = 4, .keep = 1};
  WriteLog log;
  const RunResult whole = train({.checkpoint = checkpoint});
  log.stop();
  ASSERT_EQ(whole, train({}));
  std::size_t resumed = 0;
  for (std::size_t calls = 0; calls <= log.calls(); ++calls)
    for (const bool names : {false, true})
      for (const bool content : {false, true}) {
        CheckpointOptions after = checkpoint;
        after.folder = folder.path + "/after";
        fs::remove_all(after.folder);
        fs::create_directories(after.folder);
        for (const auto& [name, bytes] : log.after(calls, {names, content}, checkpoint.folder)) write_bytes(fs::path(after.folder) / name, bytes);
        resumed += newest_checkpoint(after.folder).has_value();
        std::vector<std::string> lines;
        ASSERT_EQ(train({.checkpoint = after, .log = [&](const std::string& line) { lines.push_back(line); }}), whole) << calls << names << content;
        ASSERT_THAT(lines, IsEmpty()) << "a file with a name that is not whole, " << calls;
      }
  EXPECT_GT(resumed, log.calls());
}

// ---- processes ----

/// What a run of sinter_soak_train prints; empty if it was killed.
std::string process(const std::string& arguments) {
  FILE* pipe = popen((std::string(SINTER_SOAK_TRAIN) + " " + arguments).c_str(), "r");
  std::string text;
  for (int c; (c = std::fgetc(pipe)) != EOF;) text += static_cast<char>(c);
  const int status = pclose(pipe);
  const bool killed = (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) || (WIFEXITED(status) && WEXITSTATUS(status) == 128 + SIGKILL);
  EXPECT_TRUE(killed || status == 0) << arguments;
  return killed ? "" : text;
}

TEST(CheckpointFaults, AProcessKilledAtAnyFileOperationGoesOnToTheSameBytes) {
  const TemporaryFolder folder;
  const std::string whole = process(folder.path + "/whole eager");
  ASSERT_EQ(whole.size(), 17u);
  std::size_t operations = 1;
  for (;; ++operations) {
    const std::string run = folder.path + "/" + std::to_string(operations);
    const std::string first = process(str(run, " eager ", operations));
    ASSERT_EQ(process(run + " eager"), whole) << "killed at " << operations;
    fs::remove_all(run);
    if (!first.empty()) break;
  }
  EXPECT_GT(operations, 50u);
}

}  // namespace
}  // namespace sinter::test::checkpoint_faults_test
