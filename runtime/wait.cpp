#include "runtime/wait.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <climits>

namespace sinter::runtime {

namespace {

constexpr std::chrono::microseconds spin_time{20};

inline void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

long futex(std::atomic<std::uint32_t>& word, int operation, std::uint32_t value) {
  static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t));
  return syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), operation | FUTEX_PRIVATE_FLAG, value, nullptr, nullptr, 0);
}

}  // namespace

// Either the storing thread sees the sleeper, or the sleeper's kernel call sees the new word: both sides write first and then read, sequentially
// consistent.
void Gate::store(std::uint32_t value) {
  word_.store(value, std::memory_order_seq_cst);
  if (sleepers_.load(std::memory_order_seq_cst)) futex(word_, FUTEX_WAKE, INT_MAX);
}

std::uint32_t Gate::wait_while(std::uint32_t old) {
  std::uint32_t now = load();
  if (now != old) return now;
  const auto end = std::chrono::steady_clock::now() + spin_time;
  do {
    for (int i = 0; i < 32; ++i) {
      if ((now = load()) != old) return now;
      pause();
    }
  } while (std::chrono::steady_clock::now() < end);
  sleepers_.fetch_add(1, std::memory_order_seq_cst);
  while ((now = word_.load(std::memory_order_seq_cst)) == old) futex(word_, FUTEX_WAIT, old);
  sleepers_.fetch_sub(1, std::memory_order_relaxed);
  return now;
}

}  // namespace sinter::runtime
