// Names that come from files reach the terminal without their control characters.
#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>

#include "tests/cli/cli.h"

namespace sinter::test::terminal_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

class Terminal : public Cli {
 protected:
  /// A table whose names want to clear the screen, colour it and set its title.
  std::string table() const {
    std::string text = "size\x1b[2J,t\u202eown,\x1b]0;kind\a\n";
    for (int i = 0; i < 40; ++i) text += std::to_string(i) + (i % 3 ? ",Bonn\x1b[31m" : ",K\u009bln") + (i % 2 ? ",ye\u202es\n" : ",no\x7f\n");
    write_bytes(file("table.csv"), text);
    return file("table.csv");
  }
};

/// Text without any control character but ends of lines, and all of it UTF-8.
MATCHER(IsHarmless, "has no control characters") { return printable_lines(arg) == arg && arg.find('\t') == std::string::npos; }

TEST_F(Terminal, GetsNoControlCharactersOfNames) {
  const Arguments training{"train", "--data", table(), "--epochs", "1", "--quiet", "-o", file("model.sinter")};
  const Finished trained = sinter_with(training + Arguments{"--target", "\x1b]0;kind\a"});
  EXPECT_EQ(trained.status, 0) << trained;
  EXPECT_THAT(trained.out + trained.err, IsHarmless());
  EXPECT_THAT(
      sinter_with({"inspect", file("model.sinter")}),
      Prints(AllOf(IsHarmless(),
                   HasSubstr("features: size\\x1b[2J t\\u202eown=Bonn\\x1b[31m t\\u202eown=K\\u009bln\npredicts: \\x1b]0;kind\\x07 no\\x7f "))));
  for (const Arguments& command : {Arguments{"inspect", "--graph"}, {"explain"}, {"verify"}, {"bench", "--repeats", "1"}})
    EXPECT_THAT(sinter_with(command + Arguments{file("model.sinter")}), Prints(IsHarmless()));
}

TEST_F(Terminal, GetsNoControlCharactersOfATableThatAFileGets) {
  EXPECT_EQ(sinter_with({"train", "--data", table(), "--target", "\x1b]0;kind\a", "--epochs", "1", "--quiet", "-o", file("model.sinter")}).status, 0);
  write_bytes(file("row.csv"), "size\x1b[2J,t\u202eown\n1,K\u009bln\n");
  const Arguments command{"predict", file("model.sinter"), "--data", file("row.csv")};
  EXPECT_THAT(sinter_with(command), Prints(StartsWith("\x1b]0;kind\a,p(no\x7f),p(ye\u202es)\n")));
  const int terminal = ::posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
  ASSERT_TRUE(terminal >= 0 && ::grantpt(terminal) == 0 && ::unlockpt(terminal) == 0);
  const std::string name = ::ptsname(terminal);
  const auto to_terminal = [&] { ::dup2(::open(name.c_str(), O_WRONLY | O_NOCTTY | O_CLOEXEC), STDOUT_FILENO); };
  const int keeps_it_open = ::open(name.c_str(), O_RDWR | O_NOCTTY | O_CLOEXEC);
  EXPECT_EQ(sinter_with(command, to_terminal).status, 0);
  std::string text(1 << 12, '\0');
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(0, ::read(terminal, text.data(), text.size()))));
  EXPECT_THAT(text, StartsWith("\\x1b]0;kind\\x07,p(no\\x7f),p(ye\\u202es)\r\n"));
  ::close(keeps_it_open);
  ::close(terminal);
}

TEST_F(Terminal, GetsNoControlCharactersOfErrors) {
  const auto fails = [&](const Arguments& command, int status, const std::string& message) {
    EXPECT_THAT(sinter_with(command), Fails(status, AllOf(IsHarmless(), HasSubstr(message)))) << testing::PrintToString(command);
  };
  fails({"train", "--data", table(), "--target", "size\x1b[2K"}, failure, "there is no column 'size\\x1b[2K'; the nearest is 'size\\x1b[2J'");
  fails({"inspect", "no\x1b[31m.sinter"}, failure, "[no\\x1b[31m.sinter] cannot open the file");
  write_bytes(file("settings.json"), R"({"\u001b[31m": 1})");
  fails(training() + Arguments{"--config", file("settings.json")}, failure, "there is no setting '\\x1b[31m'");
  write_bytes(file("settings.json"), R"({"dropout": "\u001b[31m"})");
  fails(training() + Arguments{"--config", file("settings.json")}, bad_command_line, "[--dropout] must be a number in [0, 1), got '\\x1b[31m'");
  const std::string header = R"({"\u001b[2J":{"dtype":"F99","shape":[1],"data_offsets":[0,4]}})";
  write_bytes(file("w.safetensors"), std::string{static_cast<char>(header.size())} + std::string(7, '\0') + header + "abcd");
  fails({"convert", file("w.safetensors"), file("w.npz")}, failure, "\\x1b[2J");
}

}  // namespace
}  // namespace sinter::test::terminal_test
