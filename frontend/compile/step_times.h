// Where the calls of a training step spend their time.
#pragma once

#include <chrono>
#include <memory>
#include <span>

#include "frontend/compile/training_parts.h"

namespace sinter {

/// Sums over calls that StepCore::observe() asked for.
struct StepTimes {
  ByPart<double> seconds{};  ///< of the calls' wall time; of compiled steps the time of kernels on all threads, divided by the number of threads
  ByPart<double> flops{};    ///< by the cost model
  double waiting = 0;        ///< wall time in which threads of compiled steps had no kernel to run: before barriers, and before they had begun
  double calls = 0;          ///< wall time of the calls
  int threads = 1;           ///< the most of a call
};

/// Divides the time of an eager function among the parts of a step: each lasts until the next is entered.
class PartClock {
 public:
  /// Begins with the data. Null: nothing is measured.
  explicit PartClock(StepTimes* into) : into_(into) {
    if (into_) since_ = Clock::now();
  }
  ~PartClock() { enter(part_); }
  PartClock(const PartClock&) = delete;
  PartClock& operator=(const PartClock&) = delete;

  void enter(TrainingPart part) {
    if (!into_) return;
    const Clock::time_point now = Clock::now();
    into_->seconds[static_cast<std::size_t>(part_)] += std::chrono::duration<double>(now - since_).count();
    since_ = now;
    part_ = part;
  }

 private:
  using Clock = std::chrono::steady_clock;
  StepTimes* into_;
  TrainingPart part_ = TrainingPart::data;
  Clock::time_point since_;
};

}  // namespace sinter
