// A memory-mapped file.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "runtime/file/disk.h"

namespace sinter::runtime {

/// The bytes of a file in the system's page cache, page-aligned and followed by at least 64 zeros. They may be written, which changes a private copy
/// of the page and never the file.
///
/// The pages are the file's own, so it must not change while they are in use. Replacing it by a rename, as AtomicFile does, leaves them whole; a
/// program that shortens the file in place ends this one with SIGBUS at the next access to the missing part, as with every mapped file.
class MappedFile {
 public:
  /// Throws SystemError if the system cannot map it.
  MappedFile(const InputFile& file, std::string_view where);
  /// The same for bytes that are in no file: a copy of them.
  MappedFile(std::string_view bytes, std::string_view where);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<std::byte> bytes() const { return bytes_; }

 private:
  /// Reserves memory for so many bytes and the zeros after them; from this file, or from none (-1).
  void reserve(std::size_t size, int descriptor, std::string_view where);

  std::span<std::byte> bytes_;
  std::size_t reserved_ = 0;
};

}  // namespace sinter::runtime
