// Checkpoints of Trainer::fit: whatever ends a run, the same program started again ends with the bytes of a run that nothing ended.
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <optional>
#include <utility>

#include "frontend/checkpoint/folder.h"
#include "tests/frontend/dying_run.h"
#include "tests/soak/run.h"
#include "tests/support/bytes.h"
#include "tests/support/faulty_files.h"

namespace sinter::test::checkpoint_test {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// ---- resume ----

struct Case {
  Mode mode;
  bool generator;
  std::int64_t every_steps;
};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const Mode mode : modes())
    for (const bool generator : {false, true})
      for (const std::int64_t every : {0, 1, 4}) all.push_back({mode, generator, every});
  return all;
}

TEST(Checkpoint, ARunThatDiedAfterAnyStepEndsWithTheSameBytes) {
  for (const Case& c : cases()) {
    const RunOptions plain{.mode = c.mode, .generator = c.generator};
    const RunResult whole = train(plain);
    for (std::int64_t step = 1; step <= 18; ++step) {
      const TemporaryFolder folder;
      RunOptions options = plain;
      options.checkpoint = {.folder = folder.path, .every_steps = c.every_steps};
      options.callbacks = {std::make_shared<DieAfter>(step)};
      ASSERT_TRUE(dies(options));
      options.callbacks = {std::make_shared<DieAfter>(-1)};
      ASSERT_EQ(train(options), whole) << "step " << step << ", generator " << c.generator << ", every " << c.every_steps;
    }
  }
}

TEST(Checkpoint, ARunThatDiesAgainAndAgainGetsThere) {
  const TemporaryFolder folder;
  RunOptions options{.checkpoint = {.folder = folder.path, .every_steps = 1}};
  int deaths = 0;
  for (std::int64_t step = 1; step <= 18; ++step) {
    options.callbacks = {std::make_shared<DieAfter>(step)};
    deaths += dies(options);
  }
  EXPECT_GE(deaths, 17);
  options.callbacks = {std::make_shared<DieAfter>(-1)};
  EXPECT_EQ(train(options), train({}));
}

TEST(Checkpoint, ARunThatHasEndedGivesItsResultsAtOnce) {
  const TemporaryFolder folder;
  RunOptions options{.checkpoint = {.folder = folder.path}};
  const RunResult first = train(options);
  EXPECT_EQ(first, train({}));
  class NoStep : public Callback {
    void on_batch_end(Trainer&, std::int64_t, double) override { ADD_FAILURE(); }
  };
  options.callbacks = {std::make_shared<NoStep>()};
  EXPECT_EQ(train(options), first);
}

TEST(Checkpoint, MoreEpochsGoOnFromTheEnd) {
  const TemporaryFolder folder;
  train({.checkpoint = {.folder = folder.path}, .epochs = 2});
  EXPECT_EQ(train({.checkpoint = {.folder = folder.path}, .epochs = 3}), train({.epochs = 3}));
}

TEST(Checkpoint, AnInterruptLosesNoStep) {
  class Interrupt : public Callback {
   public:
    void on_batch_end(Trainer&, std::int64_t step, double) override {
      if (step == 9) std::raise(SIGINT);
    }
  };
  const TemporaryFolder folder;
  RunOptions options{.checkpoint = {.folder = folder.path}, .callbacks = {std::make_shared<Interrupt>()}, .stop_on_interrupt = true};
  EXPECT_EQ(train(options).epochs.size(), 2u);
  EXPECT_EQ(fs::path(*newest_checkpoint(folder.path)).filename(), "checkpoint-000000000009.sinter");
  EXPECT_EQ(train(options), train({}));
}

