// Protobuf messages without their schema, as trees that can be changed and written again.
// https://protobuf.dev/programming-guides/encoding
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sinter::fuzz {

struct WireField {
  enum class Kind : std::uint8_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };
  std::uint32_t number = 1;
  Kind kind = Kind::varint;
  std::uint64_t value = 0;        ///< of a number
  std::string bytes;              ///< of text,
  std::vector<WireField> fields;  ///< or what a message holds, where the bytes read as one
};
using WireMessage = std::vector<WireField>;

/// Nothing if the bytes are no message.
std::optional<WireMessage> parse_wire(std::string_view bytes, int depth = 4);
std::string wire_bytes(const WireMessage& message);

}  // namespace sinter::fuzz
