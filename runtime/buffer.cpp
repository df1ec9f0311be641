#include "runtime/buffer.h"

#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>

#include "ir/sanitizers.h"
#include "ir/size_text.h"

#if SINTER_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#define SINTER_MAPS_MEMORY false  // what the sanitizer does not allocate it does not guard
#else
#define SINTER_MAPS_MEMORY true
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
  std::byte* data = reinterpret_cast<std::byte*>(this + 1);
  std::shared_ptr<const void> owner;  ///< of the data; null for the pool's blocks
  std::atomic<std::size_t> finite{0};
};
static_assert(sizeof(Storage) == 64);

namespace {

/// A pooled block begins with this instead.
struct alignas(64) FreeBlock {
  std::uint32_t size_class = 0;
  std::size_t capacity = 0;
  FreeBlock *next = nullptr, *previous = nullptr;  ///< of the same size: the last one freed is first
  FreeBlock *newer = nullptr, *older = nullptr;    ///< of any size
  std::size_t freed_at = 0;                        ///< bytes that were freed before it
  std::byte* data() { return reinterpret_cast<std::byte*>(this + 1); }
};
static_assert(sizeof(FreeBlock) == sizeof(Storage));

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

constexpr std::size_t huge_page = std::size_t{2} << 20;

/// Large blocks are pages that the system gives when they are first touched, as zeros: what a step reserves and does not need costs nothing.
constexpr bool is_mapped(std::size_t capacity) { return SINTER_MAPS_MEMORY && capacity >= 2 * huge_page; }

/// Large blocks request huge pages: rows that are picked at random from a data set then cause fewer TLB misses.
void* system_memory(std::size_t capacity) {
  if (!is_mapped(capacity)) {
    void* memory = nullptr;
    return posix_memalign(&memory, capacity < 2 * huge_page ? alignof(Storage) : huge_page, capacity) ? nullptr : memory;
  }
  void* all = mmap(nullptr, capacity + huge_page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (all == MAP_FAILED) return nullptr;
  const std::size_t before = (huge_page - reinterpret_cast<std::uintptr_t>(all) % huge_page) % huge_page;
  std::byte* memory = static_cast<std::byte*>(all) + before;
  if (before) munmap(all, before);
  munmap(memory + capacity, huge_page - before);
  (void)madvise(memory, capacity, MADV_HUGEPAGE);  // only a hint
  return memory;
}

void give_back(FreeBlock* block) {
  ASAN_UNPOISON_MEMORY_REGION(block->data(), block->capacity - sizeof(FreeBlock));
  if (is_mapped(block->capacity)) munmap(block, block->capacity);
  else std::free(block);
}

/// Free blocks by size class. Live and pooled memory together stay below the peak of live memory (or 256 MB): a loop that needs the same memory
/// repeatedly gets it from here, and a single peak is not allocated twice. Where that is full, blocks go that nothing needed while twice as much was
/// freed, as those of work that is over; else the block that was just freed: of a loop that needs more in turn, a part stays.
class Pool {
 public:
  /// `zeros`: of zeros, as new memory that is mapped is anyway.
  Storage* allocate(std::size_t bytes, bool zeros) {
    constexpr std::size_t most = std::size_t{1} << 56;  // no computer addresses more
    if (bytes > most) refuse(bytes);
    const SizeClass wanted = size_class(sizeof(Storage) + bytes + slack);
    FreeBlock* pooled = nullptr;
    {
      const std::lock_guard lock(mutex_);
      use_.live += wanted.capacity;
      most_live_ = std::max(most_live_, use_.live);
      if ((pooled = free_[wanted.index])) take_out(pooled);
    }
    void* memory = pooled;
    zeros = zeros && (pooled || !is_mapped(wanted.capacity));
    if (pooled) ASAN_UNPOISON_MEMORY_REGION(pooled->data(), pooled->capacity - sizeof(FreeBlock));
    else memory = system_memory(wanted.capacity);
    if (!memory) {
      {
        const std::lock_guard lock(mutex_);
        use_.live -= wanted.capacity;
      }
      refuse(bytes);
    }
    auto* block = new (memory) Storage;
    block->size_class = wanted.index;
    block->bytes = bytes;
    block->capacity = wanted.capacity;
    if (zeros) std::memset(block->data, 0, bytes + slack);
    return block;
  }

  void release(Storage* block) {
    const std::size_t capacity = block->capacity;
    const std::uint32_t size_class = block->size_class;
    auto* freed = new (static_cast<void*>(block)) FreeBlock{.size_class = size_class, .capacity = capacity};
    ASAN_POISON_MEMORY_REGION(freed->data(), capacity - sizeof(FreeBlock));
    FreeBlock* given_back;
    {
      const std::lock_guard lock(mutex_);
      use_.live -= capacity;
      put_in(freed);
      given_back = take_above(std::max(always_kept, most_live_));
    }
    give_back_all(given_back);
  }

  void clear() {
    FreeBlock* given_back;
    {
      const std::lock_guard lock(mutex_);
      given_back = take_above(use_.live);
      most_live_ = use_.live;
    }
    give_back_all(given_back);
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
  void put_in(FreeBlock* block) {
    FreeBlock*& first = free_[block->size_class];
    block->next = first;
    if (first) first->previous = block;
    first = block;
    block->older = newest_;
    (newest_ ? newest_->newer : oldest_) = block;
    newest_ = block;
    block->freed_at = freed_;
    freed_ += block->capacity;
    use_.pooled += block->capacity;
  }

  void take_out(FreeBlock* block) {
    (block->previous ? block->previous->next : free_[block->size_class]) = block->next;
    if (block->next) block->next->previous = block->previous;
    (block->older ? block->older->newer : oldest_) = block->newer;
    (block->newer ? block->newer->older : newest_) = block->older;
    use_.pooled -= block->capacity;
  }

  /// Takes blocks out until live and pooled memory are no more than that. They are linked by `next`.
  FreeBlock* take_above(std::size_t most) {
    FreeBlock* taken = nullptr;
    while (oldest_ && use_.live + use_.pooled > most) {
      FreeBlock* block = freed_ - oldest_->freed_at > 2 * most ? oldest_ : newest_;
      take_out(block);
      block->next = std::exchange(taken, block);
    }
    return taken;
  }

  static void give_back_all(FreeBlock* block) {
    while (block) {
      FreeBlock* next = block->next;
      give_back(std::exchange(block, next));
    }
  }

  [[noreturn]] void refuse(std::size_t bytes) {
    throw MemoryError("memory",
                      str("the system has no ", size_text(static_cast<double>(bytes)), " left; tensors and steps hold ",
                          size_text(static_cast<double>(use().live)), ": use smaller batches, layers or data, or raise the limit (ulimit -v)"));
  }

  static constexpr std::size_t classes = 64 * classes_an_octave;
  std::mutex mutex_;
  std::array<FreeBlock*, classes> free_{};
  FreeBlock *oldest_ = nullptr, *newest_ = nullptr;
  std::size_t freed_ = 0;  ///< bytes so far
  MemoryUse use_;
  std::size_t most_live_ = 0;
};

}  // namespace

Buffer Buffer::allocate(std::size_t bytes) { return Buffer(Pool::instance().allocate(bytes, false)); }
Buffer Buffer::zeroed(std::size_t bytes) { return Buffer(Pool::instance().allocate(bytes, true)); }

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
bool Buffer::unique() const {
  if (!storage_ || storage_->references.load(std::memory_order_acquire) != 1) return false;
  storage_->finite.store(0, std::memory_order_relaxed);
  return true;
}

std::size_t Buffer::finite_bytes() const { return storage_ ? storage_->finite.load(std::memory_order_relaxed) : 0; }
void Buffer::note_finite(std::size_t bytes) const {
  if (storage_ && !storage_->owner) storage_->finite.store(bytes, std::memory_order_relaxed);
}

MemoryUse memory_use() { return Pool::instance().use(); }
void release_pool() { Pool::instance().clear(); }

}  // namespace sinter::runtime
