// Bytes as text (RFC 4648, section 4).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace sinter::data {

std::string base64(std::string_view bytes);
/// The bytes that base64() made this text of; none for any other text.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace sinter::data
