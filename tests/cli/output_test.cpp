// Output that is lost is an error, and what is written replaces nothing that it must not.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <optional>

#include "ir/sanitizers.h"
#include "tests/cli/cli.h"

namespace sinter::test::output_test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

class Output : public Cli {
 protected:
  /// Every command that prints.
  std::vector<Arguments> printing_commands() const {
    const std::string saved = model();
    return {{"--help"},
            {"--version"},
            {"train", "--help"},
            training(),
            {"predict", saved, "--data", houses},
            {"bench", saved, "--repeats", "1"},
            {"inspect", saved},
            {"inspect", saved, "--graph"},
            {"explain", saved},
            {"verify", saved},
            {"convert", saved, file("weights.npz")}};
  }
  /// Every command that writes files, to the file of this name; train writes three.
  std::vector<Arguments> writing_commands(const std::string& path, const std::string& saved) const {
    return {training() + Arguments{"-o", path},
            training() + Arguments{"--log", path},
            training() + Arguments{"--report", path},
            {"predict", saved, "--data", houses, "-o", path},
            {"inspect", saved, "--dot", path},
            {"inspect", saved, "--svg", path},
            {"convert", saved, path}};
  }
  /// A device of the test's own, since a command that replaces what it should write to must not get at the system's. Nothing where the system makes
  /// none.
  std::optional<std::string> device(const std::string& name, const char* like) const {
    struct stat status{};
    std::string path = file(name);
    if (::stat(like, &status) != 0 || !S_ISCHR(status.st_mode)) return std::nullopt;
    const int made = ::mknod(path.c_str(), S_IFCHR | 0666, status.st_rdev), opened = made == 0 ? ::open(path.c_str(), O_WRONLY | O_CLOEXEC) : -1;
    if (opened >= 0) ::close(opened);
    if (opened >= 0 || ::geteuid() == 0) return opened >= 0 ? std::optional(path) : std::nullopt;
    fs::remove(path);
    fs::create_symlink(like, path);  // who is not root can do it no harm
    return path;
  }
};

#define SKIP_WITHOUT(device) \
  if (!(device)) GTEST_SKIP() << "the system makes no devices for a test"

void print_to(const char* path) { ::dup2(::open(path, O_WRONLY | O_CLOEXEC), STDOUT_FILENO); }

// ---- standard output ----

TEST_F(Output, AFullDiskBehindStandardOutputIsAnErrorOfEveryCommand) {
  for (const Arguments& command : printing_commands())
    EXPECT_THAT(sinter_with(command, [] { print_to("/dev/full"); }),
                Fails(failure, HasSubstr("sinter: standard output cannot be written (No space left on device); what was printed is lost\n")))
        << testing::PrintToString(command);
}

TEST_F(Output, AFullDiskBehindStandardErrorIsAnError) {
  const auto full = [] { ::dup2(::open("/dev/full", O_WRONLY | O_CLOEXEC), STDERR_FILENO); };
  EXPECT_EQ(sinter_with({"predict", model(), "--data", houses, "-o", file("prices.csv")}, full).status, failure);  // r2 is lost
}

TEST_F(Output, AClosedStandardOutputIsAnErrorAndNothingGoesElsewhere) {
  for (const Arguments& command : printing_commands())
    EXPECT_THAT(sinter_with(command, [] { ::close(STDOUT_FILENO); }),
                Fails(failure, HasSubstr("sinter: standard output cannot be written (Bad file descriptor)")))
        << testing::PrintToString(command);
  EXPECT_THAT(sinter_with({"verify", file("model.sinter")}), Prints(HasSubstr("values agree")));
}

TEST_F(Output, AClosedPipeEndsACommandByItsSignalOrIsAnError) {
  const auto print_to_closed_pipe = [] {
    int ends[2];
    if (::pipe(ends) != 0) ::_exit(1);
    ::close(ends[0]);
    ::dup2(ends[1], STDOUT_FILENO);
  };
  const Arguments command{"inspect", model()};
  EXPECT_EQ(sinter_with(command, print_to_closed_pipe).status, 128 + SIGPIPE);
  EXPECT_THAT(sinter_with(command,
                          [&] {
                            print_to_closed_pipe();
                            std::signal(SIGPIPE, SIG_IGN);
                          }),
              Fails(failure, HasSubstr("standard output cannot be written (Broken pipe)")));
}

