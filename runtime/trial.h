// Which of two ways to do the same is faster here and now.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

namespace sinter::runtime {

/// Small work is done by one thread or by several, whichever is faster: that depends on how far the processors are from each other, and on what else
/// they do. Both ways are tried in turn, again and again, the more rarely the more often one has won.
class Trial {
 public:
  /// Whether to share the work this time.
  bool share() {
    measures_ = rest_ == 0;
    if (measures_) return run_ >= each;  // alone first
    --rest_;
    return shared_;
  }
  /// Whether done() is to be told how long it takes this time.
  bool measures() const { return measures_; }
  void done(std::uint64_t ticks) {
    const int within = run_ % each;
    if (within >= warm) times_[static_cast<std::size_t>(within - warm)] = ticks;
    if (++run_ == each) alone_ = median();
    if (run_ < 2 * each) return;
    const bool shared = median() < alone_;
    pause_ = shared == shared_ ? std::min(2 * pause_, longest_pause) : first_pause;
    shared_ = shared;
    rest_ = pause_;
    run_ = 0;
  }

 private:
  // The first runs of each way are not counted: workers may have to wake up. The median does not see a thread that was put aside meanwhile.
  static constexpr int warm = 16, measured = 16, each = warm + measured;
  static constexpr std::uint32_t first_pause = 1 << 10, longest_pause = 1 << 16;

  std::uint64_t median() {
    std::nth_element(times_.begin(), times_.begin() + measured / 2, times_.end());
    return times_[measured / 2];
  }

  std::uint32_t rest_ = 64;  ///< runs until both ways are tried again
  std::uint32_t pause_ = first_pause;
  int run_ = 0;  ///< of the trial
  bool shared_ = true, measures_ = false;
  std::array<std::uint64_t, measured> times_{};
  std::uint64_t alone_ = 0;
};

/// The same for whole calls that are short, by their mean time over tens of milliseconds: that sees threads that the system puts aside, who hold up a
/// call if they are in the middle of a chunk. Calls are shared, and alone is only tried when they take longer than they did before.
class CallTrial {
 public:
  bool share() const { return shared_; }
  /// Of each call, in ticks.
  void done(std::uint64_t begun, std::uint64_t ended) {
    sum_ += ended - begun;
    ++calls_;
    if (ended - window_begun_ < window) return;
    const std::uint64_t mean = std::exchange(sum_, 0) / std::exchange(calls_, 0);
    window_begun_ = ended;
    if (std::exchange(trying_, false)) {
      const bool better = mean < mean_;
      if (better) mean_ = mean;
      else shared_ = !shared_;
      pause_ = better ? first_pause : std::min(2 * pause_, longest_pause);
      rest_ = pause_;
      return;
    }
    mean_ = mean;
    if (shared_) least_ = std::min(least_, mean);
    if (rest_) --rest_;
    if (rest_ || (shared_ && mean < least_ + least_ / 2)) return;
    trying_ = true;
    shared_ = !shared_;
  }

 private:
  static constexpr std::uint64_t window = std::uint64_t{1} << 26;      ///< 15 to 30 ms
  static constexpr std::uint32_t first_pause = 4, longest_pause = 64;  ///< windows between two trials

  std::uint64_t sum_ = 0, calls_ = 0, window_begun_ = 0;  ///< of this window
  std::uint64_t mean_ = 0;                                ///< of the last window of the way that is kept
  std::uint64_t least_ = ~std::uint64_t{0};               ///< of any window of shared calls
  std::uint32_t rest_ = 0, pause_ = first_pause;
  bool shared_ = true, trying_ = false;
};

}  // namespace sinter::runtime
