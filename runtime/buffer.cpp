#include "runtime/buffer.h"

#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <mutex>
#include <new>

#if defined(__has_feature)
#define SINTER_HAS_FEATURE(name) __has_feature(name)
#else
#define SINTER_HAS_FEATURE(name) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || SINTER_HAS_FEATURE(address_sanitizer)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
#endif

namespace sinter::runtime {

/// In the cache line before the data, unless the data has another owner.
struct alignas(64) Storage {
  std::atomic<std::uint32_t> references{1};
  std::uint32_t size_class = 0;
  std::size_t bytes = 0;     ///< as asked for
  std::size_t capacity = 0;  ///< of the whole block, this header included
  Storage* next = nullptr;   ///< in the free list
  std::byte* data = reinterpret_cast<std::byte*>(this + 1);
  std::shared_ptr<const void> owner;  ///< of the data; null for the pool's blocks
};
static_assert(sizeof(Storage) == 64);

namespace {

constexpr std::size_t slack = 64;
/// The pool keeps at least this much.
constexpr std::size_t always_kept = std::size_t{256} << 20;

/// Capacities are 128 bytes and then sixteen per power of two, so that at most a seventeenth of a large block is unused.
constexpr int classes_an_octave = 16;
struct SizeClass {
  std::uint32_t index;
  std::size_t capacity;
};
SizeClass size_class(std::size_t size) {
  size = std::max(size, std::size_t{128});
  const int exponent = std::bit_width(size - 1) - 1;  // 2^exponent < size <= 2^(exponent+1), or size is 128
  const std::size_t step = (std::size_t{1} << exponent) / classes_an_octave;
  const std::size_t steps = (size + step - 1) / step;  // 17 … 32 for sizes above 2^exponent
  return {static_cast<std::uint32_t>((exponent - 1) * classes_an_octave + static_cast<int>(steps) - 1), (steps * step + 63) / 64 * 64};
}

/// Large blocks request huge pages: rows that are picked at random from a data set then cause fewer TLB misses.
void* system_memory(std::size_t bytes) {
  constexpr std::size_t huge_page = std::size_t{2} << 20;
  void* memory = nullptr;
  if (posix_memalign(&memory, bytes < 2 * huge_page ? alignof(Storage) : huge_page, bytes)) return nullptr;
  if (bytes >= 2 * huge_page) (void)madvise(memory, bytes, MADV_HUGEPAGE);  // only a hint
  return memory;
}

/// Free blocks by size class. Live and pooled memory together stay below the peak of live memory (or 256 MB): a loop that needs the
/// same memory repeatedly gets it from here, and a single peak is not allocated twice.
class Pool {
 public:
  Storage* allocate(std::size_t bytes) {
    if (bytes > std::numeric_limits<std::size_t>::max() / 4) throw std::bad_alloc();
    const SizeClass wanted = size_class(sizeof(Storage) + bytes + slack);
    Storage* block = nullptr;
    {
      const std::lock_guard lock(mutex_);
      use_.live += wanted.capacity;
      most_live_ = std::max(most_live_, use_.live);
      if ((block = free_[wanted.index])) {
        free_[wanted.index] = block->next;
        use_.pooled -= wanted.capacity;
      }
    }
    void* memory = block;
    if (block) ASAN_UNPOISON_MEMORY_REGION(block->data, block->capacity - sizeof(Storage));
    else memory = system_memory(wanted.capacity);
    if (!memory) {
      const std::lock_guard lock(mutex_);
      use_.live -= wanted.capacity;
      throw std::bad_alloc();
    }
    block = new (memory) Storage;
    block->size_class = wanted.index;
    block->bytes = bytes;
    block->capacity = wanted.capacity;
    return block;
  }

  void release(Storage* block) {
    {
      const std::lock_guard lock(mutex_);
      use_.live -= block->capacity;
      if (use_.live + use_.pooled + block->capacity <= std::max(always_kept, most_live_)) {
        use_.pooled += block->capacity;
        ASAN_POISON_MEMORY_REGION(block->data, block->capacity - sizeof(Storage));
        block->next = std::exchange(free_[block->size_class], block);
        return;
      }
    }
    std::free(block);
  }

  void clear() {
    std::array<Storage*, classes> lists{};
    {
      const std::lock_guard lock(mutex_);
      lists.swap(free_);
      use_.pooled = 0;
      most_live_ = use_.live;
    }
    for (Storage* block : lists)
      while (block) {
        ASAN_UNPOISON_MEMORY_REGION(block->data, block->capacity - sizeof(Storage));
        std::free(std::exchange(block, block->next));
      }
  }

  MemoryUse use() {
    const std::lock_guard lock(mutex_);
    return use_;
  }

  /// Never destroyed: tensors in static storage may outlive any other static. A fork must not leave the lock to a thread that the child lacks.
  static Pool& instance() {
    static Pool* pool = [] {
      pthread_atfork([] { instance().mutex_.lock(); }, [] { instance().mutex_.unlock(); }, [] { instance().mutex_.unlock(); });
      return new Pool;
    }();
    return *pool;
  }

 private:
  static constexpr std::size_t classes = 64 * classes_an_octave;
  std::mutex mutex_;
  std::array<Storage*, classes> free_{};
  MemoryUse use_;
  std::size_t most_live_ = 0;
};

}  // namespace

Buffer Buffer::allocate(std::size_t bytes) { return Buffer(Pool::instance().allocate(bytes)); }

Buffer Buffer::zeroed(std::size_t bytes) {
  Buffer result = allocate(bytes);
  std::memset(result.data(), 0, bytes + slack);
  return result;
}

Buffer Buffer::of(std::byte* data, std::size_t bytes, std::shared_ptr<const void> owner) {
  auto* storage = new Storage;
  storage->bytes = bytes;
  storage->data = data;
  storage->owner = std::move(owner);
  return Buffer(storage);
}

Buffer::Buffer(const Buffer& other) noexcept : storage_(other.storage_) {
  if (storage_) storage_->references.fetch_add(1, std::memory_order_relaxed);
}

Buffer::~Buffer() {
  if (!storage_ || storage_->references.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  if (storage_->owner) delete storage_;
  else Pool::instance().release(storage_);
}

std::byte* Buffer::data() const { return storage_ ? storage_->data : nullptr; }
std::size_t Buffer::bytes() const { return storage_ ? storage_->bytes : 0; }
bool Buffer::unique() const { return storage_ && storage_->references.load(std::memory_order_acquire) == 1; }

MemoryUse memory_use() { return Pool::instance().use(); }
void release_pool() { Pool::instance().clear(); }

}  // namespace sinter::runtime
