#include "frontend/data/idx.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "frontend/data/byte_stream.h"
#include "frontend/data/extents.h"
#include "ir/error.h"

namespace sinter::data {

namespace {

std::uint32_t big_endian(const std::byte* from) {
  std::uint32_t value;
  std::memcpy(&value, from, sizeof value);
  return __builtin_bswap32(value);
}

DType element_type(const ByteStream& stream, std::byte code) {
  switch (static_cast<int>(code)) {
    case 0x08:
      return DType::u8;
    case 0x0C:
      return DType::i32;
    case 0x0D:
      return DType::f32;
  }
  stream.fail(str("IDX element type ", static_cast<int>(code), " is not supported; u8 (8), i32 (12) and f32 (13) are"));
}

/// Grows with the bytes read, so that a false claim takes no more memory than the file justifies.
std::vector<std::byte> read_elements(ByteStream& stream, std::uint64_t size) {
  constexpr std::uint64_t step = std::uint64_t{4} << 20;
  std::vector<std::byte> bytes;
  while (bytes.size() < size) {
    const std::size_t start = bytes.size();
    bytes.resize(std::min<std::uint64_t>(size, std::max<std::uint64_t>(start * 2, stream.compressed() ? step : size)));
    const std::size_t count = stream.read(std::span(bytes).subspan(start));
    if (count < bytes.size() - start)
      stream.fail(
          str("the extents need ", size, " bytes of elements, but only ", start + count, " follow the header; copy or download the file again"));
  }
  std::byte extra{};
  if (stream.read({&extra, 1}))
    stream.fail(str("the extents need ", size, " bytes of elements, but more follow the header; check that it is an IDX file"));
  return bytes;
}

}  // namespace

HostArray read_idx(const std::filesystem::path& path) {
  ByteStream stream(path);
  std::array<std::byte, 4> magic{};
  if (stream.read(magic) < magic.size() || magic[0] != std::byte{0} || magic[1] != std::byte{0})
    stream.fail("is no IDX file: it does not begin with two zeros, an element type and a number of dimensions; check the path");
  HostArray array;
  array.dtype = element_type(stream, magic[2]);
  const auto rank = static_cast<std::size_t>(magic[3]);
  if (rank == 0 || rank > Shape::max_rank)
    stream.fail(str("an IDX file has 1 to ", Shape::max_rank, " dimensions, got ", rank, "; check that it is an IDX file"));

  for (std::size_t i = 0; i < rank; ++i) {
    std::array<std::byte, 4> extent{};
    if (stream.read(extent) < extent.size())
      stream.fail(str("the file ends within its header, which has ", rank, " extents; copy or download it again"));
    array.shape.push_back(big_endian(extent.data()));
  }
  const auto size = claimed_bytes(array.shape, size_of(array.dtype));
  if (!size || *size > stream.most_left())
    stream.fail(str("the extents ", Shape::fixed(array.shape), " of ", array.dtype, " need more bytes of elements than the ",
                    stream.compressed() ? "compressed " : "", "file can hold (", stream.most_left(), "); copy or download it again"));
  array.bytes = read_elements(stream, *size);
  if (size_of(array.dtype) == 4)
    for (std::uint32_t& word : array.values<std::uint32_t>()) word = __builtin_bswap32(word);
  return array;
}

}  // namespace sinter::data
