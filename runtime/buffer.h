// Memory of tensors: reference-counted, 64-byte aligned, recycled.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace sinter::runtime {

struct Storage;  // header of a block: reference count, capacity, link of the free list

/// A handle on a block of memory. Blocks return to a pool with the last handle, and are reused only then; in the steady state nothing is
/// allocated or freed. Handles are thread-safe as shared_ptr is. The memory of a new buffer is not initialized, except by zeroed().
class Buffer {
 public:
  Buffer() = default;
  /// At least `bytes` bytes plus 64 readable bytes after them. Throws MemoryError.
  static Buffer allocate(std::size_t bytes);
  static Buffer zeroed(std::size_t bytes);
  /// Memory with another owner, which this keeps alive and never pools: 64-byte aligned, writable, with 64 readable bytes after it.
  static Buffer of(std::byte* data, std::size_t bytes, std::shared_ptr<const void> owner);

  Buffer(const Buffer& other) noexcept;
  Buffer(Buffer&& other) noexcept : storage_(std::exchange(other.storage_, nullptr)) {}
  Buffer& operator=(Buffer other) noexcept {
    std::swap(storage_, other.storage_);
    return *this;
  }
  ~Buffer();

  std::byte* data() const;
  std::size_t bytes() const;  ///< as asked for
  explicit operator bool() const { return storage_ != nullptr; }
  /// Whether this is the only handle: then a writer may write in place. Nothing is known of the numbers any more then.
  bool unique() const;
  /// For readers that would look at the same numbers again: the bytes from the beginning that were found to be finite f32, since a writer last asked
  /// unique(). Of memory with another owner, who may write at any time, none.
  std::size_t finite_bytes() const;
  void note_finite(std::size_t bytes) const;
  bool operator==(const Buffer&) const = default;

 private:
  explicit Buffer(Storage* storage) : storage_(storage) {}
  Storage* storage_ = nullptr;
};

/// Bytes in live buffers and in the pool, process-wide, for tests and reports; memory that others own is not counted.
struct MemoryUse {
  std::size_t live = 0, pooled = 0;
};
MemoryUse memory_use();
/// Gives the pool's memory back to the system.
void release_pool();

}  // namespace sinter::runtime