TEST(Checkpoint, CallbacksGoOn) {
  const TemporaryFolder folder;
  const auto run = [&](const std::string& name, std::int64_t dies_after) {
    auto stopping = std::make_shared<callback::EarlyStopping>(
        callback::EarlyStoppingOptions{.monitor = "val_loss", .patience = 1, .min_delta = 0.02, .restore_best = true});
    RunOptions options{.checkpoint = {.folder = folder.path + "/" + name, .every_steps = 1}, .epochs = 30};
    options.callbacks = {stopping, std::make_shared<callback::CsvLog>(folder.path + "/" + name + ".csv"), std::make_shared<DieAfter>(dies_after)};
    if (dies_after > 0) return std::pair(dies(options), RunResult{});
    RunResult result = train(options);
    return std::pair(stopping->stopped_epoch() > 0, result);
  };
  const auto [stopped, whole] = run("whole", -1);
  ASSERT_TRUE(stopped);
  const auto steps = static_cast<std::int64_t>(whole.epochs.size()) * 6;
  for (const std::int64_t step : {steps / 2, steps - 1}) ASSERT_TRUE(run("dying", step).first);
  const auto [stopped_too, resumed] = run("dying", -1);
  EXPECT_TRUE(stopped_too);
  EXPECT_EQ(resumed, whole);
  EXPECT_EQ(run("dying", -1), std::pair(true, whole));  // it stays stopped
  const auto lines = [&](const char* name) {
    std::ifstream file(folder.path + name);
    std::vector<std::string> all;
    for (std::string line; std::getline(file, line);) all.push_back(line.substr(0, line.rfind(',')));  // without the seconds
    return all;
  };
  EXPECT_EQ(lines("/dying.csv"), lines("/whole.csv"));
}

// ---- files ----

TEST(Checkpoint, KeepsTheNewestAndSweepsWhatADeadProcessLeft) {
  const TemporaryFolder folder;
  write_bytes(folder.path + "/checkpoint-000000000003.sinter.tmp-123-0", "half a file");
  write_bytes(folder.path + "/notes.txt", "the user's");
  train({.checkpoint = {.folder = folder.path, .every_steps = 4, .keep = 2}});
  EXPECT_THAT(files_of(folder.path), ElementsAre("checkpoint-000000000016.sinter", "checkpoint-000000000018.sinter", "notes.txt"));
}

TEST(Checkpoint, ACheckpointIsAFileOfTheTrainer) {
  const TemporaryFolder folder;
  train({.checkpoint = {.folder = folder.path}});
  Trainer loaded = Trainer::load(*newest_checkpoint(folder.path), {.mode = modes().back()});
  EXPECT_EQ(loaded.epoch(), 3);
  EXPECT_EQ(loaded.predict(rings(4, 9).x).type(), (Type{DType::f32, {4, 2}}));
}

TEST(Checkpoint, ADamagedOneIsSetAsideForTheOneBefore) {
  const TemporaryFolder folder;
  const RunResult whole = train({.checkpoint = {.folder = folder.path}});
  std::string newest = read_bytes(*newest_checkpoint(folder.path));
  newest[newest.size() / 2] ^= 1;
  write_bytes(*newest_checkpoint(folder.path), newest);
  std::vector<std::string> lines;
  EXPECT_EQ(train({.checkpoint = {.folder = folder.path, .keep = 1}, .log = [&](const std::string& line) { lines.push_back(line); }}), whole);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_THAT(lines[0], HasSubstr("checkpoint-000000000018.sinter] "));
  EXPECT_THAT(lines[0], HasSubstr("set aside as .damaged, training resumes from "));
  EXPECT_THAT(files_of(folder.path), ElementsAre("checkpoint-000000000018.sinter", "checkpoint-000000000018.sinter.damaged"));
}

TEST(Checkpoint, ADamagedOneThatCannotBeSetAsideIsPassedOver) {
  const TemporaryFolder folder;
  const RunResult whole = train({.checkpoint = {.folder = folder.path}});
  write_bytes(*newest_checkpoint(folder.path), "damaged");
  bool first = true;
  const FailingFiles system(
      [&](FaultyFiles::Call call, std::size_t) { return call == FaultyFiles::Call::rename && std::exchange(first, false) ? EACCES : 0; });
  std::vector<std::string> lines;
  EXPECT_EQ(train({.checkpoint = {.folder = folder.path, .keep = 1}, .log = [&](const std::string& line) { lines.push_back(line); }}), whole);
  EXPECT_THAT(lines, ElementsAre(HasSubstr("left in place, as it cannot be renamed, training resumes from ")));
}

TEST(Checkpoint, IfAllAreDamagedFitSaysSo) {
  const TemporaryFolder folder;
  write_bytes(folder.path + "/checkpoint-000000000003.sinter", "no file of Sinter at all, but long enough to have a header of its own");
  EXPECT_THAT(error_of([&] { train({.checkpoint = {.folder = folder.path}}); }), HasSubstr("none of the 1 checkpoints can be read"));
  EXPECT_THAT(files_of(folder.path), ElementsAre("checkpoint-000000000003.sinter"));
}