TEST_F(Output, ALostStandardOutputLosesNoModel) {
  EXPECT_EQ(sinter_with(training(), [] { print_to("/dev/full"); }).status, failure);
  EXPECT_THAT(sinter_with({"inspect", file("model.sinter")}), Prints(HasSubstr("predicts: price")));
}

// ---- devices and FIFOs ----

TEST_F(Output, IsWrittenToADeviceAndLeavesItOne) {
  const std::optional<std::string> null = device("null.npz", "/dev/null");
  SKIP_WITHOUT(null);
  const std::string saved = model();
  for (const Arguments& command : writing_commands(*null, saved)) {
    EXPECT_EQ(sinter_with(command).status, 0) << testing::PrintToString(command);
    EXPECT_TRUE(fs::is_character_file(*null)) << testing::PrintToString(command);
  }
}

TEST_F(Output, AFullDeviceIsAnErrorOfEveryCommand) {
  const std::optional<std::string> full = device("full.npz", "/dev/full");
  SKIP_WITHOUT(full);
  const std::string saved = model();
  for (const Arguments& command : writing_commands(*full, saved)) {
    EXPECT_THAT(sinter_with(command), Fails(failure, HasSubstr("cannot write the file: failed to write to it (No space left on device)")))
        << testing::PrintToString(command);
    EXPECT_TRUE(fs::is_character_file(*full));
  }
}

TEST_F(Output, ADumpThatIsLostIsAnError) {
  const std::optional<std::string> full = device("schedule.txt", "/dev/full");
  SKIP_WITHOUT(full);
  EXPECT_THAT(sinter_with({"explain", model()}, [&] { ::setenv("SINTER_DUMP", folder.path.c_str(), 1); }),
              Fails(failure, HasSubstr("[SINTER_DUMP] cannot write " + *full)));
}

