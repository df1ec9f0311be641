// The system calls of readers and writers of files, one function each, so that a test can make each of them fail, stop or be recorded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace sinter::runtime {

/// The POSIX calls. Each returns 0 or an errno; all may be called from several threads concurrently.
class FileSystem {
 public:
  virtual ~FileSystem() = default;

  /// Opens a file for reading. Opening a pipe does not block.
  virtual int open_to_read(const std::string& path, int& descriptor);
  /// Reads bytes from this offset; `count` may be less than asked for; 0 at the end.
  virtual int read(int descriptor, std::uint64_t offset, std::span<std::byte> into, std::size_t& count);
  /// Creates a file and opens it for writing; EEXIST if there is one of this name.
  virtual int create(const std::string& path, unsigned mode, int& descriptor);
  /// Opens an existing file for writing. `flags`: of open(2), besides O_WRONLY. A FIFO opens when it has a reader.
  virtual int open(const std::string& path, int flags, int& descriptor);
  /// Writes bytes; `written` may be fewer than asked for.
  virtual int write(int descriptor, std::span<const std::byte> bytes, std::size_t& written);
  /// Returns when the file's content is on the disk.
  virtual int sync(int descriptor);
  virtual int close(int descriptor);
  virtual int rename(const std::string& from, const std::string& to);
  /// Returns when names that were created, changed or removed in the folder are on the disk.
  virtual int sync_folder(const std::string& folder);
  virtual int remove(const std::string& path);
  /// Creates a folder and its parents; 0 if it exists.
  virtual int make_folder(const std::string& path);
  /// Locks a folder for this process until `descriptor` is closed; EWOULDBLOCK if another has it. -1 if it cannot be opened; any other error
  /// means that the file system has no locks.
  virtual int lock_folder(const std::string& path, int& descriptor);

  /// The file system in use.
  static FileSystem& current();
  /// For tests: replaces the one in use by this, which must outlive its use; null: the system's. Returns the previous one.
  static FileSystem* exchange(FileSystem* other);
};

}  // namespace sinter::runtime
