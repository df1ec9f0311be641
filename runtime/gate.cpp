#include "runtime/gate.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bit>
#include <chrono>
#include <climits>

namespace sinter::runtime {

namespace {

constexpr std::chrono::microseconds spin_time{20};
constexpr std::uint32_t callers = 1, workers = 2;  // futex: who is meant

inline void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

/// The kernel looks at 32 bits of the word: the phase.
long Gate::futex(int operation, std::uint32_t value, std::uint32_t who) {
  static_assert(sizeof word_ == 2 * sizeof(std::uint32_t));
  auto* phase = reinterpret_cast<std::uint32_t*>(&word_) + (std::endian::native == std::endian::little ? 0 : 1);
  return syscall(SYS_futex, phase, operation | FUTEX_PRIVATE_FLAG, value, nullptr, nullptr, who);
}

// Either who announces sees the sleeper, or the sleeper's kernel call sees the new phase: both sides write first and then read, sequentially
// consistent.
void Gate::announce(Announcement now) {
  undone_.store(now.chunks, std::memory_order_relaxed);
  word_.store(pack(now), std::memory_order_seq_cst);
}

void Gate::wake_caller() {
  if (caller_sleeps_.load(std::memory_order_seq_cst)) futex(FUTEX_WAKE_BITSET, INT_MAX, callers);
}

void Gate::wake_workers(int count) {
  const long woken = futex(FUTEX_WAKE_BITSET, static_cast<std::uint32_t>(count), workers);
  if (woken > 0) sleeping_.fetch_sub(static_cast<std::int32_t>(woken), std::memory_order_seq_cst);
}

Gate::Seen Gate::wait_while(Announcement old, bool caller) {
  Announcement now;
  std::chrono::steady_clock::time_point end{};
  for (bool begun = false;; begun = true) {
    for (int i = 0; i < 32; ++i) {
      if ((now = load()) != old) return {now};
      pause();
    }
    const auto time = std::chrono::steady_clock::now();
    if (!begun) end = time + spin_time;
    if (time >= end) break;
  }
  const auto differs = [&] { return (now = unpack(word_.load(std::memory_order_seq_cst))) != old; };
  if (caller) {
    caller_sleeps_.store(true, std::memory_order_seq_cst);
    while (!differs()) futex(FUTEX_WAIT_BITSET, old.phase, callers);
    caller_sleeps_.store(false, std::memory_order_relaxed);
    return {now, true};
  }
  for (;;) {  // who wakes a worker counts it out; one that does not fall asleep counts itself out
    sleeping_.fetch_add(1, std::memory_order_seq_cst);
    if (differs() || futex(FUTEX_WAIT_BITSET, old.phase, workers) != 0) sleeping_.fetch_sub(1, std::memory_order_seq_cst);
    if (differs()) return {now, true};
  }
}

}  // namespace sinter::runtime
