#include "frontend/data/base64.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace sinter::data {

namespace {

constexpr std::string_view alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::uint32_t none = 64;

constexpr std::array<std::uint32_t, 256> values = [] {
  std::array<std::uint32_t, 256> result{};
  result.fill(none);
  for (std::uint32_t i = 0; i < alphabet.size(); ++i) result[static_cast<unsigned char>(alphabet[i])] = i;
  return result;
}();

}  // namespace

std::string base64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - i);
    std::uint32_t three = 0;
    for (std::size_t k = 0; k < 3; ++k) three = three << 8 | (k < count ? static_cast<unsigned char>(bytes[i + k]) : 0u);
    for (std::size_t k = 0; k < 4; ++k) text += k <= count ? alphabet[three >> (18 - 6 * k) & 63] : '=';
  }
  return text;
}

std::optional<std::string> from_base64(std::string_view text) {
  const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  if (text.size() % 4 != 0) return std::nullopt;
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  for (std::size_t i = 0; i < text.size(); i += 4) {
    std::uint32_t three = 0;
    for (std::size_t k = 0; k < 4; ++k) {
      const bool is_padding = i + k >= text.size() - padding;
      const std::uint32_t value = is_padding ? 0 : values[static_cast<unsigned char>(text[i + k])];
      if (value == none) return std::nullopt;
      three = three << 6 | value;
    }
    for (std::size_t k = 0; k < 3; ++k) bytes += static_cast<char>(three >> (16 - 8 * k));
  }
  const bool rest_is_zero = std::all_of(bytes.end() - static_cast<std::ptrdiff_t>(padding), bytes.end(), [](char c) { return c == 0; });
  if (!rest_is_zero) return std::nullopt;
  bytes.resize(bytes.size() - padding);
  return bytes;
}

}  // namespace sinter::data
