// The word that the threads of the team wait on.
#pragma once

#include <atomic>
#include <cstdint>

namespace sinter::runtime {

/// What is to be done now: `chunks` chunks of a phase, by the threads below `threads`; 0 threads: nothing.
struct Announcement {
  std::uint32_t phase = 0, threads = 0, chunks = 0;
  static constexpr std::uint32_t most_threads = (1u << 8) - 1, most_chunks = (1u << 24) - 1;
  bool operator==(const Announcement&) const = default;
};

/// Threads that wait spin for about 20 µs, longer than a phase of a small step takes, then sleep in the kernel. Thread 0, the caller, sleeps apart
/// from the others, the workers: it is woken whatever comes, they are if it is worth it. Never allocates.
class Gate {
 public:
  Announcement load() const { return unpack(word_.load(std::memory_order_acquire)); }
  /// One thread at a time announces, each time another phase. What it wrote before is seen by all who see the announcement.
  void announce(Announcement now);
  /// Counts chunks of the phase that are done. Returns whether it is over; then the thread sees what all others wrote during it.
  bool report(std::uint32_t chunks) { return undone_.fetch_sub(chunks, std::memory_order_acq_rel) == chunks; }
  /// Wakes the caller, if it sleeps.
  void wake_caller();
  /// Wakes so many workers of those that sleep.
  void wake_workers(int count);
  bool workers_sleep() const { return sleeping_.load(std::memory_order_seq_cst) > 0; }

  struct Seen {
    Announcement now;
    bool slept = false;
  };
  /// Returns the announcement once it is another one.
  Seen wait_while(Announcement old, bool caller);

 private:
  static std::uint64_t pack(Announcement a) { return std::uint64_t{a.chunks} << 40 | std::uint64_t{a.threads} << 32 | a.phase; }
  static Announcement unpack(std::uint64_t word) {
    return {static_cast<std::uint32_t>(word), static_cast<std::uint32_t>(word >> 32) & Announcement::most_threads,
            static_cast<std::uint32_t>(word >> 40)};
  }
  long futex(int operation, std::uint32_t value, std::uint32_t who);

  // Cache lines of their own: waiting threads read the word all the time.
  alignas(64) std::atomic<std::uint64_t> word_{0};
  alignas(64) std::atomic<std::uint32_t> undone_{0};   ///< chunks that are not reported
  alignas(64) std::atomic<std::int32_t> sleeping_{0};  ///< workers
  std::atomic<bool> caller_sleeps_{false};
};

}  // namespace sinter::runtime
