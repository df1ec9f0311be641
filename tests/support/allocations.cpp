#include "tests/support/allocations.h"

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <limits>

namespace sinter::test {
namespace {

constexpr std::int64_t no_limit = std::numeric_limits<std::int64_t>::max();
std::atomic<std::int64_t> count{0}, limit{no_limit}, used_bytes{0}, refused_bytes{0};

/// Whether there may be so many bytes more. Bytes are added up under a limit only.
[[maybe_unused]] bool take(std::size_t n, std::size_t size) {
  ++count;
  const std::int64_t most = limit.load(std::memory_order_relaxed);
  if (most == no_limit) return true;
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(n, size, &bytes)) bytes = no_limit;
  std::int64_t used = used_bytes.load();
  while (bytes <= most - used)
    if (used_bytes.compare_exchange_weak(used, used + bytes)) return true;
  std::int64_t largest = refused_bytes.load();
  while (bytes > largest && !refused_bytes.compare_exchange_weak(largest, bytes)) {
  }
  return false;
}

[[maybe_unused]] void* refuse() {
  errno = ENOMEM;
  return nullptr;
}

}  // namespace

std::int64_t allocations() { return count.load(); }

AllocationLimit::AllocationLimit(std::int64_t bytes) {
  used_bytes = refused_bytes = 0;
  limit = bytes;
}
AllocationLimit::~AllocationLimit() { limit = no_limit; }
std::int64_t AllocationLimit::used() const { return used_bytes.load(); }
std::int64_t AllocationLimit::refused() const { return refused_bytes.load(); }

}  // namespace sinter::test

#if !SINTER_ADDRESS_SANITIZER && !SINTER_THREAD_SANITIZER
extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);

void* malloc(std::size_t size) { return sinter::test::take(1, size) ? __libc_malloc(size) : sinter::test::refuse(); }
void* calloc(std::size_t n, std::size_t size) { return sinter::test::take(n, size) ? __libc_calloc(n, size) : sinter::test::refuse(); }
void* realloc(void* memory, std::size_t size) { return sinter::test::take(1, size) ? __libc_realloc(memory, size) : sinter::test::refuse(); }
void* memalign(std::size_t alignment, std::size_t size) {
  return sinter::test::take(1, size) ? __libc_memalign(alignment, size) : sinter::test::refuse();
}
void* aligned_alloc(std::size_t alignment, std::size_t size) { return memalign(alignment, size); }
int posix_memalign(void** memory, std::size_t alignment, std::size_t size) {
  *memory = memalign(alignment, size);
  return *memory ? 0 : ENOMEM;
}
}
#endif
