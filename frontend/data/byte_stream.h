// The bytes of a file in order, decompressed if it is a gzip file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "runtime/file/disk.h"

namespace sinter::data {

class ByteStream {
 public:
  /// Throws UserError if the file cannot be opened.
  explicit ByteStream(const std::filesystem::path& path);
  ~ByteStream();
  ByteStream(const ByteStream&) = delete;
  ByteStream& operator=(const ByteStream&) = delete;

  /// Reads up to into.size() bytes; fewer only at the end. Throws UserError for damaged gzip data.
  std::size_t read(std::span<std::byte> into);
  /// The most bytes that can follow: exact for a plain file, an upper bound for a compressed one.
  std::uint64_t most_left() const;
  bool compressed() const { return gzip_ != nullptr; }
  [[noreturn]] void fail(const std::string& message) const;

 private:
  std::string name_;
  runtime::InputFile file_;
  std::uint64_t at_ = 0;  ///< decompressed bytes read so far
  void* gzip_ = nullptr;
};

}  // namespace sinter::data