TEST_F(Output, IsWrittenToAFifoAndLeavesItOne) {
  const std::string saved = model(), fifo = file("fifo.npz");
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  const int reader = ::open(fifo.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  ASSERT_GE(reader, 0);
  ASSERT_GT(::fcntl(reader, F_SETPIPE_SZ, 1 << 20), 0);  // takes all, so that nobody needs to read meanwhile
  for (const Arguments& command : writing_commands(fifo, saved)) {
    const std::string expected_path = file("expected.npz");
    Arguments to_file = command;
    std::replace(to_file.begin(), to_file.end(), fifo, expected_path);
    EXPECT_EQ(sinter_with(to_file).status, 0);
    EXPECT_EQ(sinter_with(command).status, 0) << testing::PrintToString(command);
    EXPECT_TRUE(fs::is_fifo(fifo)) << testing::PrintToString(command);
    std::string read(1 << 20, '\0');
    read.resize(static_cast<std::size_t>(std::max<ssize_t>(0, ::read(reader, read.data(), read.size()))));
    const bool timed = command.end()[-2] == "--log" || command.end()[-2] == "--report" || command.front() == "train";
    if (timed) EXPECT_THAT(read, Not(IsEmpty()));
    else EXPECT_EQ(read, read_bytes(expected_path)) << testing::PrintToString(command);
  }
  ::close(reader);
}

TEST_F(Output, StandardOutputCanBeNamed) {
  const Arguments command{"predict", model(), "--data", houses, "-o"};
  EXPECT_EQ(sinter_with(command + Arguments{file("prices.csv")}).status, 0);
  std::vector<std::string> names{"/dev/fd/1", "/proc/self/fd/1"};
  if (::geteuid() != 0) names.emplace_back("/dev/stdout");  // which root could replace
  for (const std::string& name : names) EXPECT_EQ(sinter_with(command + Arguments{name}).out, read_bytes(file("prices.csv"))) << name;
  EXPECT_THAT(sinter_with(command + Arguments{"/dev/fd/77"}), Fails(failure, HasSubstr("failed to open it (Bad file descriptor)")));
}

// ---- what must not be overwritten ----

TEST_F(Output, IsNeverWrittenOverAnInput) {
  const std::string saved = model(), data = file("data.csv"), before = read_bytes(houses);
  write_bytes(data, before);
  write_bytes(file("settings.json"), "{}");
  write_bytes(file("labels.npy"), read_bytes(fixture("labels.npy")));
  fs::create_symlink(data, file("link.csv"));
  fs::create_hard_link(data, file("hard.csv"));
  fs::create_directory(file("folder"));
  const auto refused = [&](const Arguments& command, const std::string& option) {
    EXPECT_THAT(sinter_with(command),
                Fails(failure, AllOf(StartsWith("sinter: [" + option + "] would overwrite "), HasSubstr(", which is an input; name another file"))))
        << testing::PrintToString(command);
    EXPECT_EQ(read_bytes(data), before);
  };
  const Arguments train{"train", "--data", data, "--target", "price", "--epochs", "1"};
  for (const char* option : {"--out", "--log", "--report"})
    for (const std::string& path : {data, file("link.csv"), file("hard.csv"), file("folder/../data.csv")})
      refused(train + Arguments{option, path}, option);
  refused(train + Arguments{"--config", file("settings.json"), "--log", file("settings.json")}, "--log");
  refused({"train", "--data", folder.path, "-o", data}, "--out");  // a file of a folder that is read
  refused({"train", "--data", fixture("x.npy"), "--labels", file("labels.npy"), "-o", file("labels.npy")}, "--out");
  refused({"predict", saved, "--data", data, "-o", file("link.csv")}, "--out");
  refused({"predict", saved, "--data", data, "-o", saved}, "--out");
  refused({"predict", saved, "--data", fixture("x.npy"), "--labels", file("labels.npy"), "-o", file("labels.npy")}, "--out");
  refused({"inspect", saved, "--dot", saved}, "--dot");
  refused({"inspect", saved, "--svg", saved}, "--svg");
  refused({"convert", saved, saved}, "--out");
}

TEST_F(Output, TwoOutputsAreTwoFiles) {
  write_bytes(file("old"), "");
  for (const std::string& path : {file("new"), file("old")})
    EXPECT_THAT(sinter_with(training() + Arguments{"-o", path, "--log", path}),
                Fails(failure, StartsWith("sinter: [--log] names the same path as --out, " + path)));
  fs::create_symlink(file("later"), file("link"));  // to what does not exist yet
  EXPECT_THAT(sinter_with(training() + Arguments{"-o", file("later"), "--log", file("link")}),
              Fails(failure, StartsWith("sinter: [--log] names the same path as --out, ")));
  const auto in_folder = [&] { ASSERT_EQ(::chdir(folder.path.c_str()), 0); };
  EXPECT_THAT(sinter_with(training() + Arguments{"-o", "other", "--log", file("other")}, in_folder),
              Fails(failure, StartsWith("sinter: [--log] names the same path as --out, ")));
  const std::optional<std::string> null = device("null", "/dev/null");
  SKIP_WITHOUT(null);
  EXPECT_EQ(sinter_with(training() + Arguments{"--log", *null, "--report", *null}).status, 0);
}

TEST_F(Output, FoldersAreNoOtherOutputsAndNoInputs) {
  const auto refused = [&](const Arguments& options, const std::string& message) {
    const Finished finished = sinter_with(training() + options);
    EXPECT_THAT(finished, Fails(failure, StartsWith("sinter: [" + message))) << testing::PrintToString(options);
    EXPECT_EQ(finished.out, "");  // nothing was trained
  };
  const std::string one = file("one"), folder_of = file("folder");
  fs::create_directory(folder_of);
  fs::create_directory_symlink(folder_of, file("alias"));
  for (const char* option : {"--tensorboard", "--checkpoints"}) {
    const std::string same = std::string(option) + "] names the same path as ";
    refused({"-o", one, option, one}, same + "--out, ");
    refused({"-o", one, option, one + "/"}, same + "--out, ");
    refused({"--log", one, option, file("folder/../one")}, same + "--log, ");
    refused({"-o", one, option, one + "/runs"},
            std::string(option) + "] " + one + "/runs would lie in " + one + ", the file of --out; name another path");
    refused({option, houses}, std::string(option) + "] would write into " + houses + ", which is an input; name another folder");
    write_bytes(file("old"), "");
    refused({option, file("old")}, std::string(option) + "] needs a folder, but " + file("old") + " is none; name another folder");
    EXPECT_EQ(sinter_with(training() + Arguments{option, file(option)}).status, 0);  // one of its own
  }
  refused({"--checkpoints", folder_of, "--tensorboard", file("alias")}, "--tensorboard] names the same path as --checkpoints, ");
  EXPECT_THAT(sinter_with({"train", "--data", folder_of, "--checkpoints", file("alias")}), Fails(failure, HasSubstr("which is an input")));
  EXPECT_FALSE(fs::exists(one));
}

// ---- before training, and after ----

TEST_F(Output, IsTriedBeforeTheWorkBegins) {
  write_bytes(file("model.sinter"), "a model of before");
  for (const char* option : {"-o", "--log", "--report"}) {
    Arguments command = training() + Arguments{option, file("nowhere/file")};
    std::erase(command, "--quiet");
    const Finished finished = sinter_with(command);
    EXPECT_THAT(finished, Fails(failure, HasSubstr("nowhere/file] cannot write the file: failed to")));
    EXPECT_THAT(finished.err, HasSubstr("(No such file or directory); choose a folder that exists and is writable"));
    EXPECT_EQ(finished.out, "");  // no layers, no epochs
  }
  EXPECT_THAT(sinter_with(training() + Arguments{"-o", folder.path}), Fails(failure, HasSubstr("it is a folder; give the name of a file")));
  EXPECT_EQ(read_bytes(file("model.sinter")), "a model of before");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path), {}), 1);  // trying leaves nothing
}

