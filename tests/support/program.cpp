#include "tests/support/program.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <system_error>
#include <utility>

namespace sinter::test {

namespace {

/// A file in memory: unlike a pipe it takes all that a program prints while nobody reads.
class Paper {
 public:
  explicit Paper(const char* name) : descriptor_(::memfd_create(name, MFD_CLOEXEC)) {
    if (descriptor_ < 0) throw std::system_error(errno, std::generic_category(), "memfd_create");
  }
  ~Paper() { ::close(descriptor_); }
  Paper(const Paper&) = delete;
  Paper& operator=(const Paper&) = delete;

  int descriptor() const { return descriptor_; }
  std::string text() const {
    std::string result;
    std::array<char, 1 << 14> block;
    for (ssize_t count = 0; (count = ::pread(descriptor_, block.data(), block.size(), static_cast<off_t>(result.size()))) > 0;)
      result.append(block.data(), static_cast<std::size_t>(count));
    return result;
  }

 private:
  int descriptor_;
};

}  // namespace

std::ostream& operator<<(std::ostream& out, const Finished& f) {
  return out << "status " << f.status << "\nstandard output:\n" << f.out << "\nstandard error:\n" << f.err << "\n";
}

struct Started::Output {
  const Paper out{"out"}, err{"err"};
};

Started::Started(const std::string& program, const std::vector<std::string>& arguments, const std::function<void()>& prepare)
    : output_(std::make_unique<Output>()) {
  std::vector<char*> argv{const_cast<char*>(program.c_str())};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  process_ = ::fork();
  if (process_ < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (process_ == 0) {
    constexpr int cannot_start = 127;  // as a shell has it
    ::dup2(::open("/dev/null", O_RDONLY | O_CLOEXEC), STDIN_FILENO);
    ::dup2(output_->out.descriptor(), STDOUT_FILENO);
    ::dup2(output_->err.descriptor(), STDERR_FILENO);
    if (prepare) prepare();
    ::execv(program.c_str(), argv.data());
    ::_exit(cannot_start);
  }
}

Started::~Started() {
  if (process_ < 0) return;
  send(SIGKILL);
  (void)wait();
}

void Started::send(int signal) const {
  if (process_ > 0) ::kill(process_, signal);
}

std::string Started::err() const { return output_->err.text(); }

Finished Started::wait() {
  int state = 0;
  while (::waitpid(process_, &state, 0) < 0 && errno == EINTR) {
  }
  process_ = -1;
  return {WIFSIGNALED(state) ? 128 + WTERMSIG(state) : WEXITSTATUS(state), output_->out.text(), output_->err.text()};
}

Finished run(const std::string& program, const std::vector<std::string>& arguments, const std::function<void()>& prepare) {
  return Started(program, arguments, prepare).wait();
}

}  // namespace sinter::test
