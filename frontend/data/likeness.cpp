#include "frontend/data/likeness.h"

#include <algorithm>
#include <array>
#include <optional>

#include "ir/error.h"

namespace sinter::data {

namespace {

constexpr std::string_view decimal_digits = "0123456789";
constexpr std::array<std::string_view, 5> signs{"%", "‰", "°", "°C", "°F"};
constexpr std::array<std::string_view, 34> currencies{"EUR", "USD", "GBP", "CHF", "JPY", "CNY", "INR", "CAD", "AUD", "NZD", "SEK", "NOK",
                                                      "DKK", "PLN", "CZK", "HUF", "RON", "BRL", "MXN", "RUB", "TRY", "KRW", "HKD", "SGD",
                                                      "ZAR", "ILS", "THB", "Rs",  "Rs.", "kr",  "kr.", "zł",  "Kč",  "Ft"};

struct Separators {
  char decimal;
  const char* thousands;
};
constexpr std::array<Separators, 12> all_separators{{{'.', ""},
                                                     {',', ""},
                                                     {'.', ","},
                                                     {',', "."},
                                                     {'.', " "},
                                                     {',', " "},
                                                     {'.', "'"},
                                                     {'.', "’"},
                                                     {'.', "\u00a0"},
                                                     {',', "\u00a0"},
                                                     {'.', "\u202f"},
                                                     {',', "\u202f"}}};

/// "-$ 15.7 m" is $, -15.7 and m.
struct Parts {
  std::string_view before, number, behind;
  bool spaced = false;  ///< between the number and what is behind it
};

std::optional<Parts> parts_of(std::string_view text) {
  text = trimmed(text);
  const std::size_t first = text.find_first_of(decimal_digits), last = text.find_last_of(decimal_digits);
  if (first == std::string_view::npos) return std::nullopt;
  std::size_t begin = first;
  while (begin > 0 && std::string_view("+-.,").find(text[begin - 1]) != std::string_view::npos) --begin;
  std::string_view before = trimmed(text.substr(0, begin));
  const std::string_view rest = text.substr(last + 1), behind = trimmed(rest);
  if (before.starts_with('-') || before.starts_with('+')) before = trimmed(before.substr(1));
  return Parts{before, text.substr(begin, last + 1 - begin), behind, behind.size() < rest.size()};
}

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || static_cast<unsigned char>(c) >= 0x80; }

bool is_currency(std::string_view text) {
  if (std::find(currencies.begin(), currencies.end(), text) != currencies.end()) return true;
  for (const std::string_view sign : {"$", "¢", "£", "¤", "¥"})
    if (const std::size_t at = text.find(sign); at != std::string_view::npos) return at <= 2 && at + sign.size() == text.size();  // US$
  return text.size() == 3 && text.starts_with("\xe2\x82");  // U+20A0 to U+20BF: €, ₹ and others
}

bool is_unit(std::string_view text) {
  constexpr std::size_t longest = 12;
  return !text.empty() && text.size() <= longest && is_letter(text[0]) &&
         std::all_of(text.begin(), text.end(), [](char c) { return is_letter(c) || c == '/' || c == '.'; });
}

/// The rules with other separators, and with these texts to strip too.
CellRules changed(CellRules rules, const Separators& separators, const std::vector<std::string>& strip) {
  rules.decimal = separators.decimal;
  rules.thousands = separators.thousands;
  rules.strip.insert(rules.strip.end(), strip.begin(), strip.end());
  return rules;
}

constexpr std::size_t most_texts = 5;  ///< to strip, and that are missing values

/// Adds a text that is new, until the list is too long for advice.
void add_once(std::vector<std::string>& list, std::string_view text) {
  if (!text.empty() && list.size() <= most_texts && std::find(list.begin(), list.end(), text) == list.end()) list.emplace_back(text);
}

std::string in_quotes(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) result += c == '"' || c == '\\' ? str('\\', c) : std::string(1, c);
  return result + '"';
}

std::string list_text(const std::vector<std::string>& list) {
  std::string text;
  for (const std::string& one : list) text += (text.empty() ? "" : ", ") + in_quotes(one);
  return "{" + text + "}";
}

/// The separators that differ from those of the rules.
std::string separators_text(const Separators& wanted, const CellRules& rules) {
  std::string text;
  if (wanted.decimal != rules.decimal) text += str("EncoderOptions::decimal = '", wanted.decimal, "'");
  if (wanted.thousands != rules.thousands) text += str(text.empty() ? "" : " and ", "EncoderOptions::thousands = ", in_quotes(wanted.thousands));
  return text;
}

}  // namespace

bool looks_like_number(std::string_view text) {
  const std::optional<Parts> parts = parts_of(text);
  if (!parts || !(parts->before.empty() || is_currency(parts->before))) return false;
  const bool measured = parts->spaced || parts->number.find_first_of(".,") != std::string_view::npos;
  if (!parts->behind.empty() && !is_currency(parts->behind) && std::find(signs.begin(), signs.end(), parts->behind) == signs.end() &&
      !(measured && is_unit(parts->behind)))
    return false;
  return std::any_of(all_separators.begin(), all_separators.end(),
                     [&](const Separators& separators) { return changed({}, separators, {}).number(parts->number).has_value(); });
}

std::string reading_advice(const std::vector<std::string_view>& texts, const CellRules& rules) {
  std::vector<std::string> strip, missing;
  std::vector<std::string_view> numbers;
  for (const std::string_view text : texts) {
    if (rules.is_missing(text)) continue;
    if (!rules.number(text) && !looks_like_number(text)) {
      add_once(missing, text);
      continue;
    }
    numbers.push_back(text);
    if (rules.number(text)) continue;
    const Parts parts = *parts_of(text);
    for (const std::string_view part : {parts.before, parts.behind})
      if (std::find(rules.strip.begin(), rules.strip.end(), part) == rules.strip.end()) add_once(strip, part);
  }
  if (numbers.empty() || strip.size() > most_texts || missing.size() > most_texts) return "";
  std::vector<Separators> candidates{{rules.decimal, rules.thousands.c_str()}};
  candidates.insert(candidates.end(), all_separators.begin(), all_separators.end());
  std::string separators;  // the first that read all, and another if 1,234 may be both
  std::size_t ways = 0;
  for (const Separators& candidate : candidates) {
    const CellRules trial = changed(rules, candidate, strip);
    const auto has_thousands = [&](std::string_view text) { return text.find(candidate.thousands) != std::string_view::npos; };
    if (candidate.thousands != rules.thousands && std::none_of(numbers.begin(), numbers.end(), has_thousands)) continue;  // needless
    if (!std::all_of(numbers.begin(), numbers.end(), [&](std::string_view text) { return trial.number(text).has_value(); })) continue;
    const std::string text = separators_text(candidate, rules);
    if (text.empty()) {
      separators = text, ways = 1;
      break;
    }
    if (ways < 2 && separators.find(text) == std::string::npos) separators += str(ways++ ? " or " : "", text);
  }
  if (ways == 0) return "";
  if (ways == 2) separators = "either " + separators;
  std::string advice;
  for (const std::string& option : {separators, strip.empty() ? "" : "EncoderOptions::strip = " + list_text(strip),
                                    missing.empty() ? "" : "EncoderOptions::missing = " + list_text(missing)})
    if (!option.empty()) advice += (advice.empty() ? "" : " and ") + option;
  return advice;
}

}  // namespace sinter::data