TEST_F(Output, ALogOrAReportThatCannotBeWrittenLosesNoModel) {
  fs::create_directory(file("events"));
  write_bytes(file("events/train"), "");  // where a folder is to be
  const std::optional<std::string> full = device("full", "/dev/full");
  SKIP_WITHOUT(full);
  const std::vector<std::pair<Arguments, std::string>> cases{{{"--report", *full},
                                                              "cannot write the file: failed to write to it (No space left on device); "
                                                              "make room on the device, or write to another one"},
                                                             {{"--log", *full}, "cannot write the file: failed to write to it"},
                                                             {{"--tensorboard", file("events")}, "cannot write events for TensorBoard"}};
  for (const auto& [options, message] : cases) {
    fs::remove(file("model.sinter"));
    const Finished finished = sinter_with(training() + options);
    EXPECT_THAT(finished, Fails(failure, HasSubstr(message)));
    EXPECT_THAT(finished.out, HasSubstr("saved " + file("model.sinter")));
    EXPECT_THAT(sinter_with({"predict", file("model.sinter"), "--data", houses}).status, 0);
  }
  const Finished both = sinter_with(training() + Arguments{"--log", *full, "--tensorboard", file("events")});
  EXPECT_THAT(both, Fails(failure, AllOf(HasSubstr("cannot write the file"), HasSubstr("cannot write events for TensorBoard"))));
}

// ---- limits ----

TEST_F(Output, TheLimitOnTheSizeOfFilesIsNamed) {
  if (SINTER_THREAD_SANITIZER) GTEST_SKIP() << "ThreadSanitizer maps a file of its own, which the limit makes too short";
  const auto limited = [] {
    const rlimit limit{1 << 10, 1 << 10};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    ::setenv("SINTER_CACHE", "off", 1);
  };
  const std::string reason = "(File too large: more than the limit on the size of a file, see ulimit -f)";
  const std::string saved = model();
  write_bytes(file("prices.csv"), "of before");
  EXPECT_THAT(sinter_with(training() + Arguments{"-o", file("other.sinter"), "--hidden", "64,64"}, limited), Fails(failure, HasSubstr(reason)));
  EXPECT_THAT(sinter_with({"inspect", saved, "--svg", file("graph.svg")}, limited),
              Fails(failure, HasSubstr("graph.svg] cannot write the file: failed to write to it " + reason)));
  EXPECT_FALSE(fs::exists(file("graph.svg")));
  EXPECT_THAT(sinter_with({"explain", saved},
                          [&] {
                            limited();
                            ::dup2(::open(file("explanation").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600), STDOUT_FILENO);
                          }),
              Fails(failure, HasSubstr("standard output cannot be written " + reason)));
}

TEST_F(Output, TooLittleMemoryIsNoFaultOfSinter) {
  if (SINTER_ADDRESS_SANITIZER || SINTER_THREAD_SANITIZER) GTEST_SKIP() << "a sanitizer reserves more memory than the limit";
  const auto limited = [] {
    constexpr rlim_t most = rlim_t{4} << 30;
    const rlimit limit{most, most};
    ::setrlimit(RLIMIT_AS, &limit);
  };
  for (const char* hidden : {"1000000,1000000", "2000000000,2000000000"})
    EXPECT_THAT(sinter_with(training() + Arguments{"--hidden", hidden}, limited), Fails(failure, HasSubstr("memory"))) << hidden;
  EXPECT_THAT(
      sinter_with(training() + Arguments{"--hidden", "1000000,1000000"}, limited),
      Fails(failure,
            "sinter: there is not enough memory for this; use less data, smaller layers or a smaller batch, or raise the limit (ulimit -v)\n"));
}

}  // namespace
}  // namespace sinter::test::output_test
