// What readers and writers of files ask of the system: one function a call, so that a test can make each of them fail, stop or be recorded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace sinter::runtime {

/// The POSIX calls. Each returns 0 or an errno; all may be called from several threads at once.
class FileSystem {
 public:
  virtual ~FileSystem() = default;

  /// A file, open for reading. Opening a pipe waits for nobody.
  virtual int open_to_read(const std::string& path, int& descriptor);
  /// The first `count` of the bytes from this offset, of which there may be fewer than asked for; 0 at the end.
  virtual int read(int descriptor, std::uint64_t offset, std::span<std::byte> into, std::size_t& count);
  /// A new file, open for writing; EEXIST if there is one of this name.
  virtual int create(const std::string& path, unsigned mode, int& descriptor);
  /// What is there, open for writing. `flags`: of open(2), beside O_WRONLY. A FIFO opens when it has a reader.
  virtual int open(const std::string& path, int flags, int& descriptor);
  /// Writes the first `written` of these bytes, of which there may be fewer than asked for.
  virtual int write(int descriptor, std::span<const std::byte> bytes, std::size_t& written);
  /// Returns when the file's content is on the disk.
  virtual int sync(int descriptor);
  virtual int close(int descriptor);
  virtual int rename(const std::string& from, const std::string& to);
  /// Returns when names that were made, changed or removed in the folder are on the disk.
  virtual int sync_folder(const std::string& folder);
  virtual int remove(const std::string& path);
  /// Makes a folder and those above it; 0 if there is one.
  virtual int make_folder(const std::string& path);
  /// Takes a folder for this process until `descriptor` is closed; EWOULDBLOCK if another has it. -1 if it cannot be opened; else any other error
  /// says that the file system has no locks.
  virtual int lock_folder(const std::string& path, int& descriptor);

  /// The one in use.
  static FileSystem& current();
  /// For tests: from now on this one is in use, which must outlive its use; null: the system's. Returns the one before.
  static FileSystem* exchange(FileSystem* other);
};

}  // namespace sinter::runtime
