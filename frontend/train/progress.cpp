#include "frontend/train/progress.h"

#include <unistd.h>

#include <algorithm>
#include <iomanip>
#include <ostream>

#include "ir/error.h"

namespace sinter {

Progress::Progress(std::ostream& out, bool terminal, std::int64_t epochs) : out_(out), terminal_(terminal), epochs_(epochs) {}

void Progress::start_epoch(std::int64_t epoch, std::int64_t samples) {
  epoch_ = epoch;
  samples_ = samples;
  start_ = drawn_ = Clock::now();
}

void Progress::advance(std::int64_t done, double mean_loss) {
  if (!terminal_) return;
  const auto now = Clock::now();
  if (now - drawn_ < std::chrono::milliseconds(100)) return;
  drawn_ = now;
  constexpr std::int64_t width = 30;
  const double seconds = std::chrono::duration<double>(now - start_).count(), rate = static_cast<double>(done) / seconds;
  TextStream line;
  line << "\r" << epoch_ << "/" << epochs_ << std::fixed << std::setprecision(0);
  if (samples_) {
    const auto filled = static_cast<std::size_t>(std::clamp<std::int64_t>(width * done / samples_, 0, width));
    line << " [" << std::string(filled, '=') << std::string(width - filled, ' ') << "]";
  }
  line << " " << rate << " samples/s, ";
  if (samples_) line << static_cast<double>(std::max<std::int64_t>(0, samples_ - done)) / rate << " s left, ";
  line << "loss " << std::setprecision(4) << mean_loss << "\x1b[K";
  out_ << line.str() << std::flush;
}

void Progress::end_epoch(const std::string& line) { out_ << (terminal_ ? "\r" : "") << line << (terminal_ ? "\x1b[K\n" : "\n") << std::flush; }

bool stdout_is_terminal() { return isatty(STDOUT_FILENO) != 0; }

}  // namespace sinter
