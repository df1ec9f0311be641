#include "bench/stream/allocations.h"

#include <atomic>
#include <cerrno>
#include <cstddef>

#include "ir/sanitizers.h"

#if SINTER_ADDRESS_SANITIZER || SINTER_THREAD_SANITIZER

std::optional<std::int64_t> sinter::bench::allocations() { return {}; }

#else

namespace {

std::atomic<std::int64_t> count{0};

}  // namespace

std::optional<std::int64_t> sinter::bench::allocations() { return count.load(); }

extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);

void* malloc(std::size_t size) { return ++count, __libc_malloc(size); }
void* calloc(std::size_t n, std::size_t size) { return ++count, __libc_calloc(n, size); }
void* realloc(void* memory, std::size_t size) { return ++count, __libc_realloc(memory, size); }
void* memalign(std::size_t alignment, std::size_t size) { return ++count, __libc_memalign(alignment, size); }
void* aligned_alloc(std::size_t alignment, std::size_t size) { return memalign(alignment, size); }
int posix_memalign(void** memory, std::size_t alignment, std::size_t size) {
  *memory = memalign(alignment, size);
  return *memory ? 0 : ENOMEM;
}
}

#endif
