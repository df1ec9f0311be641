// sinter predict --stream: records in, answers out, from outside.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <sstream>

#include "ir/error.h"
#include "tests/cli/cli.h"

namespace sinter::test::stream_test {
namespace {

using testing::AllOf;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

/// A program that runs, with pipes for its standard streams.
class Running {
 public:
  explicit Running(const Arguments& arguments) {
    std::array<std::array<int, 2>, 3> pipes{};
    for (auto& ends : pipes) EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
    std::string program = SINTER_CLI_PROGRAM;
    std::vector<char*> argv{program.data()};
    for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
    argv.push_back(nullptr);
    (void)::signal(SIGPIPE, SIG_IGN);  // a program that has ended shows in what it printed
    child_ = ::fork();
    if (child_ == 0) {
      (void)::signal(SIGPIPE, SIG_DFL);
      ::dup2(pipes[0][0], STDIN_FILENO);
      ::dup2(pipes[1][1], STDOUT_FILENO);
      ::dup2(pipes[2][1], STDERR_FILENO);
      ::execv(program.c_str(), argv.data());
      ::_exit(127);
    }
    for (int i = 0; i < 3; ++i) {
      ends_[static_cast<std::size_t>(i)] = pipes[static_cast<std::size_t>(i)][i == 0];
      ::close(pipes[static_cast<std::size_t>(i)][i != 0]);
    }
  }
  ~Running() {
    for (const int stream : {0, 1, 2}) close(stream);
    if (child_ > 0) ::kill(child_, SIGKILL), (void)::waitpid(child_, nullptr, 0);
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  void write(std::string_view text) { EXPECT_EQ(::write(ends_[0], text.data(), text.size()), static_cast<ssize_t>(text.size())); }
  /// The next line of its standard output (1) or error (2), which is waited for; "" at the end.
  std::string line(int stream = 1) {
    std::string text;
    for (char c = 0; c != '\n' && ::read(ends_[static_cast<std::size_t>(stream)], &c, 1) == 1;) text += c;
    return text;
  }
  void close(int stream) {
    if (int& end = ends_[static_cast<std::size_t>(stream)]; end >= 0) ::close(end), end = -1;
  }
  void signal(int number) { ::kill(child_, number); }
  /// Waits for its end: the status, and all that it printed and nobody read.
  Finished end() {
    Finished result;
    for (std::string text = line(1); !text.empty(); text = line(1)) result.out += text;
    for (std::string text = line(2); !text.empty(); text = line(2)) result.err += text;
    int state = 0;
    EXPECT_EQ(::waitpid(std::exchange(child_, -1), &state, 0) > 0, true);
    result.status = WIFSIGNALED(state) ? 128 + WTERMSIG(state) : WEXITSTATUS(state);
    return result;
  }

 private:
  std::array<int, 3> ends_{-1, -1, -1};
  pid_t child_ = -1;
};

class StreamCommand : public Cli {
 protected:
  /// The command on a stream of these bytes.
  Finished streamed(const Arguments& options, const std::string& input, const std::function<void()>& prepare = {}) const {
    write_bytes(file("input"), input);
    return sinter_with(Arguments{"predict", file("model.sinter"), "--stream"} + options, [&, path = file("input")] {
      ::dup2(::open(path.c_str(), O_RDONLY | O_CLOEXEC), STDIN_FILENO);
      if (prepare) prepare();
    });
  }
  /// A model of three numbers, from arrays.
  void train_on_arrays() const {
    const std::string rows = std::string(36, '\0');  // three rows of zeros, whose targets are 0, 0 and 1
    const std::string head = "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 3), }",
                      numbers = "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 1), }";
    const auto npy = [](std::string header, const std::string& data) {
      header.append(117 - header.size(), ' ');
      return "\x93NUMPY\x01" + std::string(1, '\0') + little_endian(118, 2) + header + "\n" + data;
    };
    write_bytes(file("x.npy"), npy(head, rows));
    write_bytes(file("y.npy"), npy(numbers, rows.substr(0, 10) + "\x80\x3f"));
    EXPECT_THAT(sinter_with({"train", "--data", file("x.npy"), "--labels", file("y.npy"), "--epochs", "1", "--quiet", "--validation-split", "0", "-o",
                             file("model.sinter")}),
                Prints(HasSubstr("saved")));
  }
};

/// A row of the table of houses as JSON, its texts in quotes.
std::string json_of(const std::string& row) {
  std::istringstream fields(row);
  std::string name, area, town, rooms;
  std::getline(fields, name, ',') && std::getline(fields, area, ',') && std::getline(fields, town, ',') && std::getline(fields, rooms, ',');
  const auto number = [](const std::string& text) { return text.empty() ? "null" : "\"" + text + "\""; };
  return "{\"rooms\":" + number(rooms) + ",\"town\":\"" + town + "\",\"id\":[\"" + name + "\"],\"area\":" + number(area) + "}";
}

TEST_F(StreamCommand, AnswersWhatPredictAnswersForATable) {
  std::istringstream prices(sinter_with({"predict", model(), "--data", houses}).out), rows(read_bytes(houses));
  std::string price, row, json, expected, delimited;
  std::getline(prices, price);
  std::getline(rows, row);
  while (std::getline(prices, price) && std::getline(rows, row)) {
    json += json_of(row) + "\n";
    expected += "{\"prediction\":" + price + "}\n";
    delimited += price + ",\n";
  }
  const Finished answered = streamed({"json"}, json);
  EXPECT_EQ(answered.out, expected);
  EXPECT_EQ(answered.status, 0);
  EXPECT_THAT(answered.err, AllOf(StartsWith("sinter: "), HasSubstr(" records, 0 errors, 0 skipped, "), HasSubstr("; latency p50 ")));
  EXPECT_EQ(streamed({"csv"}, read_bytes(houses)).out, "prediction,error\n" + delimited);
  const std::string body = read_bytes(houses).substr(read_bytes(houses).find('\n') + 1);
  EXPECT_EQ(streamed({"csv", "--columns", "id,area,town,rooms,price"}, body).out, delimited);
  const Finished unknown = streamed({"json"}, "{\"town\":\"Graz\",\"area\":1,\"rooms\":1}\n");
  EXPECT_THAT(unknown.err, HasSubstr("warning: column 'town': unknown categories in 1 of 1 records, 'Graz' first; they count as missing"));
}

TEST_F(StreamCommand, AnswersEachLineAsItComes) {
  Running program({"predict", model(), "--stream", "json", "--metrics", file("metrics.prom")});
  for (const char* record : {"{\"area\":80,\"town\":\"Bonn\",\"rooms\":2}\n", "{\"area\":\"many\"}\n", "{\"area\":81}\n"}) {
    program.write(record);
    EXPECT_THAT(program.line(),
                HasSubstr(std::string(record).find("many") == std::string::npos ? "{\"prediction\":" : "{\"error\":\"[record 2] column 'area'"));
  }
  program.write("[1,2,\"x\"");  // not whole when the program is asked to end
  program.signal(SIGTERM);
  const Finished finished = program.end();
  EXPECT_EQ(finished.status, 0);
  EXPECT_EQ(finished.out, "");
  EXPECT_THAT(finished.err, StartsWith("sinter: 3 records, 1 error, 0 skipped, 2 results; latency"));
  EXPECT_THAT(read_bytes(file("metrics.prom")), AllOf(HasSubstr("\nsinter_records_total 3\n"), HasSubstr("\nsinter_record_errors_total 1\n"),
                                                      HasSubstr("\nsinter_score_count 2\n"), HasSubstr("\nsinter_model_generation 1\n")));
}

TEST_F(StreamCommand, EndsAtAnInterruptAndReportsInBetween) {
  Running program({"predict", model(), "--stream", "csv", "--columns", "area,town,rooms", "--counters-every", "1"});
  program.write("1,Bonn,2\n");
  EXPECT_THAT(program.line(), testing::EndsWith(",\n"));
  EXPECT_THAT(program.line(2), StartsWith("sinter: 1 record, 0 errors"));
  program.signal(SIGINT);
  EXPECT_THAT(program.end(), AllOf(Field(&Finished::status, 0), Field(&Finished::err, StartsWith("sinter: 1 record, 0 errors"))));
}

TEST_F(StreamCommand, TakesANewModelAtSighup) {
  const std::string record = "{\"area\":80,\"town\":\"Bonn\",\"rooms\":2}\n";
  Running program({"predict", model(), "--stream", "json"});
  program.write(record);
  const std::string first = program.line();
  EXPECT_THAT(sinter_with(training() + Arguments{"--seed", "7"}), Prints(HasSubstr("saved")));
  program.write(record);
  EXPECT_EQ(program.line(), first);
  program.signal(SIGHUP);
  EXPECT_EQ(program.line(2), "sinter: model 2 is used from now on, read from " + file("model.sinter") + "\n");
  program.write(record);
  const std::string second = program.line();
  EXPECT_THAT(second, AllOf(StartsWith("{\"prediction\":"), Not(first)));
  write_bytes(file("model.sinter"), "no model");
  program.signal(SIGHUP);
  EXPECT_THAT(program.line(2), AllOf(StartsWith("sinter: ["), HasSubstr("model.sinter] ")));
  program.write(record);
  EXPECT_EQ(program.line(), second);
  program.close(0);
  EXPECT_THAT(program.end(), AllOf(Field(&Finished::status, 0), Field(&Finished::err, StartsWith("sinter: 4 records"))));
}

TEST_F(StreamCommand, ReadsRawNumbers) {
  train_on_arrays();
  const std::string two(24, '\0');
  EXPECT_EQ(streamed({"raw"}, two).out.size(), 8u);
  const Finished cut = streamed({"raw"}, two + "abc");
  EXPECT_EQ(cut.out.size(), 8u);
  EXPECT_THAT(cut, Fails(failure, "sinter: [stream] it ends in the middle of a record, after 3 of its 12 bytes\n"));
  EXPECT_THAT(streamed({"json"}, "[0,0,0]\n").out, StartsWith("{\"prediction\":"));
  EXPECT_THAT(streamed({"raw", "--columns", "a,b,c"}, ""), Fails(failure, HasSubstr("raw records are numbers in their order")));
}

TEST_F(StreamCommand, LongLinesAreErrors) {
  (void)model();
  const Finished answered = streamed({"json", "--max-line", "50"}, "{\"area\":80}\n" + std::string(60, 'x') + "\n{\"area\":80}");
  EXPECT_EQ(std::ranges::count(answered.out, '\n'), 3);
  EXPECT_THAT(answered.out, HasSubstr("}\n{\"error\":\"[record 2] a line is longer than the 50 bytes that are allowed\"}\n{"));
}

TEST_F(StreamCommand, LostAnswersAreAnError) {
  (void)model();
  const auto to_full = [] { ::dup2(::open("/dev/full", O_WRONLY | O_CLOEXEC), STDOUT_FILENO); };
  EXPECT_THAT(streamed({"json"}, "{}\n", to_full),
              Fails(failure, StartsWith("sinter: [standard output] cannot be written (No space left on device); the answers")));
  EXPECT_THAT(streamed({"json"}, "{}\n", [] { ::close(STDIN_FILENO); }), Fails(failure, StartsWith("sinter: [standard input] cannot be read (")));
  Running program({"predict", file("model.sinter"), "--stream", "json"});
  program.close(1);
  program.write("{}\n");
  EXPECT_THAT(program.end(), Fails(failure, StartsWith("sinter: [standard output] cannot be written (Broken pipe)")));
}

TEST_F(StreamCommand, RefusesOptionsThatDoNotFit) {
  const std::string saved = model();
  const auto refused = [&](const Arguments& options) { return sinter_with(Arguments{"predict", saved} + options).err; };
  EXPECT_THAT(sinter_with({"predict", saved}), Fails(bad_command_line, StartsWith("sinter: [predict] needs --data (Table with the columns")));
  EXPECT_EQ(refused({"--stream", "xml"}), "sinter: [--stream] must be json, csv or raw, got 'xml'\n");
  EXPECT_THAT(refused({"--stream", "json", "--data", houses}), HasSubstr("[--data] is for files; with --stream, records come on standard input"));
  EXPECT_THAT(refused({"--stream", "json", "-o", file("out")}), HasSubstr("[--out] is for files"));
  for (const Arguments& option :
       {Arguments{"--columns", "a"}, Arguments{"--max-line", "9"}, Arguments{"--metrics", "m"}, Arguments{"--counters-every", "9"}})
    EXPECT_EQ(refused(Arguments{"--data", houses} + option), "sinter: [" + option[0] + "] is for --stream\n");
  EXPECT_THAT(refused({"--stream", "raw"}), HasSubstr("but the model reads columns of a table; give json or csv records"));
  EXPECT_THAT(refused({"--stream", "csv", "--columns", "area,rooms"}), HasSubstr("there is no column 'town'"));
  EXPECT_THAT(refused({"--stream", "json", "--metrics", saved}), HasSubstr("[--metrics] would overwrite "));
  EXPECT_THAT(refused({"--stream", "json", "--metrics", file("none/m.prom")}), HasSubstr("none/m.prom"));
  EXPECT_EQ(refused({"--stream", "json", "--max-line", "0"}), "sinter: [--max-line] must be a whole number from 1 to 1000000000, got '0'\n");
  EXPECT_EQ(refused({"--stream", "json", "--counters-every", "-1"}),
            "sinter: [--counters-every] must be a whole number from 0 to 1000000000, got '-1'\n");
  EXPECT_THAT(streamed({"csv"}, "area,twn,rooms\n"),
              Fails(failure, "sinter: [stream] the header: there is no column 'town'; the nearest is 'twn'\n"));
}

}  // namespace
}  // namespace sinter::test::stream_test
