#include "frontend/data/array_stream.h"

#include <algorithm>
#include <cstring>

namespace sinter::data {

namespace {

constexpr std::size_t part_bytes = std::size_t{1} << 20;

}  // namespace

void ArrayReader::read(std::span<std::byte> into) {
  const std::size_t size = size_of(dtype_), most = part_bytes / std::max(size, stored_size_);
  std::vector<std::byte> raw;
  for (std::size_t left = into.size() / size; left > 0;) {
    const std::size_t count = std::min(left, most);
    const std::span<std::byte> part = into.first(count * size);
    if (narrow_) {
      raw.resize(count * stored_size_);
      source_(raw);
      narrow_(where_, next_, raw, part);
    } else {
      source_(part);
      if (dtype_ == DType::boolean) require_truth_values(where_, part);
    }
    next_ += count;
    left -= count;
    into = into.subspan(part.size());
  }
}

HostArray ArrayReader::array() {
  HostArray result{dtype_, shape_, {}};
  result.bytes.resize(static_cast<std::size_t>(result.elements()) * size_of(dtype_));
  read(result.bytes);
  return result;
}

std::uint64_t ArrayWriter::bytes() const { return static_cast<std::uint64_t>(HostArray{dtype, shape, {}}.elements()) * size_of(dtype); }

void require_bytes(const std::string& where, const HostArray& array) {
  const std::size_t size = static_cast<std::size_t>(array.elements()) * size_of(array.dtype);
  if (array.bytes.size() != size)
    throw UserError(where, str("an array of ", array.dtype, Shape::fixed(array.shape), " takes ", size, " bytes, got ", array.bytes.size()));
}

std::vector<ArrayWriter> writers_of(const std::string& where, const std::vector<std::pair<std::string, HostArray>>& arrays) {
  std::vector<ArrayWriter> writers;
  for (const auto& [name, array] : arrays) {
    require_bytes(str(where, ", ", name), array);
    writers.push_back({name, array.dtype, array.shape, [&bytes = array.bytes](std::uint64_t offset, std::span<std::byte> into) {
                         std::memcpy(into.data(), bytes.data() + offset, into.size());
                       }});
  }
  return writers;
}

void for_each_part(const ArrayWriter& array, const std::function<void(std::span<const std::byte>)>& f) {
  std::vector<std::byte> part;
  const std::uint64_t all = array.bytes();
  for (std::uint64_t offset = 0; offset < all; offset += part.size()) {
    part.resize(std::min<std::uint64_t>(part_bytes, all - offset));
    array.read(offset, part);
    f(part);
  }
}

}  // namespace sinter::data
