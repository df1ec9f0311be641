#include "runtime/file/wire.h"

#include <limits>
#include <optional>

#include "ir/error.h"

namespace sinter::runtime {

namespace {

std::optional<std::uint64_t> varint(std::string_view bytes, std::size_t& at) {
  std::uint64_t value = 0;
  for (int shift = 0; shift < 64 && at < bytes.size(); shift += 7) {
    const auto byte = static_cast<std::uint8_t>(bytes[at++]);
    value |= std::uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) return value;
  }
  return std::nullopt;
}

}  // namespace

void FieldReader::fail(std::string_view message) const {
  throw UserError(where_, str(message, "; the file is damaged, or from a newer version of Sinter"));
}

bool FieldReader::next() {
  constexpr std::uint64_t length_delimited = 2;
  if (at_ == bytes_.size()) return false;
  const std::size_t start = at_;
  const auto tag = varint(bytes_, at_);
  if (!tag || (*tag & 7) != length_delimited || *tag >> 3 == 0 || *tag >> 32) fail(str("the field at byte ", start, " has no valid tag"));
  const auto number = static_cast<std::uint32_t>(*tag >> 3);
  if (number < field_) fail(str("field ", number, " at byte ", start, " comes after field ", field_, "; fields are in ascending order"));
  const auto size = varint(bytes_, at_);
  if (!size || *size > bytes_.size() - at_)
    fail(str("field ", number, " at byte ", start, " says that it has ", size.value_or(0), " bytes, but ", bytes_.size() - at_, " are left"));
  field_ = number;
  payload_ = bytes_.substr(at_, *size);
  at_ += *size;
  return true;
}

std::vector<std::uint32_t> FieldReader::numbers(std::size_t most) const {
  std::vector<std::uint32_t> result;
  for (std::size_t at = 0; at < payload_.size();) {
    const auto value = varint(payload_, at);
    if (!value || *value > std::numeric_limits<std::uint32_t>::max()) fail(str("field ", field_, " holds no 32-bit number before its byte ", at));
    if (result.size() == most) fail(str("field ", field_, " holds more than ", most, " numbers"));
    result.push_back(static_cast<std::uint32_t>(*value));
  }
  return result;
}

}  // namespace sinter::runtime
