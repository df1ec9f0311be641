#include "frontend/train/interrupt.h"

#include <atomic>
#include <csignal>
#include <mutex>

namespace sinter {

namespace {

std::atomic<unsigned> interrupts{0};
static_assert(std::atomic<unsigned>::is_always_lock_free, "a signal handler counts them");
std::mutex mutex;  ///< guards what follows
int guards = 0;
struct sigaction handler_before{};

}  // namespace

InterruptGuard::InterruptGuard(bool wanted) : wanted_(wanted) {
  if (!wanted_) return;
  const std::lock_guard lock(mutex);
  before_ = interrupts.load();
  if (guards++) return;
  struct sigaction action{};
  action.sa_handler = [](int) { interrupts.fetch_add(1); };
  sigaction(SIGINT, &action, &handler_before);
}

InterruptGuard::~InterruptGuard() {
  if (!wanted_) return;
  const std::lock_guard lock(mutex);
  if (--guards == 0) sigaction(SIGINT, &handler_before, nullptr);
}

bool InterruptGuard::interrupted() const { return wanted_ && interrupts.load() != before_; }

}  // namespace sinter
