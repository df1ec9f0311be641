#include "frontend/data/cell.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "ir/error.h"

namespace sinter::data {

namespace {

constexpr std::array<std::string_view, 9> always_missing{"", "NA", "N/A", "NaN", "nan", "null", "NULL", "None", "?"};
constexpr std::array<std::string_view, 4> spaces{" ", "\t", "\u00a0", "\u202f"};
constexpr std::string_view digits = "0123456789", no_number = "no number";

/// A number of any size, including infinity and NaN, as C++ writes it.
std::optional<double> parsed(std::string_view field) {
  const char* last = field.data() + field.size();
  double value = 0;
  auto [end, error] = std::from_chars(field.data(), last, value);
  if (error == std::errc::result_out_of_range) {  // too large or too small: a wider type decides
    long double wide = 0;
    const auto again = std::from_chars(field.data(), last, wide);
    end = again.ptr;
    value = again.ec == std::errc{} ? static_cast<double>(wide) : std::numeric_limits<double>::infinity();
    error = {};
  }
  return error == std::errc{} && end == last ? std::optional(value) : std::nullopt;
}

template <class Texts>
bool remove_prefix(std::string_view& text, const Texts& prefixes) {
  for (const std::string_view prefix : prefixes)
    if (text.starts_with(prefix)) return text.remove_prefix(prefix.size()), true;
  return false;
}

template <class Texts>
bool remove_suffix(std::string_view& text, const Texts& suffixes) {
  for (const std::string_view suffix : suffixes)
    if (text.ends_with(suffix)) return text.remove_suffix(suffix.size()), true;
  return false;
}

std::string_view without(std::string_view text, const std::vector<std::string>& around) {
  do text = trimmed(text);
  while (remove_prefix(text, around) || remove_suffix(text, around));
  return text;
}

/// Sets `result` to the number without the separators of thousands if they part all groups of three digits of the whole part, and nothing else; else
/// to no number.
void ungroup(std::string_view number, std::string_view separator, std::string& result) {
  std::size_t at = number.find(separator), group = std::min(at, number.size());
  result = number.substr(0, at);
  if (at == std::string_view::npos) return;
  bool grouped = group >= 1 && group <= 3 && number.find_first_not_of(digits) == at;
  while (grouped && number.substr(at).starts_with(separator)) {
    const std::string_view part = number.substr(at + separator.size(), 3);
    grouped = part.size() == 3 && part.find_first_not_of(digits) == std::string_view::npos;
    result += part;
    at += separator.size() + part.size();
  }
  const std::string_view rest = number.substr(at);
  const bool ends = rest.empty() || (digits.find(rest[0]) == std::string_view::npos && rest.find(separator) == std::string_view::npos);
  if (grouped && ends) result += rest;
  else result = no_number;
}

/// Numbers of the same value have the same text: sign, digits without those that change nothing, exponent. `text` is a number as C++ writes it.
std::string_view canonical(std::string_view text, std::string& number) {
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  const std::size_t e = std::min(text.find_first_of("eE"), text.size());
  std::string_view power = text.substr(std::min(e + 1, text.size()));
  if (power.starts_with('+')) power.remove_prefix(1);
  std::int64_t exponent = 0;
  std::from_chars(power.data(), power.data() + power.size(), exponent);
  number = negative ? "-" : "";
  const std::size_t point = std::min(text.find('.'), e), sign = number.size();
  for (std::size_t i = 0; i < e; ++i) {
    exponent -= i > point;
    if (i != point && !(text[i] == '0' && number.size() == sign)) number += text[i];
  }
  for (; number.ends_with('0'); ++exponent) number.pop_back();
  if (number.size() == sign) return number = "0";
  std::array<char, 24> digits_of_exponent;
  char* end = std::to_chars(digits_of_exponent.data(), digits_of_exponent.data() + digits_of_exponent.size(), exponent).ptr;
  number += 'e';
  return number.append(digits_of_exponent.data(), static_cast<std::size_t>(end - digits_of_exponent.data()));
}

}  // namespace

std::string_view trimmed(std::string_view text) {
  const auto may_be_space = [](char c) { return c == ' ' || c == '\t' || static_cast<unsigned char>(c) >= 0x80; };
  while (!text.empty() && (may_be_space(text.front()) || may_be_space(text.back())) && (remove_prefix(text, spaces) || remove_suffix(text, spaces))) {
  }
  return text;
}

void CellRules::check(const std::string& where) const {
  if (decimal != '.' && decimal != ',') throw UserError(where, str("EncoderOptions::decimal must be . or , but is ", decimal));
  if (thousands.find_first_of("0123456789+-eE") != std::string::npos || thousands == std::string(1, decimal))
    throw UserError(where, str("EncoderOptions::thousands must separate digits: no digit, sign or e, and not the decimal separator '", decimal,
                               "', got '", thousands, "'"));
  for (const std::string& text : strip)
    if (text.empty() || text.find_first_of(digits) != std::string::npos || text == "+" || text == "-" || text == "." || text == "," ||
        text == thousands)
      throw UserError(where,
                      str("EncoderOptions::strip lists texts around numbers, which have no digits and are no signs or separators, got '", text, "'"));
}

bool CellRules::is_missing(std::string_view field) const {
  const std::string_view text = trimmed(field);
  return std::find(always_missing.begin(), always_missing.end(), text) != always_missing.end() ||
         std::any_of(missing.begin(), missing.end(), [&](const std::string& one) { return one == text || one == field; });
}

std::string_view CellRules::plain(std::string_view field, std::string& memory) const {
  field = trimmed(field);
  bool negative = false, has_sign = false;
  const auto take_sign = [&] {
    if (has_sign || field.empty() || (field[0] != '+' && field[0] != '-')) return;
    has_sign = true, negative = field[0] == '-';
    field.remove_prefix(1);
  };
  take_sign();
  if (!strip.empty()) field = without(field, strip), take_sign(), field = trimmed(field);
  if (field.starts_with('-') || field.starts_with('+')) return no_number;
  if (decimal == '.' && thousands.empty() && !negative) return field;
  if (thousands.empty()) memory = field;
  else ungroup(field, thousands, memory);
  if (decimal != '.')
    for (char& c : memory) c = c == decimal ? '.' : c == '.' ? decimal : c;
  if (negative) memory.insert(memory.begin(), '-');
  return memory;
}

std::optional<double> CellRules::number(std::string_view field, CellMemory& memory) const {
  const std::optional<double> value = parsed(plain(field, memory.plain));
  return value && std::abs(*value) <= static_cast<double>(std::numeric_limits<float>::max()) ? value : std::nullopt;
}

std::optional<double> CellRules::number(std::string_view field) const {
  CellMemory memory;
  return number(field, memory);
}

bool CellRules::resembles_number(std::string_view field) const {
  std::string memory;
  if (parsed(plain(field, memory))) return true;
  CellRules other = *this;
  other.decimal = decimal == '.' ? ',' : '.';
  return parsed(other.plain(field, memory)).has_value();
}

std::string CellRules::category(std::string_view field) const {
  CellMemory memory;
  return std::string(category(field, memory));
}

std::string_view CellRules::category(std::string_view field, CellMemory& memory) const {
  return number(field, memory) ? canonical(plain(field, memory.plain), memory.category) : field;
}

std::string_view category_of(double number, CellMemory& memory) {
  std::array<char, 32> text;
  const char* end = std::to_chars(text.data(), text.data() + text.size(), number).ptr;
  return canonical({text.data(), static_cast<std::size_t>(end - text.data())}, memory.category);
}

}  // namespace sinter::data
