#include "frontend/report/markup.h"

#include <array>
#include <charconv>
#include <cmath>

#include "ir/utf8.h"

namespace sinter::report {

namespace {

/// The bytes of the character at the front if XML 1.0 may hold it (production 2), else 0.
std::size_t character_size(std::string_view text) {
  const auto [code, bytes] = first_character(text);
  const bool allowed = code >= 0x20 ? code != 0xfffe && code != 0xffff : code == '\t' || code == '\n' || code == '\r';
  return allowed ? bytes : 0;
}

bool continues(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

std::string characters(double number, std::chars_format format, int digits) {
  std::array<char, 400> buffer;
  const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number, format, digits);
  return std::string(buffer.data(), end);
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t size = character_size(text);
    switch (size == 1 ? text[0] : 'a') {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      case '\'':
        result += "&#39;";
        break;
      default:
        result += size ? text.substr(0, size) : "\uFFFD";
    }
    text.remove_prefix(size ? size : 1);
  }
  return result;
}

std::size_t glyphs(std::string_view utf8) {
  std::size_t count = 0;
  for (const char c : utf8) count += !continues(c);
  return count;
}

std::string shortened(std::string_view utf8, std::size_t most) {
  std::size_t surplus = glyphs(utf8);
  if (surplus <= most) return std::string(utf8);
  surplus -= most - 1;
  while (surplus) {
    utf8.remove_prefix(1);
    while (!utf8.empty() && continues(utf8[0])) utf8.remove_prefix(1);
    --surplus;
  }
  return "…" + std::string(utf8);
}

std::string fixed(double number, int digits) {
  if (!std::isfinite(number)) return std::isnan(number) ? "NaN" : number > 0 ? "∞" : "−∞";
  const std::string text = characters(number, std::chars_format::fixed, digits);
  return text.find_first_of("123456789") == std::string::npos && text[0] == '-' ? text.substr(1) : text;  // no -0.0
}

std::string significant(double number, int digits) {
  if (!std::isfinite(number)) return fixed(number, 0);
  if (number == 0) return "0";
  std::string text = characters(number, std::chars_format::general, digits);
  const std::size_t e = text.find('e');
  std::string exponent = e == std::string::npos ? "" : text.substr(e + 1);
  if (e != std::string::npos) text.resize(e);
  if (text.find('.') != std::string::npos) {
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
  }
  if (exponent.empty()) return text;
  const std::string sign = exponent[0] == '-' ? "-" : "";
  exponent.erase(0, exponent.find_first_not_of("+-0"));
  return text + "e" + sign + exponent;
}

std::string title_of(std::string_view name) {
  std::string title(name);
  for (char& c : title)
    if (c == '_') c = ' ';
  if (!title.empty() && title[0] >= 'a' && title[0] <= 'z') title[0] = static_cast<char>(title[0] - 'a' + 'A');
  return title;
}

}  // namespace sinter::report