/// What the system refuses for the moment is no damage: the file stays, and no older one takes its place.
TEST(Checkpoint, OneThatCannotBeReadIsNotTakenForDamaged) {
  using Call = FaultyFiles::Call;
  const TemporaryFolder folder;
  const RunResult whole = train({.checkpoint = {.folder = folder.path}});
  const std::vector<std::string> files = files_of(folder.path);
  for (const Call fault : {Call::open_to_read, Call::read})
    for (const int code : {EMFILE, ENFILE, EACCES, ENOMEM, EIO, ESTALE}) {
      bool first = true;
      const FailingFiles system([&](Call call, std::size_t) { return call == fault && std::exchange(first, false) ? code : 0; });
      EXPECT_THAT(error_of([&] { train({.checkpoint = {.folder = folder.path}}); }), HasSubstr(std::strerror(code)));
      EXPECT_EQ(files_of(folder.path), files);
    }
  fs::rename(folder.path + "/" + files.back(), folder.path + "/elsewhere");  // a link to a disk that is not mounted
  fs::create_symlink(folder.path + "/not mounted/file", folder.path + "/" + files.back());
  EXPECT_THAT(error_of([&] { train({.checkpoint = {.folder = folder.path}}); }), HasSubstr("No such file or directory"));
  fs::remove(folder.path + "/" + files.back());
  fs::rename(folder.path + "/elsewhere", folder.path + "/" + files.back());
  EXPECT_EQ(train({.checkpoint = {.folder = folder.path}}), whole);
}

TEST(Checkpoint, NoFolderHasNoCheckpoint) { EXPECT_EQ(newest_checkpoint("no/such/folder"), std::nullopt); }

TEST(Checkpoint, OneRunAtATime) {
  const TemporaryFolder folder;
  const CheckpointFolder other(folder.path);
  EXPECT_THAT(error_of([&] { train({.checkpoint = {.folder = folder.path}}); }), HasSubstr("another run writes checkpoints to this folder"));
}

TEST(Checkpoint, OfAnotherRunIsRefused) {
  const TemporaryFolder folder;
  const CheckpointOptions checkpoint{.folder = folder.path};
  train({.checkpoint = checkpoint, .epochs = 2});
  const Dataset data = rings(45, 1);
  const auto fit = [&](std::int64_t wide, FitOptions options, std::int64_t epochs_before = 0) {
    nn::Sequential model{nn::Dense(2, wide), nn::Dense(wide, 2)};
    Trainer trainer(model, loss::categorical_crossentropy_from_logits, optim::Adam(), {.mode = Mode::eager});
    options.verbose = false;
    options.validation = rings(20, 2);
    options.schedule = [](std::int64_t step, std::int64_t) { return 0.02f / (1 + 0.05f * static_cast<float>(step)); };
    if (epochs_before) trainer.fit(data, {.epochs = epochs_before, .verbose = false});
    options.checkpoint = checkpoint;
    return error_of([&] { trainer.fit(data, options); });
  };
  EXPECT_THAT(fit(9, {.batch_size = 4}), HasSubstr("the checkpoint was made with FitOptions::batch_size 8, now it is 4"));
  EXPECT_THAT(fit(9, {.batch_size = 8, .seed = 6}), HasSubstr("the checkpoint was made with FitOptions::seed 5, now it is 6"));
  EXPECT_THAT(fit(9, {.epochs = 3, .batch_size = 8, .seed = 5}),
              HasSubstr("has 'batch_norm_1.running_variance', which the trainer lacks; it is of another model or optimizer"));
  EXPECT_THAT(fit(9, {.epochs = 1, .batch_size = 8, .seed = 5}), HasSubstr("the checkpoint is of epoch 2 but FitOptions::epochs is 1"));
  EXPECT_THAT(fit(9, {.epochs = 3, .batch_size = 8, .seed = 5}, 1), HasSubstr("of a fit that began after epoch 0, this one begins after epoch 1"));
  EXPECT_THAT(error_of([&] { train({.checkpoint = {.folder = folder.path, .keep = 0}}); }), HasSubstr("checkpoint.keep at least 1, got 0 and 0"));
}

}  // namespace
}  // namespace sinter::test::checkpoint_test
