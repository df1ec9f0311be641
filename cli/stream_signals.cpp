#include "cli/stream_signals.h"

#include <fcntl.h>
#include <sinter/sinter.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>

namespace sinter::cli {

namespace {

constexpr std::array<int, 4> numbers{SIGINT, SIGTERM, SIGHUP, SIGPIPE};

std::array<int, 2> ends{-1, -1};  // of a pipe that a handler writes to, so that no signal falls between a look at a flag and the wait for input
std::atomic<bool> stop{false}, reload{false};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler sets them");

void write_byte() {
  const int error = errno;
  [[maybe_unused]] const ssize_t count = ::write(ends[1], "", 1);  // a full pipe wakes as well
  errno = error;
}

void note(int number) {
  (number == SIGHUP ? reload : stop) = true;
  write_byte();
}

}  // namespace

StreamSignals::StreamSignals() {
  stop = reload = false;
  if (::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) throw UserError("stream", str("no pipe for signals (", runtime::error_text(errno), ")"));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    struct sigaction action{};
    if (numbers[i] == SIGPIPE) action.sa_handler = SIG_IGN;
    else action.sa_handler = note;
    action.sa_flags = numbers[i] == SIGHUP ? SA_RESTART : SA_RESTART | SA_RESETHAND;
    sigaction(numbers[i], &action, &before_[i]);
  }
}

StreamSignals::~StreamSignals() {
  for (std::size_t i = 0; i < numbers.size(); ++i) sigaction(numbers[i], &before_[i], nullptr);
  for (int& end : ends) ::close(end), end = -1;
}

int StreamSignals::descriptor() const { return ends[0]; }
void StreamSignals::wake() const { write_byte(); }
bool StreamSignals::stop_requested() const { return stop; }
bool StreamSignals::take_reload() const { return reload.exchange(false); }

void StreamSignals::clear() const {
  std::array<char, 64> bytes;
  while (::read(ends[0], bytes.data(), bytes.size()) > 0) {
  }
}

}  // namespace sinter::cli
