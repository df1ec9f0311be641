#include "bench/stream/pipe.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <span>
#include <stdexcept>
#include <thread>

namespace sinter::bench {

namespace {

using Clock = std::chrono::steady_clock;

/// A program with a pipe to its standard input and one from its standard output.
class Program {
 public:
  Program(const std::vector<std::string>& command, int core) {
    std::array<int, 2> in, out;
    if (::pipe2(in.data(), O_CLOEXEC) != 0 || ::pipe2(out.data(), O_CLOEXEC) != 0) throw std::runtime_error("no pipes");
    for (const int end : {in[1], out[1]}) (void)::fcntl(end, F_SETPIPE_SZ, 1 << 20);
    std::vector<char*> argv;
    for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    child_ = ::fork();
    if (child_ < 0) throw std::runtime_error("cannot start a process");
    if (child_ == 0) {
      cpu_set_t one;
      CPU_ZERO(&one);
      CPU_SET(core, &one);
      ::sched_setaffinity(0, sizeof one, &one);
      ::dup2(in[0], STDIN_FILENO);
      ::dup2(out[1], STDOUT_FILENO);
      ::execvp(argv[0], argv.data());
      ::_exit(127);
    }
    ::close(in[0]), ::close(out[1]);
    in_ = in[1], out_ = out[0];
  }
  ~Program() {
    end_input();
    ::close(out_);
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  /// False if it reads no more.
  bool write(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t count = ::write(in_, bytes.data(), bytes.size());
      if (count < 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(count));
    }
    return true;
  }
  void end_input() {
    if (in_ >= 0) ::close(in_), in_ = -1;
  }
  std::size_t read(std::span<char> room) { return static_cast<std::size_t>(std::max<ssize_t>(0, ::read(out_, room.data(), room.size()))); }
  void wait(PipeRun& run) {
    int state = 0;
    struct rusage usage{};
    ::wait4(child_, &state, 0, &usage);
    const auto seconds = [](const timeval& time) { return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6; };
    run.cpu_seconds = seconds(usage.ru_utime) + seconds(usage.ru_stime);
    run.status = WIFSIGNALED(state) ? 128 + WTERMSIG(state) : WEXITSTATUS(state);
  }

 private:
  int in_ = -1, out_ = -1;
  pid_t child_ = -1;
};

}  // namespace

PipeRun run_through_pipe(const std::vector<std::string>& command, int core, std::string_view first, std::size_t first_bytes,
                         std::string_view records) {
  std::signal(SIGPIPE, SIG_IGN);
  PipeRun run;
  Program program(command, core);
  std::vector<char> answers(1 << 20);
  program.write(first);
  std::size_t left = first_bytes ? first_bytes : 1;
  while (left) {
    const std::size_t count = program.read(std::span(answers).first(first_bytes ? left : 1));
    if (count == 0) break;
    if (first_bytes) left -= count;
    else if (answers[0] == '\n') left = 0;
  }
  const auto start = Clock::now();
  std::thread writer([&] {
    program.write(records);
    program.end_input();
  });
  for (std::size_t count = 0; (count = program.read(answers)) > 0;) {
    run.bytes += count;
    run.newlines += static_cast<std::size_t>(std::count(answers.begin(), answers.begin() + static_cast<std::ptrdiff_t>(count), '\n'));
  }
  run.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  writer.join();
  program.wait(run);
  return run;
}

}  // namespace sinter::bench
