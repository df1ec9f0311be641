#include "ir/printable.h"

#include <algorithm>
#include <charconv>

#include "ir/utf8.h"

namespace sinter {

namespace {

bool is_harmless(char32_t c) {
  const auto in = [c](char32_t first, char32_t last) { return c >= first && c <= last; };
  const bool control = c < 0x20 || in(0x7f, 0x9f);
  const bool direction = c == 0x61c || in(0x200e, 0x200f) || in(0x202a, 0x202e) || in(0x2066, 0x2069);
  return !control && !direction && !in(0x2028, 0x2029) && c != 0xfeff;
}

/// "1b" of 27 for two digits.
std::string hexadecimal(char32_t number, std::size_t digits) {
  char text[8];
  const std::string shortest(text, std::to_chars(text, text + sizeof text, static_cast<unsigned>(number), 16).ptr);
  return std::string(digits - std::min(digits, shortest.size()), '0') + shortest;
}

std::string written(std::string_view text, std::string_view kept) {
  std::string result;
  while (!text.empty()) {
    const auto [code, bytes] = first_character(text);
    const char first = text[0];
    if (bytes && (is_harmless(code) || kept.find(first) != kept.npos)) result += text.substr(0, bytes);
    else if (first == '\n') result += "\\n";
    else if (first == '\t') result += "\\t";
    else if (first == '\r') result += "\\r";
    else if (bytes > 1) result += "\\u" + hexadecimal(code, 4);
    else result += "\\x" + hexadecimal(static_cast<unsigned char>(first), 2);
    text.remove_prefix(bytes ? bytes : 1);
  }
  return result;
}

}  // namespace

std::string printable(std::string_view text) { return written(text, ""); }
std::string printable_lines(std::string_view text) { return written(text, "\n\t"); }

}  // namespace sinter
