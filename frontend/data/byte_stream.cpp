#include "frontend/data/byte_stream.h"

#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>

#include "ir/error.h"

namespace sinter::data {

namespace {

gzFile stream(void* gzip) { return static_cast<gzFile>(gzip); }

}  // namespace

ByteStream::ByteStream(const std::filesystem::path& path) : name_(path.string()), file_(path) {
  std::array<std::byte, 2> first{};
  if (file_.size() < first.size()) return;
  file_.read(0, first);
  if (first != std::array{std::byte{0x1f}, std::byte{0x8b}}) return;
  const int descriptor = file_.duplicate();
  gzip_ = gzdopen(descriptor, "rb");
  if (!gzip_) {
    ::close(descriptor);
    fail("cannot open the compressed file; check the memory that is left");
  }
  gzbuffer(stream(gzip_), 1 << 17);
}

ByteStream::~ByteStream() {
  if (gzip_) gzclose_r(stream(gzip_));
}

void ByteStream::fail(const std::string& message) const { throw UserError(name_, message); }

std::uint64_t ByteStream::most_left() const {
  constexpr std::uint64_t deflate_ratio = 1032;  // the most bytes that deflate expands one byte to
  const std::uint64_t most = compressed() ? file_.size() * deflate_ratio : file_.size();
  return most - std::min(most, at_);
}

std::size_t ByteStream::read(std::span<std::byte> into) {
  if (!compressed()) {
    const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(into.size(), most_left()));
    file_.read(at_, into.first(count));
    at_ += count;
    return count;
  }
  std::size_t done = 0;
  while (done < into.size()) {
    const int count = gzread(stream(gzip_), into.data() + done, static_cast<unsigned>(std::min<std::size_t>(into.size() - done, 1u << 30)));
    int code = Z_OK;
    const char* reason = gzerror(stream(gzip_), &code);
    if (code == Z_BUF_ERROR) fail("the compressed data ends before it is complete; copy or download the file again");
    if (count < 0 || (code != Z_OK && code != Z_STREAM_END))
      fail(str("the compressed data is damaged: ", reason, "; copy or download the file again"));
    if (count == 0) break;
    done += static_cast<std::size_t>(count);
  }
  at_ += done;
  return done;
}

}  // namespace sinter::data
