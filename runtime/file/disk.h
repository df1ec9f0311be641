// Files that are written atomically, and files that are read with every size checked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/error.h"

namespace sinter::runtime {

/// The system refused a request of a reader or writer: no permission, too many open files, no memory, a failing disk. It says nothing about the
/// file's content; errors in that are UserErrors of another type.
class SystemError : public UserError {
 public:
  SystemError(std::string_view where, std::string_view message, int code) : UserError(where, message), code_(code) {}
  int code() const { return code_; }  ///< errno

 private:
  int code_;
};

/// Whether a committed file is on the disk when commit() returns, or may still be lost (never torn in a running system) if the machine fails.
enum class Durability : std::uint8_t { synced, unsynced };

/// The part between the name of a file and the rest of the name of its temporary file.
inline constexpr std::string_view temporary_infix = ".tmp-";

/// The system's text for an errno; for a file that is too large also that a limit is the cause.
std::string error_text(int error);

/// Writes a file so that a crash at any moment leaves the old file or the new one, never a part: a temporary file in the same folder, fsync,
/// rename, fsync of the folder. Without commit() nothing changes. Errors are SystemErrors that name the file and the system's reason.
///
/// Anything but a regular file (a device, a FIFO), and what the process has open (/dev/stdout, /dev/fd/N), is a stream: bytes go into it as they are
/// written, and it is never cut, replaced or removed.
class AtomicFile {
 public:
  /// Creates the temporary file, so that errors in the path show now. A stream is opened when it is first written to: a FIFO's reader would
  /// see its end otherwise.
  /// `mode`: of a new file, minus the umask; a file that replaces another keeps that one's mode.
  explicit AtomicFile(std::filesystem::path path, Durability durability = Durability::synced, unsigned mode = 0666);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::span<const std::byte> bytes);
  void commit();

 private:
  void write_through(std::span<const std::byte> bytes);
  void flush();
  void require(const char* what, int error) const;

  std::filesystem::path path_;
  Durability durability_;
  bool stream_ = false;
  std::string temporary_;  ///< of a stream: none
  int descriptor_ = -1;
  std::vector<std::byte> buffer_;
};

/// Writes all of a file as AtomicFile does.
void write_file(const std::filesystem::path& path, std::string_view text);

/// A file to append to; what is written is with the system when write() returns. A device, a FIFO or what the process has open is a stream, as for
/// AtomicFile. Errors are SystemErrors that name the file and the system's reason.
class AppendFile {
 public:
  /// Creates the file if there is none. A stream is opened when it is first written to.
  explicit AppendFile(std::filesystem::path path);
  ~AppendFile();
  AppendFile(const AppendFile&) = delete;
  AppendFile& operator=(const AppendFile&) = delete;

  void write(std::string_view text);
  /// Bytes in the file; 0 for a stream.
  std::uint64_t size() const;
  /// Truncates the file to `size` bytes; has no effect on a stream.
  void cut(std::uint64_t size);

 private:
  std::filesystem::path path_;
  bool stream_ = false;
  int descriptor_ = -1;
};

/// A regular file open for reading. Pipes, devices and folders are refused without blocking: files are read at any offset, some parts twice.
class InputFile {
 public:
  /// Throws SystemError if the file is missing, unreadable or no regular file.
  explicit InputFile(const std::filesystem::path& path);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  std::uint64_t size() const { return size_; }
  int descriptor() const { return descriptor_; }
  /// Fills `into` from this offset; throws UserError if the file ends before, SystemError if it cannot be read.
  void read(std::uint64_t offset, std::span<std::byte> into) const;
  /// Another descriptor of the open file, for a library that closes it. Throws SystemError.
  int duplicate() const;

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
  std::uint64_t size_ = 0;
};

}  // namespace sinter::runtime
