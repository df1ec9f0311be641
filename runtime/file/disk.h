// Files that are written whole or not at all, and files that are read with every size checked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sinter::runtime {

/// Whether a committed file is on the disk when commit() returns, or may still be lost (never torn in a running system) if the machine fails.
enum class Durability : std::uint8_t { synced, unsynced };

/// What stands between the name of a file and the rest of the name of its temporary file.
inline constexpr std::string_view temporary_infix = ".tmp-";

/// Writes a file so that a crash at any moment leaves the old file or the new one, never a part: a temporary file in the same folder, fsync,
/// rename, fsync of the folder. Without commit() nothing changes. Errors are UserErrors that name the file and the system's reason.
class AtomicFile {
 public:
  /// `mode`: access to a new file, less what the umask takes; a file that is replaced leaves its own.
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
  std::string temporary_;
  int descriptor_ = -1;
  std::vector<std::byte> buffer_;
};

/// A regular file open for reading.
class InputFile {
 public:
  /// Throws UserError if the file is missing, unreadable or no regular file.
  explicit InputFile(const std::filesystem::path& path);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  std::uint64_t size() const { return size_; }
  int descriptor() const { return descriptor_; }
  /// Fills `into` from this offset; throws UserError if the file ends before.
  void read(std::uint64_t offset, std::span<std::byte> into) const;

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
  std::uint64_t size_ = 0;
};

}  // namespace sinter::runtime
