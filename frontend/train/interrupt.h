// Ctrl-C during a training run.
#pragma once

namespace sinter {

/// While at least one lives, an interrupt (SIGINT) is counted in place of what the program does with it; the last one puts the program's handler
/// back.
class InterruptGuard {
 public:
  /// Does nothing if not `wanted`.
  explicit InterruptGuard(bool wanted);
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;
  /// Whether there was an interrupt since this was made.
  bool interrupted() const;

 private:
  bool wanted_;
  unsigned before_ = 0;  ///< interrupts counted until it was made
};

}  // namespace sinter
