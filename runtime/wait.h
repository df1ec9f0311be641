// A word that threads wait on: they spin for about 20 µs, longer than a phase of a small step takes, then sleep in the kernel.
#pragma once

#include <atomic>
#include <cstdint>

namespace sinter::runtime {

/// Everything written before store() is seen by a thread that returns from wait_while(). Never allocates.
class alignas(64) Gate {
 public:
  std::uint32_t load() const { return word_.load(std::memory_order_acquire); }
  /// Changes the word and wakes all threads that sleep on it.
  void store(std::uint32_t value);
  /// Returns the word once it differs from `old`.
  std::uint32_t wait_while(std::uint32_t old);

 private:
  std::atomic<std::uint32_t> word_{0};
  std::atomic<std::uint32_t> sleepers_{0};
};

}  // namespace sinter::runtime
