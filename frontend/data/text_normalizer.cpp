#include "frontend/data/text_normalizer.h"

#include <utility>

#include "ir/utf8.h"

namespace sinter::data {

TextNormalizer::TextNormalizer(TextNormalization options, PrefixTree kept) : options_(std::move(options)), kept_(std::move(kept)) {}

Charsmap::Match TextNormalizer::first(std::string_view text) const {
  if (const std::size_t kept = kept_.longest_prefix(text)) return {kept, text.substr(0, kept)};
  if (const Charsmap::Match match = options_.rules.longest(text); match.length) return match;
  const std::size_t bytes = first_character(text).bytes;
  return bytes ? Charsmap::Match{bytes, text.substr(0, bytes)} : Charsmap::Match{1, "\ufffd"};  // a rule may end within a character
}

std::string TextNormalizer::normalize(std::string_view text) const {
  const std::string_view space = options_.escape_whitespaces ? space_symbol : " ";
  const bool remove_extra = options_.remove_extra_whitespaces;
  if (remove_extra)
    while (!text.empty()) {
      const Charsmap::Match match = first(text);
      if (match.replacement != " ") break;
      text.remove_prefix(match.length);
    }
  if (text.empty()) return {};
  std::string result;
  result.reserve(text.size() + text.size() / 2);
  if (options_.add_dummy_prefix && !options_.treat_whitespace_as_suffix) result += space;
  for (bool after_space = remove_extra; !text.empty();) {
    auto [length, replacement] = first(text);
    text.remove_prefix(length);
    while (after_space && replacement.starts_with(' ')) replacement.remove_prefix(1);
    for (const char c : replacement)
      if (c == ' ') result += space;
      else result += c;
    if (remove_extra && !replacement.empty()) after_space = replacement.ends_with(' ');
  }
  if (remove_extra)
    while (result.ends_with(space)) result.resize(result.size() - space.size());
  if (options_.add_dummy_prefix && options_.treat_whitespace_as_suffix) result += space;
  return result;
}

}  // namespace sinter::data
