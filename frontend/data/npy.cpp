#include "frontend/data/npy.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "frontend/data/extents.h"
#include "frontend/data/narrow.h"
#include "frontend/data/npy_header.h"
#include "ir/error.h"
#include "runtime/file/disk.h"

namespace sinter::data {

namespace {

/// A type as NumPy writes it, and ours.
struct NpyType {
  std::string_view descr;
  DType dtype;
  std::size_t size;
};
constexpr std::array<NpyType, 7> npy_types{{{"<f4", DType::f32, 4},
                                            {"<i4", DType::i32, 4},
                                            {"<u4", DType::u32, 4},
                                            {"|u1", DType::u8, 1},
                                            {"|b1", DType::boolean, 1},
                                            {"<f8", DType::f32, 8},
                                            {"<i8", DType::i32, 8}}};

/// The header of NumPy's file, and its length.
std::pair<NpyHeader, std::uint64_t> read_header(const NpyFile& file, const std::string& where) {
  constexpr std::string_view magic = "\x93NUMPY";
  std::array<char, 12> start{};
  const std::size_t have = std::min<std::uint64_t>(file.size, start.size());
  file.read(0, std::as_writable_bytes(std::span(start).first(have)));
  if (have < 10 || std::string_view(start.data(), magic.size()) != magic)
    throw UserError(where, "is no .npy file: it does not begin with NumPy's magic string; write it with numpy.save");
  const int version = start[6];
  if (version != 1 && version != 2)
    throw UserError(where, str(".npy format version ", version, " is not supported, 1 and 2 are; write it with numpy.save and plain types"));
  std::uint64_t length = 0;
  const std::uint64_t begin = version == 1 ? 10 : 12;
  std::memcpy(&length, start.data() + 8, begin - 8);
  if (begin + length > file.size) throw UserError(where, str("the header takes ", length, " bytes, but the file has ", file.size, "; copy it again"));
  constexpr std::uint64_t longest = 64 << 10;
  if (length > longest) throw UserError(where, str("the header takes ", length, " bytes, more than ", longest, "; the file is damaged"));
  std::string text(length, '\0');
  file.read(begin, std::as_writable_bytes(std::span(text)));
  return {parse_npy_header(text, where), begin + length};
}

/// The bytes from this offset on. Memory grows with what is there, not with what a damaged file claims.
std::vector<std::byte> rest_of(const NpyFile& file, std::uint64_t offset) {
  constexpr std::uint64_t block = 1 << 20;
  std::vector<std::byte> bytes;
  for (std::uint64_t at = offset; at < file.size;) {
    const std::uint64_t count = std::min(block, file.size - at);
    bytes.resize(bytes.size() + count);
    file.read(at, std::span(bytes).last(count));
    at += count;
  }
  return bytes;
}

/// The elements, of so many bytes each, of an array in column-major order, in row-major order.
std::vector<std::byte> in_row_major_order(const std::vector<std::byte>& elements, const std::vector<std::int64_t>& shape, std::size_t size) {
  std::vector<std::int64_t> index(shape.size()), apart(shape.size(), 1);  // how far apart elements are along each axis
  for (std::size_t axis = 1; axis < shape.size(); ++axis) apart[axis] = apart[axis - 1] * shape[axis - 1];
  std::vector<std::byte> turned(elements.size());
  std::int64_t from = 0;
  for (std::size_t to = 0; to < turned.size(); to += size) {
    std::memcpy(turned.data() + to, elements.data() + static_cast<std::size_t>(from) * size, size);
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      from += apart[axis];
      if (++index[axis] < shape[axis]) break;
      from -= apart[axis] * std::exchange(index[axis], 0);
    }
  }
  return turned;
}

}  // namespace

ArrayReader open_npy(const NpyFile& file, const std::string& where) {
  const auto [header, begin] = read_header(file, where);
  const auto type = std::find_if(npy_types.begin(), npy_types.end(), [&](const NpyType& s) { return s.descr == header.descr; });
  if (type == npy_types.end())
    throw UserError(where,
                    str("element type '", header.descr, "' is not supported; convert it with array.astype('<f4'), or '<i4', '<u4', '|u1', '|b1'"));
  if (header.shape.size() > Shape::max_rank)
    throw UserError(where, str("has ", header.shape.size(), " dimensions, at most ", Shape::max_rank, " are supported; reshape it"));

  const auto size = claimed_bytes(header.shape, type->size);
  if (size != file.size - begin)
    throw UserError(where, str("shape ", Shape::fixed(header.shape), " of '", header.descr, "' needs ", size ? str(*size) : "far more",
                               " bytes of elements, but ", file.size - begin, " follow the header; copy or write the file again"));
  const Narrow narrow = header.descr == "<f8" ? narrow_f64 : header.descr == "<i8" ? narrow_i64 : nullptr;
  if (header.fortran_order && header.shape.size() > 1) {  // all at once, as a saved X.T
    std::vector<std::byte> elements = rest_of(file, begin);
    elements = in_row_major_order(elements, header.shape, type->size);
    return {where,
            type->dtype,
            header.shape,
            type->size,
            narrow,
            [elements = std::move(elements), at = std::size_t{0}](std::span<std::byte> into) mutable {
              std::memcpy(into.data(), elements.data() + at, into.size());
              at += into.size();
            }};
  }
  return {where, type->dtype, header.shape, type->size, narrow, [read = file.read, at = begin](std::span<std::byte> into) mutable {
            read(at, into);
            at += into.size();
          }};
}

HostArray read_npy(const std::filesystem::path& path) {
  const runtime::InputFile file(path);
  return open_npy({file.size(), [&](std::uint64_t offset, std::span<std::byte> into) { file.read(offset, into); }}, path.string()).array();
}

HostArray parse_npy(std::span<const std::byte> bytes, const std::string& where) {
  const auto read = [&](std::uint64_t offset, std::span<std::byte> into) {  // within bounds: sizes are checked before
    std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(offset), into.size(), into.begin());
  };
  return open_npy({bytes.size(), read}, where).array();
}

std::string npy_start(DType dtype, const std::vector<std::int64_t>& shape) {
  const auto type = std::find_if(npy_types.begin(), npy_types.end(), [&](const NpyType& s) { return s.dtype == dtype && s.size == size_of(dtype); });
  std::string text = npy_header_text({std::string(type->descr), false, shape});
  constexpr std::size_t begin = 10, alignment = 64;
  text.append((alignment - (begin + text.size() + 1) % alignment) % alignment, ' ').push_back('\n');
  const auto length = static_cast<std::uint16_t>(text.size());
  return std::string{'\x93', 'N', 'U', 'M', 'P', 'Y', 1, 0, static_cast<char>(length & 0xff), static_cast<char>(length >> 8)} + text;
}

std::vector<std::byte> npy_bytes(const HostArray& array, const std::string& where) {
  require_bytes(where, array);
  const std::string start = npy_start(array.dtype, array.shape);
  std::vector<std::byte> bytes(start.size() + array.bytes.size());
  std::memcpy(bytes.data(), start.data(), start.size());
  std::copy(array.bytes.begin(), array.bytes.end(), bytes.begin() + static_cast<std::ptrdiff_t>(start.size()));
  return bytes;
}

void write_npy(const std::filesystem::path& path, const HostArray& array) {
  runtime::AtomicFile file(path);
  file.write(npy_bytes(array, path.string()));
  file.commit();
}

}  // namespace sinter::data
