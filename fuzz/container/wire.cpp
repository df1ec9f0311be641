#include "fuzz/container/wire.h"

#include <cstring>

namespace sinter::fuzz {

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

void append_varint(std::string& to, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) to += static_cast<char>(value | 0x80);
  to += static_cast<char>(value);
}

std::size_t width(WireField::Kind kind) { return kind == WireField::Kind::fixed64 ? 8 : 4; }

}  // namespace

std::optional<WireMessage> parse_wire(std::string_view bytes, int depth) {
  WireMessage message;
  for (std::size_t at = 0; at < bytes.size();) {
    const auto tag = varint(bytes, at);
    if (!tag || *tag >> 3 == 0 || *tag >> 32) return std::nullopt;
    WireField field{static_cast<std::uint32_t>(*tag >> 3), static_cast<WireField::Kind>(*tag & 7), 0, {}, {}};
    switch (field.kind) {
      case WireField::Kind::varint: {
        const auto value = varint(bytes, at);
        if (!value) return std::nullopt;
        field.value = *value;
        break;
      }
      case WireField::Kind::bytes: {
        const auto size = varint(bytes, at);
        if (!size || *size > bytes.size() - at) return std::nullopt;
        field.bytes = bytes.substr(at, *size);
        at += *size;
        if (auto inner = depth > 0 && *size > 1 ? parse_wire(field.bytes, depth - 1) : std::nullopt) field.fields = std::move(*inner);
        break;
      }
      case WireField::Kind::fixed64:
      case WireField::Kind::fixed32:
        if (bytes.size() - at < width(field.kind)) return std::nullopt;
        std::memcpy(&field.value, bytes.data() + at, width(field.kind));
        at += width(field.kind);
        break;
      default:
        return std::nullopt;
    }
    message.push_back(std::move(field));
  }
  return message;
}

std::string wire_bytes(const WireMessage& message) {
  std::string result;
  for (const WireField& field : message) {
    append_varint(result, std::uint64_t{field.number} << 3 | static_cast<std::uint64_t>(field.kind));
    if (field.kind == WireField::Kind::varint) {
      append_varint(result, field.value);
    } else if (field.kind == WireField::Kind::bytes) {
      const std::string inner = field.fields.empty() ? field.bytes : wire_bytes(field.fields);
      append_varint(result, inner.size());
      result += inner;
    } else {
      result.append(reinterpret_cast<const char*>(&field.value), width(field.kind));
    }
  }
  return result;
}

}  // namespace sinter::fuzz
