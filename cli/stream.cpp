#include "cli/stream.h"

#include <fcntl.h>
#include <poll.h>
#include <sinter/sinter.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <future>
#include <iostream>
#include <utility>
#include <vector>

#include "cli/output.h"
#include "cli/stream_signals.h"
#include "cli/task.h"
#include "cli/words.h"

namespace sinter::cli {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t most_read = std::size_t{1} << 20;  // bytes

void wait_for_room() {
  pollfd output{STDOUT_FILENO, POLLOUT, 0};
  (void)::poll(&output, 1, -1);  // an error shows in what is written next
}

void write_all(std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(STDOUT_FILENO, text.data(), text.size());
    if (count >= 0) text.remove_prefix(static_cast<std::size_t>(count));
    else if (errno == EAGAIN) wait_for_room();
    else if (errno != EINTR)
      throw UserError("standard output",
                      str("cannot be written (", runtime::error_text(errno), "); the answers to the records that were read last are lost"));
  }
}

/// Reads the model file again on another thread.
class Reload {
 public:
  Reload(serve::Scorer& scorer, const std::string& path, const StreamSignals& signals) : scorer_(scorer), path_(path), signals_(signals) {}

  void start() {
    if (is_wanted_ = running_.valid(); is_wanted_) return;  // once that has ended
    running_ = std::async(std::launch::async, [this] {
      std::string error;
      try {
        scorer_.swap(path_);
      } catch (const std::exception& refused) {
        error = refused.what();
      }
      is_over_ = true;
      signals_.wake();
      return error;
    });
  }
  /// Says what became of it, if it has ended.
  void look() {
    if (!is_over_.exchange(false)) return;
    const std::string error = running_.get();
    if (error.empty()) std::cerr << "sinter: model " << scorer_.generation() << " is used from now on, read from " << printable(path_) << std::endl;
    else std::cerr << "sinter: " << printable_lines(in_words_of_the_shell(error)) << std::endl;
    if (is_wanted_) start();
  }

 private:
  serve::Scorer& scorer_;
  const std::string& path_;
  const StreamSignals& signals_;
  std::future<std::string> running_;
  std::atomic<bool> is_over_{false};
  bool is_wanted_ = false;
};

serve::RecordScorerOptions options_of(const StreamSettings& s) {
  std::vector<std::string> columns = parts_of(s.columns);
  return {.format = {.format = serve::format_named(s.format), .columns = std::move(columns), .delimiter = s.delimiter}};
}

class Stream {
 public:
  explicit Stream(const StreamSettings& settings)
      : settings_(settings),
        scorer_(settings.model, {.threads = 0, .log = warn_on_stderr}),
        records_(scorer_, options_of(settings)),
        reader_(records_, static_cast<std::size_t>(settings.max_line), [this](std::string_view text, auto answers) { write(text, answers); }),
        counters_(records_.score_bounds()),
        reload_(scorer_, settings_.model, signals_) {}

  void run() {
    (void)::fcntl(STDIN_FILENO, F_SETPIPE_SZ, static_cast<int>(most_read));  // fewer reads of a pipe; not all systems allow it
    while (!signals_.stop_requested() && read_some()) {
      reload_.look();
      if (signals_.take_reload()) reload_.start();
      if (Clock::now() >= next_report_) report();
    }
    if (!signals_.stop_requested()) reader_.finish();
    finish();
  }

 private:
  /// Waits for what comes next, and answers it. False at the end of the input.
  bool read_some() {
    std::array<pollfd, 2> awaited{{{STDIN_FILENO, POLLIN, 0}, {signals_.descriptor(), POLLIN, 0}}};
    (void)::poll(awaited.data(), awaited.size(), is_reported_ ? -1 : milliseconds_to(next_report_));
    signals_.clear();
    if (signals_.stop_requested() || awaited[0].revents == 0) return true;
    const ssize_t count = ::read(STDIN_FILENO, reader_.room(most_read).data(), most_read);
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) return true;
    if (count < 0) throw UserError("standard input", str("cannot be read (", runtime::error_text(errno), ")"));
    read_at_ = Clock::now();
    reader_.take(static_cast<std::size_t>(count));
    return count > 0;
  }

  void write(std::string_view text, std::span<const serve::Answer> answers) {
    write_all(text);
    counters_.add(answers);
    counters_.add_latency(std::chrono::duration<double>(Clock::now() - read_at_).count(), static_cast<std::int64_t>(answers.size()));
    counters_.add_results(std::count_if(answers.begin(), answers.end(), [](const serve::Answer& a) { return !a.is_error && !a.is_skipped; }));
    if (is_reported_)
      next_report_ = settings_.counters_every ? Clock::now() + std::chrono::seconds(settings_.counters_every) : Clock::time_point::max();
    is_reported_ = false;
  }

  static int milliseconds_to(Clock::time_point time) {
    if (time == Clock::time_point::max()) return -1;
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(time - Clock::now()).count() + 1;
    return static_cast<int>(std::clamp<std::int64_t>(left, 0, 1'000'000));
  }

  void write_metrics() {
    if (settings_.metrics.empty()) return;
    counters_.set("sinter_model_generation", "The number of the model, one more after each swap.", static_cast<double>(scorer_.generation()));
    counters_.write(settings_.metrics);
  }

  void report() {
    next_report_ = Clock::time_point::max();
    if (std::exchange(is_reported_, true)) return;
    std::cerr << "sinter: " << counters_.text() << std::endl;
    try {
      write_metrics();
    } catch (const UserError& error) {  // the stream goes on
      warn_on_stderr(error.what());
    }
  }

  void finish() {
    for (const data::ColumnSummary& column : records_.summary())
      if (column.unseen)
        warn_on_stderr(str("column '", column.name, "': unknown categories in ", column.unseen, " of ", counters_.records(), " records, '",
                           column.first_unseen, "' first; they count as missing"));
    std::cerr << "sinter: " << counters_.text() << std::endl;
    write_metrics();
  }

  const StreamSettings& settings_;
  serve::Scorer scorer_;
  serve::RecordScorer records_;
  serve::StreamReader reader_;
  serve::Counters counters_;
  StreamSignals signals_;
  Reload reload_;

  Clock::time_point read_at_, next_report_ = Clock::time_point::max();
  bool is_reported_ = true;
};

}  // namespace

void run_stream(const StreamSettings& settings) {
  check_outputs({.files = {{"--metrics", settings.metrics}}}, {settings.model});
  Stream(settings).run();
}

}  // namespace sinter::cli
