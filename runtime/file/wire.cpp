#include "runtime/file/wire.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/unknown_field_set.h>

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

/// The number of an unknown field in the message or in a nested one; 0 if there is none. Recurses at most max_depth deep.
int unknown_field(const google::protobuf::Message& message) {
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  const google::protobuf::UnknownFieldSet& unknown = reflection.GetUnknownFields(message);
  if (!unknown.empty()) return unknown.field(0).number();
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const auto* field : fields) {
    if (field->cpp_type() != google::protobuf::FieldDescriptor::CPPTYPE_MESSAGE) continue;
    for (int i = 0; i < (field->is_repeated() ? reflection.FieldSize(message, field) : 1); ++i)
      if (const int number =
              unknown_field(field->is_repeated() ? reflection.GetRepeatedMessage(message, field, i) : reflection.GetMessage(message, field)))
        return number;
  }
  return 0;
}

}  // namespace

void FieldReader::fail(std::string_view message) const {
  throw UserError(where_, str(message, "; the file is damaged, or from a newer version of Sinter"));
}

bool FieldReader::next() {
  constexpr std::uint64_t length_delimited = 2;
  if (at_ == bytes_.size()) return false;
  field_at_ = at_;
  const auto tag = varint(bytes_, at_);
  if (!tag || (*tag & 7) != length_delimited || *tag >> 3 == 0 || *tag >> 32) fail(str("the field at byte ", at(), " has no valid tag"));
  const auto number = static_cast<std::uint32_t>(*tag >> 3);
  if (number < field_) fail(str("field ", number, " at byte ", at(), " comes after field ", field_, "; fields are in ascending order"));
  const auto size = varint(bytes_, at_);
  if (!size) fail(str("field ", number, " at byte ", at(), " has no valid size"));
  if (*size > bytes_.size() - at_)
    fail(str("field ", number, " at byte ", at(), " says that it has ", *size, " bytes, but ", bytes_.size() - at_, " are left"));
  field_ = number;
  payload_ = bytes_.substr(at_, *size);
  at_ += *size;
  return true;
}

void FieldReader::parse(google::protobuf::Message& into, std::string_view part, std::size_t most) const {
  const auto refuse = [&](const auto&... rule) { fail(str(part, ", at byte ", at(), ", ", rule...)); };
  if (payload_.size() > most) refuse("takes ", payload_.size(), " bytes, more than ", most);
  google::protobuf::io::CodedInputStream stream(reinterpret_cast<const std::uint8_t*>(payload_.data()), static_cast<int>(payload_.size()));
  stream.SetRecursionLimit(max_depth - 1);
  if (!into.ParseFromCodedStream(&stream) || !stream.ConsumedEntireMessage()) refuse("is no valid message");
  if (const int number = unknown_field(into)) refuse("has the unknown field ", number);
}

std::vector<std::uint32_t> FieldReader::numbers(std::size_t most) const {
  std::vector<std::uint32_t> result;
  for (std::size_t i = 0; i < payload_.size();) {
    const auto value = varint(payload_, i);
    if (!value || *value > std::numeric_limits<std::uint32_t>::max())
      fail(str("field ", field_, " at byte ", at(), " holds no 32-bit number before its byte ", i));
    if (result.size() == most) fail(str("field ", field_, " at byte ", at(), " holds more than ", most, " numbers"));
    result.push_back(static_cast<std::uint32_t>(*value));
  }
  return result;
}

}  // namespace sinter::runtime
