// Ctrl-C during training.
#pragma once

namespace sinter {

/// While at least one lives, interrupts (SIGINT) are counted instead of reaching the program's handler; the last one puts that handler
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
